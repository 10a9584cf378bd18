"""Curves and bars of regret, samples and wrong answers, and learned means against true means."""

from __future__ import annotations

import math
import numbers as abstract
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.intervals import Band, band, proportion_interval, without_noise
from cmab.plotting.style import (
    Explored,
    Legend,
    Played,
    add_legend,
    labelled,
    look,
    looks,
    numbers,
    pyplot,
    style,
)
from cmab.validation import shown

# Numbers that differ by this factor or more are drawn on a logarithmic scale.
_FAR_APART = 20.0


def regret_curves(
    results: Mapping[str, Played] | Mapping[tuple[str, str], Played],
    *,
    band_kind: Band = "t",
    level: float = 0.95,
    log: bool = False,
    exact: bool = False,
    ax: Any = None,
    legend: Legend = None,
) -> Any:
    """Draw the mean cumulative regret of each learner with its confidence band.

    If the results have certificates, a dotted line shows the mean of the bounds that the learner itself
    could prove, and the area between the line and the regret is shaded.

    Parameters
    ----------
    results : mapping of str to Simulation
        The results to draw, one curve per name. A name has the same look in all figures. The results of a
        study, `Study.results`, with keys (instance, learner), are accepted as well.
    band_kind : {"t", "bootstrap"}
        Kind of the bands; see `band`.
    level : float
        Confidence level of the band, separately at each round.
    log : bool
        If True, both axes are logarithmic and values at or below 0 are not shown. If there are no positive
        values, the y-axis stays linear.
    exact : bool
        If True, draw the regret against the optimum. If False, draw the (alpha, beta)-approximation regret.
    ax : matplotlib Axes, optional
        Axes to draw on. If omitted, a new figure is created.
    legend : {"beside", "inside", "below", False}, optional
        Position of the legend; False omits it. By default it is beside the curves if the figure has no other
        axes. Otherwise it is inside the axes, or below them if there are more than seven curves. In a figure
        without a layout engine it is inside.

    Returns
    -------
    matplotlib Axes
        The axes with the curves. The legend lists the curves in the order of their values at the last round.

    Raises
    ------
    ValueError
        If `legend` is not one of the values above.
    """
    are_same = all(result.alpha * result.beta == 1.0 for result in results.values())
    name = "Cumulative exact regret" if exact and not are_same else "Cumulative regret"
    curves = {
        label: (result.rounds, result.exact_regret if exact else result.regret)
        for label, result in labelled(results).items()
    }
    # On logarithmic axes, rounding errors would appear as a curve.
    curves = {
        label: (rounds, without_noise(values, each.optimum, rounds=rounds))
        for (label, (rounds, values)), each in zip(curves.items(), results.values(), strict=True)
    }
    axes = curves_with_bands(
        curves, x_label="Round", y_label=name, band_kind=band_kind, level=level, log=log, ax=ax, legend=legend
    )
    looks = numbers(curves)
    for label, result in labelled(results).items():
        bounds = getattr(result, "exact_regret_bounds" if exact else "regret_bounds", None)
        if bounds is not None:
            _certified(axes, looks[label], result.rounds, curves[label][1], bounds)
    return axes


def _certified(axes: Any, number: int, rounds: IntArray, regret: FloatArray, bounds: FloatArray) -> None:
    """Draw the mean of the certified bounds as a dotted line, and shade the area down to the regret."""
    known = np.isfinite(bounds).all(axis=0)
    if not known.any():
        return
    x, top, bottom = rounds[known], bounds[:, known].mean(axis=0), regret[:, known].mean(axis=0)
    color, (low, high) = look(number)["color"], axes.get_ylim()
    axes.plot(x, top, color=color, linestyle=(0, (1, 1.5)), linewidth=1.0)
    axes.fill_between(x, bottom, top, color=color, alpha=0.06, linewidth=0)
    if axes.get_yscale() == "linear":
        # The first bounds are much larger than the regret; the axis shows at most four times the curves.
        axes.set_ylim(low, max(high, min(float(top.max()) * 1.05, 4.0 * high)))


def curves_with_bands(
    curves: Mapping[str, tuple[ArrayLike, FloatArray]],
    *,
    x_label: str,
    y_label: str,
    band_kind: Band = "t",
    level: float = 0.95,
    log: bool = False,
    ax: Any = None,
    legend: Legend = None,
) -> Any:
    """Draw curves ``name: (x, values)``, with values of shape (R, C), and their bands; return the axes."""
    with style():
        axes = pyplot().figure().add_subplot() if ax is None else ax
        bands = {
            name: band(np.asarray(values, np.float64), band_kind, level=level)
            for name, (_, values) in curves.items()
        }
        # On a logarithmic axis, a band that reaches below 0 is drawn down to the lower edge.
        positive = [float(y[y > 0].min(initial=np.inf)) for ends in bands.values() for y in ends]
        lowest = min(positive, default=np.inf)
        floor = lowest / 1.5 if log and np.isfinite(lowest) else -np.inf
        looks = numbers(curves)
        for name, (x, _) in curves.items():
            mean, low, high = bands[name]
            low, high = np.maximum(low, floor), np.maximum(high, floor)
            _curve(axes, looks[name], name, np.asarray(x), mean, low, high, log)
        if log:
            axes.set_xscale("log")
            if np.isfinite(lowest):
                axes.set_yscale("log", nonpositive="mask")
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.margins(x=0.01)
        add_legend(axes, _by_end(axes), legend)
    return axes


