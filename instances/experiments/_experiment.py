"""Published experiments: a study of trials that are summed up in a table, judged by claims, and drawn."""

from __future__ import annotations

import contextlib
import platform
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import cmab
from cmab import Study
from cmab.studies.folder import StudyFolder
from instances.experiments._rows import Row, Verdicts

_WORDS = {True: "holds", False: "does not hold", None: "open (intervals overlap)"}


@dataclass(frozen=True)
class Experiment:
    """A published experiment.

    Attributes
    ----------
    name, title : str
        What it is called in studies and on its page.
    about, sizes : str
        What its command says of it, and of ``quick``.
    minutes : mapping of bool to float
        How long it takes on two cores, by ``quick``.
    replications : mapping of bool to int
        Runs of each cell, by ``quick``.
    cells : callable
        ``cells(quick)`` lists what is measured separately, each a dict of plain values.
    play : callable
        ``play(cell, seed, replication)`` plays a replication of a cell and returns its rows, plain values.
    sum_up : callable
        ``sum_up(cell, told)`` returns the rows of the table, given those of all replications.
    claims : callable
        ``claims(rows)`` returns each claim of the paper and whether it holds, None where that is open.
    draw : callable
        ``draw(rows, folder)`` writes the figures.
    sources : mapping of str to str
        A part of a claim's text, and where the paper makes that claim; what has none of them is ours.
    """

    name: str
    title: str
    replications: Mapping[bool, int]
    cells: Callable[[bool], list[Row]]
    play: Callable[[Row, np.random.SeedSequence, int], list[Row]]
    sum_up: Callable[[Row, Sequence[list[Row]]], list[Row]]
    claims: Callable[[list[Row]], Verdicts]
    draw: Callable[[list[Row], Path], None]
    sources: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    sizes: str = ""
    minutes: Mapping[bool, float] = field(default_factory=dict)

    def study(self, *, quick: bool, rng: int) -> Study:
        """Return the experiment as a study, a trial for each cell."""
        # Cells are named by what they hold, and found by their number.
        trials = {
            ", ".join(f"{name} {value}" for name, value in cell.items() if not isinstance(value, list)): {
                "experiment": self.name,
                "quick": quick,
                "cell": number,
            }
            for number, cell in enumerate(self.cells(quick))
        }
        return Study({"replications": self.replications[quick], "seed": rng, "trials": trials})


def reproduce(
    experiment: Experiment, *, quick: bool, rng: int, n_jobs: int, out: Path | None = None
) -> Iterator[Row]:
    """Yield the rows of each cell when it is played; then write the page and the figures to `out`.

    What the store of `out` holds already is not played again.

    Raises
    ------
    cmab.StudyFailed
        If replications raised, once all others are stored.
    """
    study = experiment.study(quick=quick, rng=rng)
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if out is None else out
        folder = stack.enter_context(study.at(place))
        rows: list[Row] = []
        for row in _rows(experiment, folder, n_jobs):
            rows.append(row)
            yield row
    if out is not None:
        runs = experiment.replications[quick]
        (out / "claims.md").write_text(page(experiment, rows, runs=runs, rng=rng), encoding="utf-8")
        experiment.draw(rows, out)


def _rows(experiment: Experiment, folder: StudyFolder, n_jobs: int) -> Iterator[Row]:
    """Yield the rows of each cell, in their order, as soon as it and those before it are there."""
    folder.repair()
    waiting = [(trial.cell, name) for (name, _), trial in folder.study.plan.trials.items()]
    left = Counter(piece.instance for piece in folder.missing())

    def done() -> Iterator[Row]:
        # In the order of the cells, so that the table is the same however many workers there are.
        while waiting and not left[waiting[0][1]]:
            cell, name = waiting.pop(0)
            yield from experiment.sum_up(cell, folder.trials(trial=name)[name])

    yield from done()
    with contextlib.closing(folder.play(n_jobs=n_jobs, progress=None)) as played:
        for piece, _ in played:
            left[piece.instance] -= 1
            yield from done()


def page(experiment: Experiment, rows: list[Row], *, runs: int, rng: int) -> str:
    """Return the page of claims: what became of them in all, then each, the paper's apart from ours."""
    claims = experiment.claims(rows)
    found = Counter(verdict for _, verdict in claims)
    made: dict[str, list[str]] = {"the paper": [], "ours": []}
    for text, verdict in claims:
        where = next((place for part, place in experiment.sources.items() if part in text), "")
        made["the paper" if where else "ours"].append(f"| {text} | {where or 'ours'} | {_WORDS[verdict]} |")
    versions = f"cmab {cmab.__version__}, numpy {np.__version__}, Python {platform.python_version()}"
    lines = [f"# {experiment.title}", ""]
    lines += [f"{found[True]} claims hold, {found[None]} are open, {found[False]} do not hold.", ""]
    lines += [f"Seed {rng}, {runs} runs of each cell, {versions}."]
    for title, its in {"Claims of the paper": made["the paper"], "Claims of ours": made["ours"]}.items():
        if its:
            lines += ["", f"## {title}", "", "| claim | where | measured |", "|---|---|---|", *its]
    return "\n".join(lines) + "\n"
