"""Curves of regret or samples against a parameter of learners or of the problem."""

from __future__ import annotations

import math
import numbers as abstract
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cmab.intervals import Band, band, proportion_interval
from cmab.plotting._legends import Legend, add_legend
from cmab.plotting._looks import looks
from cmab.plotting._needs import Explored, Played
from cmab.plotting._style import pyplot, style
from cmab.validation import shown

#: The drawn quantity: for policies its value at the last round, for explorers its value when they stop.
Measure = Literal["samples", "failures", "regret", "exact regret", "reward"]
_OF_EXPLORERS = ("samples", "failures")
_FAR_APART = 20.0
_MOST_TICKS = 8
# Longest text of a category, in letters, that is not rotated.
_LONG = 9


class _Point(NamedTuple):
    value: float
    low: float
    high: float
    ended: float = 1.0


def parameter_curves(
    results: Mapping[str, Mapping[Any, Played]] | Mapping[str, Mapping[Any, Explored]],
    *,
    parameter: str,
    measure: Measure | None = None,
    band_kind: Band = "t",
    level: float = 0.95,
    log_x: bool | None = None,
    log_y: bool | None = None,
    ax: Any = None,
    legend: Legend = None,
) -> Any:
    r"""Draw regret or samples against a parameter, such as samples against delta.

    The points are means with intervals. Samples of runs that ``max_samples`` cut off are never averaged with
    those of finished runs. If there are such runs, a hollow marker shows the median, with the share of the
    runs that stopped. If at most half of the runs stopped, an arrow means that the median is a lower bound.

    Parameters
    ----------
    results : mapping of str to mapping of parameter value to Simulation or Identification
        The results of each name, by the value of the parameter: one curve per name and one point per value. A
        name has the same look in all figures.
    parameter : str
        Label of the x-axis. If it is ``"delta"``, the axis is logarithmic and decreases from left to right,
        so that samples proportional to :math:`\log(1/\delta)` form a line. If some values are not numbers,
        all values are drawn at equal distances in the given order.
    measure : {"samples", "failures", "regret", "exact regret", "reward"}, optional
        The drawn quantity. For explorers, the default is ``"samples"``; ``"failures"`` is the share of wrong
        answers with Clopper-Pearson intervals. For policies, the default is ``"exact regret"``, the regret
        against the optimum after the last round, or ``"reward"``, the expected reward per round, if an
        optimum is unknown; ``"regret"`` is the (alpha, beta)-approximation regret.
    band_kind : {"t", "bootstrap"}
        Kind of the intervals; see `band`.
    level : float
        Confidence level of each interval.
    log_x, log_y : bool, optional
        Whether the axis is logarithmic. By default it is if the largest value is more than 20 times the
        smallest.
    ax : matplotlib Axes, optional
        Axes to draw on. If omitted, a new figure is created.
    legend : {"beside", "inside", "below", False}, optional
        Position of the legend; see `regret_curves`.

    Returns
    -------
    matplotlib Axes
        The axes with a curve for each name.

    Raises
    ------
    ValueError
        If there are no results, if there are both policies and explorers, or if `measure` does not suit them.

    Examples
    --------
    >>> from cmab import LUCB1, LUCBPlusPlus, identify
    >>> from cmab.plotting import parameter_curves
    >>> from instances import BernoulliArms
    >>> arms, deltas = BernoulliArms([0.9, 0.5, 0.2]), (0.1, 0.01, 0.001)
    >>> results = {
    ...     rule.__name__: {d: identify(rule(3, 1, delta=d), arms, replications=5, rng=0) for d in deltas}
    ...     for rule in (LUCB1, LUCBPlusPlus)
    ... }
    >>> axes = parameter_curves(results, parameter="delta")
    >>> axes.get_ylabel()
    'Samples until stopping'
    """
    every = _every(results)
    drawn = _measure(every, measure)
    values = list(dict.fromkeys(value for points in results.values() for value in points))
    are_numbers = all(_is_number(value) for value in values)
    places = {value: float(value) if are_numbers else float(at) for at, value in enumerate(values)}
    curves = {
        name: sorted((places[value], _point(each, drawn, band_kind, level)) for value, each in points.items())
        for name, points in results.items()
    }
    with style():
        axes = pyplot().figure().add_subplot() if ax is None else ax
        handles = [_curve(axes, name, curves[name], look) for name, look in looks(curves).items()]
        if any(point.ended < 1.0 for points in curves.values() for _, point in points):
            hollow: dict[str, Any] = {"color": "0.4", "markerfacecolor": "white", "linestyle": "none"}
            handles += axes.plot([], [], "o", label="median, runs cut off", **hollow)
        if are_numbers:
            _numbers(axes, sorted(places.values()), parameter == "delta", log_x)
        else:
            labels = [str(value) for value in values]
            is_long = max(map(len, labels)) > _LONG
            turned: dict[str, Any] = {"rotation": 25, "ha": "right"} if is_long else {}
            axes.set_xticks(range(len(labels)), labels, **turned)
        heights = [point.value for points in curves.values() for _, point in points]
        if _is_wide(heights) if log_y is None else log_y:
            axes.set_yscale("log", nonpositive="mask")
        elif drawn == "samples":
            axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.margins(x=0.06, y=0.1)
        axes.set_xlabel(r"$\delta$" if parameter == "delta" else parameter)
        axes.set_ylabel(_label(drawn, every))
        add_legend(axes, handles, legend)
    return axes


