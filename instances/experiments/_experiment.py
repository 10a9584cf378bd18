"""Published experiments: a study of trials, a table of its results, verdicts on claims, and figures."""

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
        The name in studies, and the title of its page.
    about, sizes : str
        The description in the help of its command, and the help of ``quick``.
    minutes : mapping of bool to float
        The duration in minutes on two cores, by ``quick``.
    replications : mapping of bool to int
        The number of replications of each cell, by ``quick``.
    cells : callable
        ``cells(quick)`` lists the cells, the settings that are run separately. Each is a dict of plain
        values.
    play : callable
        ``play(cell, seed, replication)`` runs one replication of a cell and returns its rows of plain values.
    sum_up : callable
        ``sum_up(cell, told)`` returns the rows of the table from the rows of all replications.
    claims : callable
        ``claims(rows)`` returns the claims and whether each holds, None if the data does not decide.
    draw : callable
        ``draw(rows, folder)`` writes the figures.
    sources : mapping of str to str
        Parts of the texts of claims, and the place in the paper of these claims. A claim without such a part
        is one of this project.
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
        """Return the experiment as a study with one trial per cell."""
        # A cell is named by its values and identified by its number.
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
    """Yield the rows of each cell when it is finished; then write the page and the figures to `out`.

    Pieces that the store in `out` has are not run again.

    Raises
    ------
    cmab.StudyFailed
        If replications raised an exception, after all others are stored.
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
    """Yield the rows of the cells in order, each as soon as it and all cells before it are finished."""
    folder.repair()
    waiting = [(trial.cell, name) for (name, _), trial in folder.study.plan.trials.items()]
    left = Counter(piece.instance for piece in folder.missing())

    def done() -> Iterator[Row]:
        # In the order of the cells, so that the table does not depend on the number of workers.
        while waiting and not left[waiting[0][1]]:
            cell, name = waiting.pop(0)
            yield from experiment.sum_up(cell, folder.trials(trial=name)[name])

    yield from done()
    with contextlib.closing(folder.play(n_jobs=n_jobs, progress=None)) as played:
        for piece, _ in played:
            left[piece.instance] -= 1
            yield from done()


def page(experiment: Experiment, rows: list[Row], *, runs: int, rng: int) -> str:
    """Return the page of claims: the numbers of verdicts, then the claims of the paper and those of ours."""
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
