"""Published experiments: cells that are run several times, a table of means, and the order of learners."""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from cmab import Study
from cmab.arrays import FloatArray
from cmab.intervals import band, proportion_interval
from cmab.seeding import Purpose, stream

Row = dict[str, Any]
#: The measures of each learner in one run. A bool is a failure, and its mean is a rate.
Found = dict[str, dict[str, float | bool]]


@dataclass(frozen=True)
class Experiment:
    """A published experiment.

    Attributes
    ----------
    about : str
        The description, with the paper.
    measure : str
        The measure by which learners are ordered, for example ``"regret"``. Less is better.
    cells : callable
        ``cells(quick)`` lists the cells, the settings that are run separately. Each is a dict of plain
        values.
    play : callable
        ``play(cell, rng, seed)`` runs one replication and returns the measures of each learner. `rng` draws
        the instance, and `seed` is the seed of the runs of all learners.
    runs : tuple of int
        The number of replications of each cell in the quick and in the full form.
    minutes : tuple of float
        The duration in minutes on two cores in the quick and in the full form.
    orders : sequence of pairs
        Pairs of a learner and another that has more of the measure, as published or expected.
    published : callable, optional
        ``published(cell, learner)`` returns the published mean, or None.
    x : str, optional
        The column of the cells that is the horizontal axis of the figure. If omitted, the figure has bars.
    """

    about: str
    measure: str
    cells: Callable[[bool], list[Row]]
    play: Callable[[Row, np.random.Generator, int], Found]
    runs: tuple[int, int]
    minutes: tuple[float, float]
    orders: Sequence[tuple[str, str]] = ()
    published: Callable[[Row, str], float | None] | None = None
    x: str | None = None


def run(
    name: str, *, quick: bool, seed: int = 0, n_jobs: int = 1, folder: Path | None = None
) -> tuple[list[Row], list[str]]:
    """Return the rows of the table of an experiment, and a sentence on each order.

    Each run is stored in ``runs.sqlite`` in the folder. Stored runs are not repeated.
    """
    experiment = experiments()[name]
    cells = {
        ", ".join(f"{key} {value}" for key, value in cell.items()): cell for cell in experiment.cells(quick)
    }
    with TemporaryDirectory() as own:
        study = Study(
            (Path(own) if folder is None else folder) / "runs.sqlite",
            trials={title: {"class": play, "name": name, "cell": cell} for title, cell in cells.items()},
            replications=experiment.runs[0 if quick else 1],
            seed=seed,
        )
        study.run(n_jobs=n_jobs)
        found: dict[str, list[Found]] = {
            title: [{row["learner"]: _measures(row) for row in rows} for rows in each]
            for title, each in study.trial_rows().items()
        }
    rows = [row for title, cell in cells.items() for row in summarised(experiment, cell, found[title])]
    sentences = []
    for less, more in experiment.orders:
        both = [own for own in found.values() if {less, more} <= own[0].keys()]
        verdicts = [order(own, experiment.measure, less, more) for own in both]
        words = (("holds", True), ("is open", None), ("does not hold", False))
        counts = [f"{word} in {verdicts.count(value)}" for word, value in words if value in verdicts]
        if counts:
            sentences.append(f"{less} < {more}: {', '.join(counts)}")
    return rows, sentences


def _measures(row: Mapping[str, Any]) -> dict[str, float | bool]:
    return {key: value for key, value in row.items() if key != "learner"}


