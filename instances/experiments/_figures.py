"""The figures of published experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from instances.experiments._explorations import Row

_LOOKS = ("o-", "s--", "^-.", "D-", "v:", "x--", "+-.", "*:", "p-")


def draw_samples(rows: list[Row], out: Path) -> None:
    """Draw samples against arms: Figure 1, a panel for each instance, k and mode, and Figure 2, k = 1."""
    for figure in sorted({row["figure"] for row in rows}):
        own = [row for row in rows if row["figure"] == figure]
        named = [row | {"kind": "k = arms / 2" if row["k"] > 2 else f"k = {row['k']}"} for row in own]
        _panels(named, ("instance", "kind", "mode"), out / f"figure-{figure}")


def _panels(rows: list[Row], keys: Sequence[str], path: Path) -> None:
    from cmab.plotting import pyplot, save

    plt = pyplot()
    panels = list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))
    columns = 2
    lines = -(-len(panels) // columns)
    size = (8, 2.7 * lines)
    _, axes = plt.subplots(lines, columns, figsize=size, layout="constrained", sharex=True, squeeze=False)
    styles = looks(rows, "explorer")
    for panel, at in zip(axes.flat, panels, strict=False):
        own = [row for row in rows if tuple(row[key] for key in keys) == at]
        for explorer, style in styles.items():
            arms, samples, errors = series(own, explorer)
            if len(arms):
                panel.errorbar(arms, samples, 2 * errors, fmt=style, label=explorer, markersize=4, capsize=2)
        panel.set(xscale="log", yscale="log")
        panel.set_title(", ".join(at), fontsize=10)
    for panel in axes[-1]:
        panel.set_xlabel("Arms")
    for panel in axes[:, 0]:
        panel.set_ylabel("Samples")
    axes[0, 0].legend(fontsize=7)
    save(axes[0, 0], path)


def looks(rows: list[Row], key: str) -> dict[str, str]:
    """Return a marker and a line for each value, the same in every panel."""
    return dict(zip(dict.fromkeys(row[key] for row in rows), _LOOKS, strict=False))


def series(rows: list[Row], explorer: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return numbers of arms, mean samples and standard errors of one explorer."""
    own = [row for row in rows if row["explorer"] == explorer]
    columns = np.array([(row["arms"], row["samples"], row["s.e."]) for row in own], np.float64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def draw_failures(rows: list[Row], out: Path) -> None:
    """Draw failure rates with 95 % intervals against the budget: a panel for each instance and k."""
    from cmab.plotting import pyplot, save

    plt = pyplot()
    panels = list(dict.fromkeys((row["instance"], row["k"]) for row in rows))
    columns = len({row["k"] for row in rows})
    lines, size = len(panels) // columns, (3.2 * columns + 0.8, 2.4 * (len(panels) // columns) + 0.4)
    _, axes = plt.subplots(lines, columns, figsize=size, layout="constrained", sharey=True, squeeze=False)
    for panel, (instance, k) in zip(axes.flat, panels, strict=True):
        own = [row for row in rows if (row["instance"], row["k"]) == (instance, k)]
        for explorer, style in looks(rows, "explorer").items():
            points = [row for row in own if row["explorer"] == explorer]
            budgets = [row["budget"] for row in points]
            panel.errorbar(budgets, *_rates(points), fmt=style, label=explorer, markersize=4, capsize=2)
        panel.set(title=f"{instance}, k = {k}")
    for panel in axes[-1]:
        panel.set_xlabel("Pulls")
    for panel in axes[:, 0]:
        panel.set_ylabel("Failure rate")
    axes[0, 0].legend(fontsize=7)
    save(axes[0, 0], out / "failures")


def draw_tolerances(rows: list[Row], out: Path) -> None:
    """Draw samples against the tolerance: a panel for each instance and number of arms."""
    from cmab.plotting import pyplot, save

    plt = pyplot()
    panels = list(dict.fromkeys((row["instance"], row["arms"]) for row in rows))
    columns = len({row["arms"] for row in rows})
    lines, size = len(panels) // columns, (3.2 * columns + 0.8, 2.4 * (len(panels) // columns) + 0.4)
    _, axes = plt.subplots(lines, columns, figsize=size, layout="constrained", sharey=True, squeeze=False)
    for panel, at in zip(axes.flat, panels, strict=True):
        own = [row for row in rows if (row["instance"], row["arms"]) == at]
        for explorer, style in looks(rows, "explorer").items():
            points = [row for row in own if row["explorer"] == explorer]
            tolerances, samples, errors = ([r[key] for r in points] for key in ("epsilon", "samples", "s.e."))
            panel.errorbar(
                tolerances, samples, 2 * np.array(errors), fmt=style, label=explorer, markersize=4, capsize=2
            )
        panel.set(title=f"{at[0]}, {at[1]} arms", xscale="log", yscale="log")
        ticks = sorted({row["epsilon"] for row in own})
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
    for panel in axes[-1]:
        panel.set_xlabel("Tolerance")
    for panel in axes[:, 0]:
        panel.set_ylabel("Samples")
    axes[0, 0].legend(fontsize=7)
    save(axes[0, 0], out / "samples")


def draw_failure_bars(rows: list[Row], out: Path) -> None:
    """Draw failure rates with 95 % intervals, a panel for each problem."""
    from cmab.plotting import pyplot, save

    plt = pyplot()
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    size = (7, 1.9 * len(problems) + 1)
    _, axes = plt.subplots(len(problems), 1, figsize=size, layout="constrained", sharex=True, squeeze=False)
    for panel, problem in zip(axes[:, 0], problems, strict=True):
        own = [row for row in rows if row["problem"] == problem]
        names = [row["explorer"] for row in own]
        rates, errors = _rates(own)
        panel.bar(names, rates, yerr=errors, color="0.75", edgecolor="black", capsize=3)
        panel.set(title=f"Problem {problem}, {own[0]['budget']} pulls", ylabel="Failure rate")
        # Names end at their bars; centred ones would run under their neighbours'.
        plt.setp(panel.get_xticklabels(), rotation=30, ha="right", rotation_mode="anchor")
    save(axes[0, 0], out / "failures")


def _rates(rows: list[Row]) -> tuple[Any, Any]:
    """Return rates and the distances to the ends of their intervals."""
    rates = np.array([row["rate"] for row in rows])
    ends = np.array([[row["low"] for row in rows], [row["high"] for row in rows]])
    return rates, np.abs(ends - rates)