def _curve(
    axes: Any,
    number: int,
    name: str,
    x: FloatArray,
    mean: FloatArray,
    low: FloatArray,
    high: FloatArray,
    log: bool,
) -> None:
    appearance = look(number)
    grid = np.geomspace(x[0], x[-1], 9) if log else np.linspace(x[0], x[-1], 9)
    # Markers of different curves have different positions, so that they do not hide each other.
    marks = np.unique(
        np.searchsorted(x, grid[1:] - (grid[1:] - grid[:-1]) * (number % 5) / 5).clip(0, len(x) - 1)
    )
    axes.fill_between(x, low, high, color=appearance["color"], alpha=0.18, linewidth=0)
    axes.plot(
        x,
        mean,
        label=name,
        **appearance,
        markevery=marks.tolist(),
        markersize=4,
        markerfacecolor="white",
    )


def _by_end(axes: Any) -> list[Any]:
    """Return the lines sorted by their last values, so that the legend has the order of the curves."""

    def last(line: Any) -> float:
        values = np.asarray(line.get_ydata(), np.float64)
        values = values[np.isfinite(values)]
        return -values[-1] if values.size else np.inf

    return sorted(axes.get_lines(), key=last)


def learned_against_true(learned: FloatArray, truth: FloatArray, *, counts: IntArray, ax: Any = None) -> Any:
    """Draw the learned mean against the true mean of every base arm with an observation.

    Parameters
    ----------
    learned, truth : FloatArray, shape (n_arms,)
        Empirical and true means.
    counts : IntArray, shape (n_arms,)
        Observations of each arm, shown as the shade of its point.
    ax : matplotlib Axes, optional
        Axes to draw on. If omitted, a new figure is created.

    Returns
    -------
    matplotlib Axes
        The axes with the points and the diagonal.
    """
    from matplotlib.colors import LogNorm, Normalize

    plt = pyplot()
    seen = counts > 0
    with style():
        axes = plt.figure(figsize=(3.9, 3.0)).add_subplot() if ax is None else ax
        ends = (0.0, 1.02 * max(1e-9, float(truth.max(initial=0.0)), float(learned[seen].max(initial=0.0))))
        axes.plot(ends, ends, color="0.6", linewidth=0.8, zorder=1)
        # Draw the arms with the most observations last, on top.
        order = np.flatnonzero(seen)[np.argsort(counts[seen], kind="stable")]
        least = int(counts[seen].min()) if seen.any() else 1
        most = max(int(counts.max(initial=1)), least + 1)
        norm = LogNorm(least, most) if most >= _FAR_APART * least else Normalize(least, most)
        points = axes.scatter(
            truth[order],
            learned[order],
            c=counts[order],
            norm=norm,
            cmap="viridis_r",
            s=9,
            linewidths=0,
            zorder=2,
        )
        axes.set_xlabel("True mean of the base arm")
        axes.set_ylabel("Learned mean")
        axes.set_xlim(ends)
        axes.set_ylim(ends)
        axes.set_aspect("equal")
        axes.figure.colorbar(points, ax=axes, label="Observations", pad=0.02)
        axes.set_title(f"{seen.sum():,} of {len(seen):,} base arms observed", loc="left")
    return axes


# Hatches distinguish bars in print and for colour-blind readers.
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "|||", "---")


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


#: The position on the x-axis, the value, and the two ends of its interval.
Point = tuple[float, float, float, float]
_WIDTH, _HEIGHT = 3.3, 2.2


