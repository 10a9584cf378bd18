"""Offline learning: Figures 1a, 2 and 3a of Liu et al. (2025), with lists and caches chosen from a log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cmab.intervals import band
from cmab.seeding import Purpose, stream
from instances.experiments._experiment import Experiment
from instances.experiments._rows import Row, Verdicts, has_more
from instances.experiments.offline_caches import CACHES, cache_losses
from instances.experiments.offline_lists import LOGS, list_losses

_SIZES, _DELTA = (4, 16, 64, 256, 1024), 0.05
_CURVES = (("1a", LOGS[0]), *(("3a", log) for log in CACHES))
#: Values read from the plots, by kind and number of rounds of the log.
_PUBLISHED: dict[tuple[str, int], dict[str, float]] = {
    (LOGS[0], 4): {"CUCB-Offline": 0.21, "EMP": 0.17, "CLCB": 0.09},
    (LOGS[0], 16): {"CUCB-Offline": 0.16, "EMP": 0.11, "CLCB": 0.08},
    (LOGS[0], 64): {"CUCB-Offline": 0.15, "EMP": 0.12, "CLCB": 0.08},
    (LOGS[0], 100): {"CUCB-Offline": 0.20, "EMP": 0.14, "CLCB": 0.13},
    (LOGS[0], 256): {"CUCB-Offline": 0.13, "EMP": 0.09, "CLCB": 0.07},
    (LOGS[0], 1024): {"CUCB-Offline": 0.04, "EMP": 0.05, "CLCB": 0.04},
    (LOGS[1], 100): {"CUCB-Offline": 0.26, "EMP": 0.16, "CLCB": 0.10},
    (LOGS[2], 100): {"CUCB-Offline": 0.09, "EMP": 0.03, "CLCB": 0.02},
    (LOGS[3], 100): {"CUCB-Offline": 0.17, "EMP": 0.06, "CLCB": 0.04},
    (CACHES[0], 4): {"LFU": 0.72, "LEC": 0.58, "CLCB": 0.52},
    (CACHES[0], 16): {"LFU": 0.68, "LEC": 0.56, "CLCB": 0.51},
    (CACHES[0], 64): {"LFU": 0.65, "LEC": 0.54, "CLCB": 0.50},
    (CACHES[0], 256): {"LFU": 0.60, "LEC": 0.52, "CLCB": 0.48},
    (CACHES[0], 1024): {"LFU": 0.50, "LEC": 0.38, "CLCB": 0.30},
}
#: Claimed improvement of CLCB on average over the sizes of a log: as shares, and 1.32 times.
_PROMISED = {"CUCB-Offline": 0.4775, "EMP": 0.2002, "LFU": 1.0 - 1.0 / 1.32, "LEC": 1.0 - 1.0 / 1.32}


def cells(quick: bool) -> list[Row]:
    """Return the logs: how they were made, and their numbers of rounds.

    Examples
    --------
    >>> from instances.experiments.offline_learning import cells
    >>> cells(quick=True)[0]
    {'figure': '1a', 'log': 'random lists', 'rounds': 16}
    """
    sizes = _SIZES[1::2] if quick else _SIZES
    rows = [("1a", LOGS[0], n) for n in sizes] + [("2", log, 100) for log in LOGS]
    rows += [("3a", log, n) for log in CACHES for n in sizes]
    return [{"figure": figure, "log": log, "rounds": n} for figure, log, n in rows]


def play(cell: Row, seed: np.random.SeedSequence, replication: int) -> list[Row]:
    """Return the loss of each learner; all learners use the same log."""
    rng, n = stream(seed, Purpose.ENVIRONMENT, replication), cell["rounds"]
    if cell["figure"] == "3a":
        losses = cache_losses(cell["log"], n, _DELTA, rng)
    else:
        losses = list_losses(cell["log"], n, _DELTA, rng)
    return [{"learner": name, "loss": loss} for name, loss in losses.items()]


def sum_up(cell: Row, told: Sequence[list[Row]]) -> list[Row]:
    """Return for each learner its mean loss, the difference to CLCB's loss, and the published value.

    The 95 % intervals are for differences within replications. ``short`` is the claimed share of the
    learner's loss minus CLCB's loss, with its standard error.
    """
    losses = np.array([[run["loss"] for run in runs] for runs in told])
    names = [run["learner"] for run in told[0]]
    own = losses[:, [names.index("CLCB")]]
    shares = np.array([1.0 - _PROMISED.get(name, 0.0) for name in names])
    shorts = shares * losses - own
    errors = shorts.std(axis=0, ddof=min(1, len(told) - 1)) / np.sqrt(len(told))
    published = _PUBLISHED.get((cell["log"], cell["rounds"]), {})
    columns = zip(names, *band(losses), *band(losses - own), shorts.mean(axis=0), errors, strict=True)
    titles = ("loss", "low", "high", "more", "more low", "more high", "short", "short s.e.")
    return [
        cell
        | {"learner": name, "replications": len(told), "published": published.get(name, np.nan)}
        | {title: float(number) for title, number in zip(titles, numbers, strict=True)}
        for name, *numbers in columns
    ]


def claims(rows: list[Row]) -> Verdicts:
    """Return whether CLCB loses least, by how much on average, and whether losses match the publication."""
    verdicts: Verdicts = []
    for figure, log, n in dict.fromkeys((row["figure"], row["log"], row["rounds"]) for row in rows):
        part = [row for row in rows if (row["figure"], row["log"], row["rounds"]) == (figure, log, n)]
        place = f"{log}, {n} rounds"
        for row in part:
            if row["learner"] in _PROMISED:
                text = f"Figure {figure}, {place}: CLCB loses less than {row['learner']}"
                verdicts.append((text, has_more(row)))
            elif row["learner"] == "CLCB, cut":
                verdicts.append((f"{place}: CLCB loses less than with bounds cut at 0", has_more(row)))
        for row in part:
            if np.isfinite(row["published"]):
                text = f"Figure {figure}, {place}: {row['learner']} loses {row['published']:g}"
                verdicts.append((f"{text}, within a factor of two", _is_near(row)))
    for figure, log in _CURVES:
        part = [row for row in rows if (row["figure"], row["log"]) == (figure, log)]
        for name in dict.fromkeys(row["learner"] for row in part if row["learner"] in _PROMISED):
            text = f"Figure {figure}, {log}, all sizes: CLCB loses {_PROMISED[name]:.2%} less than {name}"
            verdicts.append((text, _is_short([row for row in part if row["learner"] == name])))
    return verdicts


def draw(rows: list[Row], out: Path) -> None:
    """Draw losses against the size of the log, with the published ones; one figure per kind of problem."""
    from cmab.plotting import panels_of_curves, save

    for name, figure in (("lists", "1a"), ("caches", "3a")):
        own = [row for row in rows if row["figure"] == figure]
        panels = {log: _points(own, log, "loss", "low", "high") for log in dict.fromkeys(_logs(own))}
        panels["published"] = _points(own, _logs(own)[0], *["published"] * 3)
        axes = panels_of_curves(
            panels,
            x_label="Rounds of the log",
            y_label="Loss",
            columns=len(panels),
            log_x=True,
            log_y=figure == "1a",
            ticks=sorted({row["rounds"] for row in own}),
        )
        save(axes, out / name)


def _logs(rows: list[Row]) -> list[str]:
    return [row["log"] for row in rows]


def _points(rows: list[Row], log: str, *ends: str) -> dict[str, list[tuple[float, float, float, float]]]:
    """Return the curves of one log: the rounds, losses and ends of intervals of each learner."""
    curves: dict[str, list[tuple[float, float, float, float]]] = {}
    for row in rows:
        if row["log"] == log and np.isfinite(row[ends[0]]):
            value, low, high = (row[end] for end in ends)
            curves.setdefault(row["learner"], []).append((row["rounds"], value, low, high))
    return curves


def _is_near(row: Row) -> bool | None:
    """Return whether the interval of a loss is within a factor of two of the published loss."""
    least, most = row["published"] / 2.0, 2.0 * row["published"]
    if least <= row["low"] and row["high"] <= most:
        return True
    return False if row["high"] < least or row["low"] > most else None


def _is_short(rows: list[Row]) -> bool | None:
    """Return whether CLCB's losses are as far below a learner's as claimed, by two standard errors."""
    total = sum(row["short"] for row in rows)
    margin = 2.0 * float(np.sqrt(sum(row["short s.e."] ** 2 for row in rows)))
    if not np.isfinite(margin) or abs(total) <= margin:
        return None
    return bool(total > 0.0)


OFFLINE_LEARNING = Experiment(
    name="offline-learning",
    title="Lists and caches from a log",
    about="Offline learning, Figures 1a, 2 and 3a: lists and caches chosen from a log of 4 to 1,024 rounds.",
    sizes="Two sizes of a log and 20 runs instead of five and 400",
    minutes={True: 0.2, False: 5},
    replications={True: 20, False: 400},
    cells=cells,
    play=play,
    sum_up=sum_up,
    claims=claims,
    draw=draw,
    sources={name: f"Liu et al. (2025), {name}" for name in ("Figure 1a", "Figure 2", "Figure 3a")},
)
