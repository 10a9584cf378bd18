"""Figures of pure exploration: samples until stopping, and wrong answers against the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cmab.intervals import band, proportion_interval
from cmab.plotting._legends import Legend, add_legend
from cmab.plotting._looks import numbers
from cmab.plotting._needs import Explored
from cmab.plotting._style import labelled, look, pyplot, style

# Hatches distinguish bars in print and for colour-blind readers.
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "|||", "---")
_FAR_APART = 20.0


def sample_bars(
    results: Mapping[str, Explored] | Mapping[tuple[str, str], Explored],
    *,
    level: float = 0.95,
    ax: Any = None,
) -> Any:
    """Draw the mean samples of each explorer as a bar, with a t interval and a dot for each replication.

    Runs that ``max_samples`` cut off are never averaged with finished runs. Such a run is drawn as a
    triangle. The bar of an explorer with such runs shows the median, which is a lower bound, and has an
    arrow.

    Parameters
    ----------
    results : mapping of str to Identification
        The results to draw, one bar per name from top to bottom. `Study.identifications` is accepted as well.
    level : float
        Confidence level of the intervals.
    ax : matplotlib Axes, optional
        Axes to draw on. If omitted, a new figure is created.

    Returns
    -------
    matplotlib Axes
        The axes with the bars. The axis is logarithmic if the longest bar is more than 20 times the shortest.
    """
    results = labelled(results)
    with style():
        shape = (5.2, 0.8 + 0.36 * len(results))
        axes = pyplot().figure(figsize=shape).add_subplot() if ax is None else ax
        lengths = {
            name: float((np.mean if found.stopped.all() else np.median)(found.samples))
            for name, found in results.items()
        }
        if max(lengths.values()) > _FAR_APART * min(lengths.values()):
            axes.set_xscale("log")
        looks = numbers(results)
        for place, (name, found) in enumerate(results.items()):
            samples = found.samples.astype(np.float64)
            lap, kind = divmod(looks[name], len(HATCHES))
            axes.barh(
                place,
                lengths[name],
                height=0.62,
                color=look(looks[name])["color"],
                alpha=0.45,
                hatch=HATCHES[(kind + lap) % len(HATCHES)],
                edgecolor="black",
                linewidth=0.6,
            )
            # Dots in seven rows, so that runs with equal numbers of samples do not hide each other.
            spread = 0.5 * (np.arange(len(samples)) % 7 - 3) / 7
            dots: dict[str, Any] = {"color": "0.25", "alpha": 0.6, "linewidth": 0}
            for ended, marker, size in ((True, "o", 1.6), (False, ">", 3.0)):
                chosen = found.stopped == ended
                axes.plot(samples[chosen], (place + spread)[chosen], marker, markersize=size, **dots)
            _, low, high = (float(end[0]) for end in band(samples[:, None], "t", level=level))
            if np.isfinite(low) and found.stopped.all():
                axes.plot([low, high], [place, place], color="black", linewidth=1.8, marker="|", markersize=8)
            if not found.stopped.all():
                axes.annotate(
                    "cut off →",
                    (lengths[name], place),
                    (4, 6),
                    textcoords="offset points",
                    fontsize=7,
                    va="bottom",
                )
        if not all(found.stopped.all() for found in results.values()):
            axes.margins(x=0.16)  # room for the words at the ends of the bars
        if axes.get_xscale() == "linear":
            axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_yticks(range(len(results)), list(results))
        axes.set_ylim(len(results) - 0.4, -0.6)
        axes.set_xlabel("Samples until stopping")
    return axes


def failure_curves(
    curves: Mapping[str, Sequence[tuple[float, int, int]]],
    *,
    level: float = 0.95,
    ax: Any = None,
    legend: Legend = None,
) -> Any:
    """Draw the share of wrong answers against the budget, with Clopper-Pearson intervals.

    Parameters
    ----------
    curves : mapping of str to sequence of (budget, failures, runs)
        The points of each curve. A name has the same look in all figures.
    level : float
        Confidence level of each interval.
    ax : matplotlib Axes, optional
        Axes to draw on. If omitted, a new figure is created.
    legend : {"beside", "inside", "below", False}, optional
        Position of the legend; see `regret_curves`.

    Returns
    -------
    matplotlib Axes
        The axes with the curves; both axes are logarithmic. A point without failures is not shown, but the
        upper end of its interval is.
    """
    with style():
        axes = pyplot().figure().add_subplot() if ax is None else ax
        lowest = 1.0
        looks = numbers(curves)
        for number, (name, points) in enumerate(curves.items()):
            budgets, failures, runs = (np.array(column) for column in zip(*sorted(points), strict=True))
            shares = failures / runs
            ends = [
                proportion_interval(int(f), int(n), level=level) for f, n in zip(failures, runs, strict=True)
            ]
            low, high = np.array(ends).T
            # Half a failure is below every visible share, so an interval that begins at 0 reaches the lower
            # edge.
            lowest = min(lowest, float((0.5 / runs).min()))
            # Shift the curves sideways, so that intervals at the same budget do not hide each other.
            shifted = budgets * 1.02 ** (number - (len(curves) - 1) / 2)
            axes.errorbar(
                shifted,
                np.where(failures > 0, shares, np.nan),
                label=name,
                markersize=4,
                markerfacecolor="white",
                **look(looks[name]),
            )
            colour = look(looks[name])["color"]
            axes.vlines(shifted, np.maximum(low, lowest / 10), high, color=colour, linewidth=1.0)
            axes.plot(shifted, high, "_", color=colour, markersize=5)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(lowest, 1.15)
        ticks = sorted({budget for points in curves.values() for budget, *_ in points})
        axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("Budget (samples)")
        axes.set_ylabel("Share of wrong answers")
        add_legend(axes, axes.get_legend_handles_labels()[0], legend)
    return axes
