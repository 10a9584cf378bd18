"""The figures of a report, with what has to be said under each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.plotting import Band, curves_with_bands, regret_curves, style
from cmab.plotting._exploration import failure_curves, sample_bars
from cmab.plotting._legends import add_legend
from cmab.reports._against_parameters import against_parameters
from cmab.reports._finished import Finished
from cmab.reports._labels import drawn_names, new_axes, slugs
from cmab.results.simulation import Simulation


@dataclass(frozen=True, eq=False)
class Figure:
    """A drawn figure: the file's name without suffix, and what is written below."""

    stem: str
    caption: str
    axes: Any


def figures(finished: Finished, instance: str, kind: Band, level: float) -> Iterator[Figure]:
    """Yield the figures of an instance; each has to be saved (and so closed) before the next."""
    stem = slugs(finished.instances)[instance]
    for part in (
        _of_learners(finished, instance, kind, level),
        _of_explorers(finished, instance, level),
        against_parameters(finished, instance, kind, level),
    ):
        for name, caption, axes in part:
            yield Figure(f"{stem}-{name}", caption, axes)


def _of_learners(
    finished: Finished, instance: str, kind: Band, level: float
) -> Iterator[tuple[str, str, Any]]:
    if instance not in finished.learned:
        return
    played = finished.learned[instance].results
    shown = drawn_names(played)
    results = {shown[name]: result for name, result in played.items()}
    about = finished.about(instance)
    bands = f"Mean over replications with {100 * level:g} % {_NAMES[kind]}."
    settings: dict[str, Any] = {"band_kind": kind, "level": level, "legend": "below"}
    n = len(results)
    # Regret needs the optimum; without one the rewards themselves are compared.
    if not all(np.isfinite(result.optimum) for result in results.values()):
        curves = {name: (r.rounds, r.expected_rewards / r.rounds) for name, r in results.items()}
        axes = curves_with_bands(
            curves, x_label="Round", y_label="Expected reward a round", **settings, ax=new_axes(n)
        )
        yield "reward", f"Expected reward a round up to now; the optimum is unknown. {bands}", axes
        return
    # A best known super arm that is not optimal makes regret too small, even negative.
    is_exact = all(about[name].optimum_is_exact for name in played)
    against = "the optimum" if is_exact else "the best known super arm"
    if any(result.optima is not None for result in results.values()):
        against += " of each round"
    # Both kinds of axes: on logarithmic ones a power of the time is a line.
    for log, name in ((False, "regret"), (True, "regret-log")):
        axes = regret_curves(results, exact=True, log=log, **settings, ax=new_axes(n))
        note = " Logarithmic axes; values at or below 0 have no place there." if log else ""
        yield name, f"Regret against {against}. {bands}{note}", axes
    yield from _changes(results)
    # At alpha = beta = 1 this regret is the one just drawn.
    if any(result.alpha != 1.0 or result.beta != 1.0 for result in results.values()):
        axes = regret_curves(results, **settings, ax=new_axes(n))
        yield (
            "approximation-regret",
            f"(α, β)-regret: against what the oracle guarantees. Below 0, the learner does better. {bands}",
            axes,
        )
    yield from _bounds(finished, instance, played, settings)
    seconds = {name: (_clock(result), result.exact_regret) for name, result in results.items()}
    axes = curves_with_bands(
        seconds,
        x_label="Wall-clock seconds",
        y_label="Cumulative regret",
        **settings,
        log=True,
        ax=new_axes(n),
    )
    yield (
        "seconds",
        f"Regret against {against} and wall-clock time: rounds times a learner's median seconds a round (the"
        f" first replication of a run may compile). {bands}",
        axes,
    )


_NAMES = {"t": "t intervals", "bootstrap": "bootstrap intervals"}


def _changes(results: dict[str, Simulation]) -> Iterator[tuple[str, str, Any]]:
    """Yield a row of dots for each learner that found changes of the means."""
    found = {name: np.concatenate(r.change_points) for name, r in results.items() if r.change_points}
    found = {name: points for name, points in found.items() if len(points)}
    if not found:
        return
    axes = new_axes(height=1.0 + 0.3 * len(found))
    last = max(int(results[name].rounds[-1]) for name in found)
    for place, points in enumerate(found.values()):
        axes.plot(points, np.full(len(points), place), "|", markersize=12)
    axes.set(xlim=(0, last), ylim=(len(found) - 0.5, -0.5), xlabel="Round", yticks=range(len(found)))
    axes.set_yticklabels(found)
    yield "changes", "Rounds after which a learner found that means had changed, of all replications.", axes


def _clock(result: Simulation) -> Any:
    # The median leaves out the replication that compiled.
    return result.rounds * (np.median(result.seconds) / result.rounds[-1])


def _bounds(
    finished: Finished, instance: str, results: dict[str, Simulation], settings: dict[str, Any]
) -> Iterator[tuple[str, str, Any]]:
    stems = slugs(results)
    for name, result in results.items():
        rounds, bounds = finished.about(instance)[name].curves()
        if not bounds:
            continue
        unsaid = settings | {"legend": False}
        axes = regret_curves({drawn_names([name])[name]: result}, log=True, **unsaid, ax=new_axes(3))
        for (theorem, values), dashes in zip(bounds.items(), ("--", ":"), strict=False):
            # Bounds lie orders of magnitude above what is played, hence logarithmic axes only.
            axes.plot(rounds, values, color="black", linestyle=dashes, label=theorem)
        axes.set_yscale("log", nonpositive="mask")
        with style():
            add_legend(axes, axes.get_lines(), "below")
        yield (
            f"bounds-{stems[name]}",
            f"{name}: its (α, β)-regret under the bounds of Chen et al. (2016), which hold for this instance."
            " Values at or below 0 are not shown.",
            axes,
        )


def _of_explorers(finished: Finished, instance: str, level: float) -> Iterator[tuple[str, str, Any]]:
    if instance in finished.ruled:
        results = finished.ruled[instance].results
        shown = drawn_names(results)
        yield (
            "samples",
            f"Samples until the stopping rule holds: mean, {100 * level:g} % t interval, and a dot for each"
            " replication. Where runs were cut off (triangles), the median stands, and is at least that.",
            sample_bars(
                {shown[name]: found for name, found in results.items()},
                level=level,
                ax=new_axes(height=0.8 + 0.36 * len(results)),
            ),
        )
    curves: dict[str, list[tuple[float, int, int]]] = {}
    if instance in finished.budgeted:
        comparison = finished.budgeted[instance]
        for name, found in comparison.results.items():
            point = float(comparison.budgets[name]), int((~found.correct).sum()), len(found.correct)
            # A grid of budgets makes an explorer of each: they are the points of one curve.
            curves.setdefault(re.sub(r" budget=\S+", "", name), []).append(point)
        shown = drawn_names(curves)
        ordered = {shown[name]: curves[name] for name in sorted(curves)}
        yield (
            "failures",
            f"Share of wrong answers against the budget, with {100 * level:g} % Clopper-Pearson intervals."
            " Where nothing went wrong there is no point, only the interval.",
            failure_curves(ordered, level=level, ax=new_axes(len(curves)), legend="below"),
        )
