"""The figures of a report and their captions.

A chart is a function of a `View`. For each figure it yields the name of the file, the caption and the axes.
It yields nothing if the view has no data for it. `CHARTS` lists the charts in the order of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.plotting import Band, curves_with_bands, failure_curves, regret_curves, sample_bars, style
from cmab.plotting._legends import add_legend
from cmab.reports._against_parameters import against_parameters
from cmab.reports._finished import Finished
from cmab.reports._labels import drawn_names, new_axes, slugs
from cmab.reports._view import View

Drawn = Iterator[tuple[str, str, Any]]


@dataclass(frozen=True, eq=False)
class Figure:
    """A drawn figure: the name of its file without suffix, its caption and its axes."""

    stem: str
    caption: str
    axes: Any


def _rewards(view: View) -> Drawn:
    if view.played and not view.has_optima:
        curves = {name: (r.rounds, r.expected_rewards / r.rounds) for name, r in view.results.items()}
        settings = view.settings | {"ax": new_axes(len(curves))}
        axes = curves_with_bands(curves, x_label="Round", y_label="Expected reward per round", **settings)
        yield "reward", f"Mean expected reward per round so far; the optimum is unknown. {view.bands}", axes


def _regret(view: View) -> Drawn:
    if view.has_optima:
        # On logarithmic axes, a power of the number of rounds is a straight line.
        for log, name in ((False, "regret"), (True, "regret-log")):
            axes = regret_curves(
                view.results, exact=True, log=log, **view.settings, ax=new_axes(len(view.results))
            )
            note = " Logarithmic axes; values at or below 0 are not shown." if log else ""
            yield name, f"Regret against {view.against}. {view.bands}{note}", axes


def _changes(view: View) -> Drawn:
    """Yield a figure with a row of marks for each learner that detected changes of the means."""
    found = {name: np.concatenate(r.change_points) for name, r in view.results.items() if r.change_points}
    found = {name: points for name, points in found.items() if len(points)}
    if view.has_optima and found:
        axes = new_axes(height=1.0 + 0.3 * len(found))
        last = max(int(view.results[name].rounds[-1]) for name in found)
        for place, points in enumerate(found.values()):
            axes.plot(points, np.full(len(points), place), "|", markersize=12)
        axes.set(xlim=(0, last), ylim=(len(found) - 0.5, -0.5), xlabel="Round", yticks=range(len(found)))
        axes.set_yticklabels(found)
        caption = "Rounds after which a learner detected a change of the means, in all replications."
        yield "changes", caption, axes


def _approximation_regret(view: View) -> Drawn:
    # If alpha = beta = 1, this regret equals the regret of `_regret`.
    if view.has_optima and any(each.alpha != 1.0 or each.beta != 1.0 for each in view.played.values()):
        axes = regret_curves(view.results, **view.settings, ax=new_axes(len(view.results)))
        yield (
            "approximation-regret",
            "(α, β)-regret: against the oracle's guarantee. Negative if the learner does better."
            f" {view.bands}",
            axes,
        )


def _bounds(view: View) -> Drawn:
    stems = slugs(view.played)
    for name, result in view.played.items() if view.has_optima else ():
        rounds, bounds = view.finished.about(view.instance)[name].curves()
        if not bounds:
            continue
        unsaid = view.settings | {"legend": False}
        axes = regret_curves({drawn_names([name])[name]: result}, log=True, **unsaid, ax=new_axes(3))
        for (theorem, values), dashes in zip(bounds.items(), ("--", ":"), strict=False):
            # Bounds are orders of magnitude above the regret, so only logarithmic axes show both.
            axes.plot(rounds, values, color="black", linestyle=dashes, label=theorem)
        axes.set_yscale("log", nonpositive="mask")
        with style():
            add_legend(axes, axes.get_lines(), "below")
        yield (
            f"bounds-{stems[name]}",
            f"{name}: its (α, β)-regret and the bounds of Chen et al. (2016) that hold for this instance."
            " Values at or below 0 are not shown.",
            axes,
        )


def _seconds(view: View) -> Drawn:
    if view.has_optima:
        # The median ignores the replication in which code was compiled.
        seconds = {
            name: (each.rounds * (np.median(each.seconds) / each.rounds[-1]), each.exact_regret)
            for name, each in view.results.items()
        }
        settings = view.settings | {"log": True, "ax": new_axes(len(seconds))}
        axes = curves_with_bands(
            seconds, x_label="Wall-clock seconds", y_label="Cumulative regret", **settings
        )
        yield (
            "seconds",
            f"Regret against {view.against} by wall-clock time: rounds times the median seconds per round"
            f" of the learner (the first replication of a run may compile code). {view.bands}",
            axes,
        )


def _samples(view: View) -> Drawn:
    if view.instance in view.finished.ruled:
        results = view.finished.ruled[view.instance].results
        shown = drawn_names(results)
        yield (
            "samples",
            f"Samples until stopping: mean with {view.percent} % t interval, and a dot for each"
            " replication. If runs were cut off (triangles), the bar is the median, a lower bound.",
            sample_bars(
                {shown[name]: found for name, found in results.items()},
                level=view.level,
                ax=new_axes(height=0.8 + 0.36 * len(results)),
            ),
        )


def _failures(view: View) -> Drawn:
    if view.instance in view.finished.budgeted:
        comparison = view.finished.budgeted[view.instance]
        curves: dict[str, list[tuple[float, int, int]]] = {}
        for name, found in comparison.results.items():
            point = float(comparison.budgets[name]), int((~found.correct).sum()), len(found.correct)
            # A grid of budgets gives one explorer per budget. They are the points of one curve.
            curves.setdefault(re.sub(r" budget=\S+", "", name), []).append(point)
        shown = drawn_names(curves)
        ordered = {shown[name]: curves[name] for name in sorted(curves)}
        yield (
            "failures",
            f"Share of wrong answers against the budget, with {view.percent} % Clopper-Pearson intervals."
            " A point without wrong answers is not shown, but its interval is.",
            failure_curves(ordered, level=view.level, ax=new_axes(len(curves)), legend="below"),
        )


CHARTS: tuple[Callable[[View], Drawn], ...] = (
    _rewards,
    _regret,
    _changes,
    _approximation_regret,
    _bounds,
    _seconds,
    _samples,
    _failures,
    against_parameters,
)


def figures(finished: Finished, instance: str, kind: Band, level: float) -> Iterator[Figure]:
    """Yield the figures of an instance; save (and so close) each figure before you ask for the next."""
    stem, view = slugs(finished.instances)[instance], View(finished, instance, kind, level)
    for chart in CHARTS:
        for name, caption, axes in chart(view):
            yield Figure(f"{stem}-{name}", caption, axes)