def play(name: str, cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Play one run of a cell and return a row of measures for each learner."""
    # Each cell has its own streams, so that the results of different cells are independent.
    own = np.random.SeedSequence(seed.entropy, spawn_key=(zlib.crc32(repr((name, cell)).encode()),))
    runs = int(stream(own, Purpose.LEARNER, replication).integers(2**62))
    found = experiments()[name].play(cell, stream(own, Purpose.ENVIRONMENT, replication), runs)
    return [{"learner": learner, **measures} for learner, measures in found.items()]


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name."""
    from instances.reproduce.identification import IDENTIFICATION
    from instances.reproduce.regret import REGRET

    return {**IDENTIFICATION, **REGRET}


def summarised(experiment: Experiment, cell: Row, found: Sequence[Found]) -> list[Row]:
    """Return a row for each learner: the means of its measures, and an interval or a standard error."""
    rows = []
    for learner in found[0]:
        row = cell | {"learner": learner}
        for measure in found[0][learner]:
            values = [run[learner][measure] for run in found]
            row[measure], n = float(np.mean(values)), len(values)
            if isinstance(values[0], bool):
                row["low"], row["high"] = proportion_interval(sum(map(bool, values)), n)
            elif measure == experiment.measure:
                row["s.e."] = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else None
        if experiment.published is not None:
            row["published"] = experiment.published(cell, learner)
        rows.append(row)
    return rows


def order(found: Sequence[Found], measure: str, less: str, more: str) -> bool | None:
    """Return whether a learner has less of a measure, None if the 95 % interval of the difference contains 0.

    The differences are taken within replications, in which all learners have the same instance and seed.
    """
    if len(found) < 2:
        return None
    gaps: FloatArray = np.array([[run[more][measure] - run[less][measure]] for run in found], np.float64)
    _, low, high = band(gaps)
    return True if low[0] > 0.0 else False if high[0] < 0.0 else None


def draw(experiment: Experiment, rows: Sequence[Row], folder: Path) -> None:
    """Draw the measure of each learner with 95 % intervals, in a panel for each setting."""
    from cmab.plotting import panels_of_curves, save

    measure, panels = experiment.measure, dict[str, dict[str, Any]]()
    labels = [name for name in rows[0] if name in experiment.cells(True)[0] and name != experiment.x]
    cells = list(dict.fromkeys(tuple(row[name] for name in labels) for row in rows))
    for row in rows:
        cell = tuple(row[name] for name in labels)
        margin = 2.0 * (row.get("s.e.") or 0.0)
        ends = (
            (row["low"], row["high"])
            if measure == "wrong"
            else (row[measure] - margin, row[measure] + margin)
        )
        # Without an axis of its own, the settings are numbered in the order of the table.
        x = float(cells.index(cell) if experiment.x is None else row[experiment.x])
        title = "" if experiment.x is None else ", ".join(map(str, cell))
        panels.setdefault(title, {}).setdefault(row["learner"], []).append((x, row[measure], *ends))
    x_label = "Setting (order of the table)" if experiment.x is None else experiment.x.capitalize()
    axes = panels_of_curves(
        panels, x_label=x_label, y_label=measure.capitalize(), log_x=experiment.x is not None
    )
    save(axes, folder / "figure-1")


def reproduce(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Run an experiment of a paper."""
    known = experiments()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "experiments:\n" + "\n".join(
        f"  {name:{max(map(len, known))}}  {each.about}" for name, each in known.items()
    )
    parser.add_argument("name", metavar="NAME", choices=[*known], help="an experiment of the list below")
    parser.add_argument("--quick", action="store_true", help="fewer cells, rounds and runs")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all randomness (0)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="workers, -1 for all cores (-1)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the runs, the table and the figure"
    )
    return lambda options: _command(known[options.name], options)


def _command(experiment: Experiment, options: argparse.Namespace) -> Iterator[str]:
    from cmab.run.tables import text, write_csv

    yield experiment.about
    yield f"about {experiment.minutes[0 if options.quick else 1]:g} min on two cores"
    settings: Any = {"quick": options.quick, "seed": options.seed, "n_jobs": options.jobs}
    rows, orders = run(options.name, folder=options.out, **settings)
    yield text(rows)
    yield from orders
    if options.out is not None:
        write_csv(options.out / "table.csv", rows)
        draw(experiment, rows, options.out)
        yield f"written: table.csv and figures in {options.out}"