def _every(results: Mapping[str, Any]) -> list[Any]:
    if not all(isinstance(points, Mapping) and points for points in results.values()) or not results:
        raise ValueError(
            f"results must map each name to results by the value of the parameter, got {shown(results)}"
        )
    return [each for points in results.values() for each in points.values()]


def _measure(every: Sequence[Any], measure: Measure | None) -> Measure:
    """Return the drawn quantity, which must suit all results."""
    explored = [hasattr(each, "samples") for each in every]
    if len(set(explored)) > 1:
        raise ValueError("results must be all of policies or all of explorers, got both; draw two figures")
    if measure is None:
        known = explored[0] or all(np.isfinite(each.optimum) for each in every)
        return "samples" if explored[0] else "exact regret" if known else "reward"
    fitting = [name for name in get_args(Measure) if (name in _OF_EXPLORERS) == explored[0]]
    if measure not in fitting:
        whose = "explorers" if explored[0] else "policies"
        raise ValueError(f"measure must be one of {fitting} for {whose}, got {shown(measure)}")
    return measure


def _point(result: Any, measure: Measure, kind: Band, level: float) -> _Point:
    if measure == "failures":
        failures, runs = int((~result.correct).sum()), len(result.correct)
        return _Point(failures / runs, *proportion_interval(failures, runs, level=level))
    if measure == "samples":
        if not result.stopped.all():
            median = float(np.median(result.samples))
            return _Point(median, np.nan, np.nan, float(result.stopped.mean()))
        values = result.samples
    elif measure == "reward":
        values = result.expected_rewards[:, -1] / result.rounds[-1]
    else:
        values = (result.regret if measure == "regret" else result.exact_regret)[:, -1]
    return _Point(
        *(float(end[0]) for end in band(np.asarray(values, np.float64)[:, None], kind, level=level))
    )


def _curve(axes: Any, name: str, points: Sequence[tuple[float, _Point]], look: dict[str, Any]) -> Any:
    """Draw a curve through the means, with intervals and hollow medians; return its line."""
    x, is_mean = np.array([at for at, _ in points]), np.array([point.ended == 1.0 for _, point in points])
    value, low, high, _ = np.array([point for _, point in points]).T
    (line,) = axes.plot(x, np.where(is_mean, value, np.nan), label=name, markersize=4, **look)
    # Because of rounding, an end may be on the wrong side of its value. One replication has no interval.
    errors = np.nan_to_num(np.maximum(0.0, (value - low, high - value)))
    if is_mean.any():
        drawn = {"fmt": "none", "ecolor": look["color"], "elinewidth": 0.9, "capsize": 2}
        axes.errorbar(x[is_mean], value[is_mean], errors[:, is_mean], **drawn)
    hollow = look | {"linestyle": "none", "markerfacecolor": "white", "label": "_nolegend_"}
    axes.plot(x[~is_mean], value[~is_mean], markersize=5, **hollow)
    for at, point in points:
        if point.ended < 1.0:
            text = f"{100 * point.ended:.0f} % ended{' ↑' if point.ended <= 0.5 else ''}"
            axes.annotate(
                text, (at, point.value), (0, 5), textcoords="offset points", ha="center", fontsize=7
            )
    return line


def _numbers(axes: Any, values: Sequence[float], is_delta: bool, log: bool | None) -> None:
    """Set up the axis of a numeric parameter; for delta it decreases, so harder problems are on the right."""
    if (_is_wide(values) or (is_delta and values[0] > 0.0)) if log is None else log:
        axes.set_xscale("log")
        if len(values) <= _MOST_TICKS:
            axes.set_xticks(values, [f"{value:,g}" for value in values])
            axes.minorticks_off()
    if is_delta and not axes.xaxis_inverted():
        axes.invert_xaxis()


def _is_number(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, abstract.Real) and math.isfinite(value)


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0.0 and max(values) > _FAR_APART * min(values)


def _label(measure: Measure, every: Sequence[Any]) -> str:
    if measure in _OF_EXPLORERS:
        return "Samples until stopping" if measure == "samples" else "Share of wrong answers"
    if measure == "reward":
        return "Expected reward per round"
    lasts = {int(each.rounds[-1]) for each in every}
    after = f"after round {lasts.pop():,}" if len(lasts) == 1 else "after the last round"
    return rf"$(\alpha, \beta)$-regret {after}" if measure == "regret" else f"Regret {after}"
