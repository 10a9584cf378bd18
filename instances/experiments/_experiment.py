"""Published experiments: a study of trials that are summed up in a table, judged by claims, and drawn."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cmab import Study
from cmab.studies.folder import StudyFolder
from instances.experiments._explorations import Row

Verdicts = list[tuple[str, bool | None]]
_WORDS = {True: "holds", False: "does not hold", None: "open (intervals overlap)"}


@dataclass(frozen=True)
class Experiment:
    """A published experiment.

    Attributes
    ----------
    name, title : str
        What it is called in studies and on its page.
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
    """

    name: str
    title: str
    replications: Mapping[bool, int]
    cells: Callable[[bool], list[Row]]
    play: Callable[[Row, np.random.SeedSequence, int], list[Row]]
    sum_up: Callable[[Row, Sequence[list[Row]]], list[Row]]
    claims: Callable[[list[Row]], Verdicts]
    draw: Callable[[list[Row], Path], None]

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
        _write_claims(experiment, rows, out)
        experiment.draw(rows, out)


def _rows(experiment: Experiment, folder: StudyFolder[Study], n_jobs: int) -> Iterator[Row]:
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
    with contextlib.closing(folder.play(n_jobs=n_jobs, progress=True)) as played:
        for piece, _ in played:
            left[piece.instance] -= 1
            yield from done()


def _write_claims(experiment: Experiment, rows: list[Row], out: Path) -> None:
    """Write the claims and what became of them; the rows themselves are the command's table."""
    lines = [f"# {experiment.title}", "", "| claim | measured |", "|---|---|"]
    lines += [f"| {text} | {_WORDS[verdict]} |" for text, verdict in experiment.claims(rows)]
    (out / "claims.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