def panels_of_curves(
    panels: Mapping[str, Mapping[str, Sequence[Point]]],
    *,
    x_label: str,
    y_label: str,
    columns: int = 2,
    log_x: bool = False,
    log_y: bool = False,
    share_y: bool = True,
    ticks: Sequence[float] | None = None,
) -> Any:
    """Draw panels of curves through points with intervals.

    Parameters
    ----------
    panels : mapping of str to mapping of str to sequence of (x, value, low, high)
        The panels by title, in reading order. Each has its curves by name. A name has one look in all panels.
    x_label, y_label : str
        Labels of the axes, written at the outer panels.
    columns : int
        Number of panels in a row.
    log_x, log_y : bool
        Whether the axis is logarithmic.
    share_y : bool
        Whether all panels have the same y-axis.
    ticks : sequence of float, optional
        All ticks of the x-axis.

    Returns
    -------
    matplotlib Axes
        The axes of the first panel. One legend for all panels is below the figure.
    """
    names = dict.fromkeys(name for curves in panels.values() for name in curves)
    drawn_as = looks(names)
    with style():
        figure, axes = _grid(len(panels), columns, _HEIGHT, share_y)
        for panel, (title, curves) in zip(axes, panels.items(), strict=True):
            for name, points in curves.items():
                x, value, low, high = np.array(points, np.float64).T
                # Because of rounding, an end may be on the wrong side of its value.
                errors = np.maximum(0.0, (value - low, high - value))
                panel.errorbar(
                    x,
                    value,
                    errors,
                    label=name,
                    markersize=4,
                    markerfacecolor="white",
                    capsize=2,
                    elinewidth=0.8,
                    **drawn_as[name],
                )
            panel.set_title(title)
            if log_x:
                panel.set_xscale("log")
            if log_y:
                panel.set_yscale("log")
            if ticks is not None:
                panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
                panel.xaxis.set_minor_locator(pyplot().NullLocator())
        _outer_labels(axes, columns, x_label, y_label)
        # Some panels may lack some names.
        drawn: dict[str, Any] = {}
        for panel in axes:
            handles, texts = panel.get_legend_handles_labels()
            drawn |= dict(zip(texts, handles, strict=True))
        handles = [drawn[name] for name in names]
        place = {"loc": "outside lower center", "ncols": 2 * columns}
        figure.legend(handles, list(names), **place, frameon=False, handlelength=3.2)
    return axes[0]


def panels_of_bars(
    panels: Mapping[str, Mapping[str, tuple[float, float, float]]], *, x_label: str, columns: int = 2
) -> Any:
    """Draw panels of bars with intervals; all panels have the same bars.

    Parameters
    ----------
    panels : mapping of str to mapping of str to (value, low, high)
        The panels by title, in reading order. Each has its bars by name, from top to bottom.
    x_label : str
        Label of the x-axis, written at the lowest panels.
    columns : int
        Number of panels in a row.

    Returns
    -------
    matplotlib Axes
        The axes of the first panel.
    """
    with style():
        longest = max(map(len, panels.values()))
        _, axes = _grid(len(panels), columns, 0.6 + 0.17 * longest, share_y=True)
        for panel, (title, bars) in zip(axes, panels.items(), strict=True):
            drawn_as = numbers(bars)
            for place, (name, (value, low, high)) in enumerate(bars.items()):
                panel.barh(
                    place,
                    value,
                    height=0.7,
                    color=look(drawn_as[name])["color"],
                    alpha=0.45,
                    hatch=HATCHES[drawn_as[name] % len(HATCHES)],
                    edgecolor="black",
                    linewidth=0.6,
                )
                panel.plot(
                    [low, high], [place, place], color="black", linewidth=1.4, marker="|", markersize=5
                )
            panel.set_yticks(range(len(bars)), list(bars))
            panel.set_ylim(len(bars) - 0.4, -0.6)
            panel.set_title(title)
        _outer_labels(axes, columns, x_label, "")
    return axes[0]


def _grid(n_panels: int, columns: int, height: float, share_y: bool) -> tuple[Any, list[Any]]:
    """Return a figure and its panels in reading order; unused places of the grid stay empty."""
    lines = -(-n_panels // columns)
    figure, grid = pyplot().subplots(
        lines,
        columns,
        figsize=(_WIDTH * columns, height * lines + 0.5),
        sharex=True,
        sharey=share_y,
        squeeze=False,
    )
    axes = list(grid.flat)
    for empty in axes[n_panels:]:
        empty.set_visible(False)
    return figure, axes[:n_panels]


def _outer_labels(axes: Sequence[Any], columns: int, x_label: str, y_label: str) -> None:
    for number, panel in enumerate(axes):
        if number % columns == 0:
            panel.set_ylabel(y_label)
        if number + columns >= len(axes):  # also above an empty place
            panel.set_xlabel(x_label)
            panel.tick_params(labelbottom=True)


#: The drawn quantity: for policies its value at the last round, for explorers its value when they stop.
Measure = Literal["samples", "failures", "regret", "exact regret", "reward"]
_OF_EXPLORERS = ("samples", "failures")
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
        handles = [_means_and_medians(axes, name, curves[name], look) for name, look in looks(curves).items()]
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
        axes.set_ylabel(_name_of(drawn, every))
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


def _means_and_medians(
    axes: Any, name: str, points: Sequence[tuple[float, _Point]], look: dict[str, Any]
) -> Any:
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


def _name_of(measure: Measure, every: Sequence[Any]) -> str:
    if measure in _OF_EXPLORERS:
        return "Samples until stopping" if measure == "samples" else "Share of wrong answers"
    if measure == "reward":
        return "Expected reward per round"
    lasts = {int(each.rounds[-1]) for each in every}
    after = f"after round {lasts.pop():,}" if len(lasts) == 1 else "after the last round"
    # If all oracles are exact, both kinds of regret are the same.
    is_other = measure == "exact regret" and any(each.alpha * each.beta != 1.0 for each in every)
    return f"{'Exact regret' if is_other else 'Regret'} {after}"
