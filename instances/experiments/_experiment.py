"""Published experiments as cells that are measured one by one, kept on disk, and judged at the end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cmab.seeding import Seed, root
from cmab.studies._sources import content_of
from instances.experiments._explorations import Row

Verdicts = list[tuple[str, bool | None]]
_WORDS = {True: "holds", False: "does not hold", None: "open (intervals overlap)"}


@dataclass(frozen=True)
class Experiment:
    """A published experiment.

    Attributes
    ----------
    name, title : str
        What it is called in files and on its page.
    cells : callable
        ``cells(quick)`` lists what is measured separately, each a dict of plain values.
    measure : callable
        ``measure(cell, quick, seed, n_jobs)`` returns the rows of a cell.
    claims : callable
        ``claims(rows)`` returns each claim of the paper and whether it holds, None where that is open.
    draw : callable
        ``draw(rows, folder)`` writes the figures.
    """

    name: str
    title: str
    cells: Callable[[bool], list[Row]]
    measure: Callable[[Row, bool, Seed, int], list[Row]]
    claims: Callable[[list[Row]], Verdicts]
    draw: Callable[[list[Row], Path], None]


def reproduce(
    experiment: Experiment, quick: bool, seed: Seed, n_jobs: int, out: Path | None = None
) -> Iterator[Row]:
    """Yield the rows, measuring the cells that `out` does not hold yet; then write the page and the figures.

    Raises
    ------
    ValueError
        If `out` holds another run: of other sizes, another seed or another code.
    """
    cells = experiment.cells(quick)
    header = {"experiment": experiment.name, "quick": quick, "seed": repr(seed), "code": _code()}
    known = {} if out is None else _known(out / "rows.jsonl", header)
    rows: list[Row] = []
    for cell, own_seed in zip(cells, root(seed).spawn(len(cells)), strict=True):
        key = json.dumps(cell)
        if key not in known:
            known[key] = [cell | row for row in experiment.measure(cell, quick, own_seed, n_jobs)]
            if out is not None:
                _append(out / "rows.jsonl", {"cell": cell, "rows": known[key]})
        rows += known[key]
        yield from known[key]
    if out is not None:
        _write_claims(experiment, rows, out)
        experiment.draw(rows, out)


def _code() -> str:
    """Return a hash of the code that decides the numbers."""
    return "-".join(content_of(package) for package in ("cmab", "oracles", "instances"))


def _known(path: Path, header: Row) -> dict[str, list[Row]]:
    """Return the rows of the cells in `path`, which is begun if it is not there."""
    if not path.exists():
        _append(path, header)
        return {}
    # A line that the end of the process tore is measured again.
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("".join(line + "\n" for line in lines[:-1]), encoding="utf-8")
    first, *rest = (json.loads(line) for line in lines[:-1])
    if first != header:
        raise ValueError(f"out must be empty or hold the same run, {header}, got {first} in {path}")
    return {json.dumps(entry["cell"]): entry["rows"] for entry in rest}


def _append(path: Path, entry: Row) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _write_claims(experiment: Experiment, rows: list[Row], out: Path) -> None:
    """Write the claims and what became of them; the rows themselves are the command's table."""
    lines = [f"# {experiment.title}", "", "| claim | measured |", "|---|---|"]
    lines += [f"| {text} | {_WORDS[verdict]} |" for text, verdict in experiment.claims(rows)]
    (out / "claims.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
