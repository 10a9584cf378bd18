"""Curves and bars of regret, samples and wrong answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.intervals import band, without_noise
from cmab.plotting.style import add_legend, labelled, look, looks, numbers, pyplot, style

if TYPE_CHECKING:
    from cmab.run.results import Identification, Simulation

# Numbers that differ by this factor or more are drawn on a logarithmic scale.
_FAR_APART = 20.0


def regret_curves(
    results: Mapping[str, Simulation] | Mapping[tuple[str, str], Simulation],
    *,
    level: float = 0.95,
    log: bool = False,
    exact: bool = False,
    ax: Any = None,
) -> Any:
    """Draw the mean cumulative regret of each learner with its confidence band.

    If the results have certificates, a dotted line shows the mean of the bounds that the learner itself
    could prove, and the area between the line and the regret is shaded.

    Parameters
    ----------
    results : mapping of str to Simulation
        The results to draw, one curve per name. A name has the same look in all figures. The results of a
        study, `Study.results`, with keys (instance, learner), are accepted as well.
    level : float
        Confidence level of the band, separately at each round.
    log : bool
        If True, both axes are logarithmic and values at or below 0 are not shown. If there are no positive
        values, the y-axis stays linear.
    exact : bool
        If True, draw the regret against the optimum. If False, draw the (alpha, beta)-approximation regret.
    ax : matplotlib Axes, optional
        Axes to draw on. If omitted, a new figure is created.

    Returns
    -------
    matplotlib Axes
        The axes with the curves. The legend lists the curves in the order of their values at the last round.
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
    axes = curves_with_bands(curves, x_label="Round", y_label=name, level=level, log=log, ax=ax)
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
    level: float = 0.95,
    log: bool = False,
    ax: Any = None,
) -> Any:
    """Draw curves ``name: (x, values)``, with values of shape (R, C), and their bands; return the axes."""
    with style():
        axes = pyplot().figure().add_subplot() if ax is None else ax
        bands = {
            name: band(np.asarray(values, np.float64), level=level) for name, (_, values) in curves.items()
        }
        # On a logarithmic axis, a band that reaches below 0 is drawn down to the lower edge.
        positive = [float(y[y > 0].min(initial=np.inf)) for ends in bands.values() for y in ends]
        lowest = min(positive, default=np.inf)
        floor = lowest / 1.5 if log and np.isfinite(lowest) else -np.inf
        looks = numbers(curves)
        for name, (ends, _) in curves.items():
            (mean, low, high), x, number = bands[name], np.asarray(ends), looks[name]
            grid = np.geomspace(x[0], x[-1], 9) if log else np.linspace(x[0], x[-1], 9)
            # Markers of different curves have different positions, so that they do not hide each other.
            marks = np.searchsorted(x, grid[1:] - (grid[1:] - grid[:-1]) * (number % 5) / 5)
            every = np.unique(marks.clip(0, len(x) - 1)).tolist()
            fill: dict[str, Any] = {"color": look(number)["color"], "alpha": 0.18, "linewidth": 0}
            axes.fill_between(x, np.maximum(low, floor), np.maximum(high, floor), **fill)
            points: dict[str, Any] = {"markevery": every, "markersize": 4, "markerfacecolor": "white"}
            axes.plot(x, mean, label=name, **look(number), **points)
        if log:
            axes.set_xscale("log")
            if np.isfinite(lowest):
                axes.set_yscale("log", nonpositive="mask")
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.margins(x=0.01)
        add_legend(axes, _by_end(axes))
    return axes


def _by_end(axes: Any) -> list[Any]:
    """Return the lines sorted by their last values, so that the legend has the order of the curves."""

    def last(line: Any) -> float:
        values = np.asarray(line.get_ydata(), np.float64)
        values = values[np.isfinite(values)]
        return -values[-1] if values.size else np.inf

    return sorted(axes.get_lines(), key=last)


# Hatches distinguish bars in print and for colour-blind readers.
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "|||", "---")


def sample_bars(
    results: Mapping[str, Identification] | Mapping[tuple[str, str], Identification],
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
            _, low, high = (float(end[0]) for end in band(samples[:, None], level=level))
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


#: The position on the x-axis, the value, and the two ends of its interval.
Point = tuple[float, float, float, float]
_WIDTH, _HEIGHT = 3.3, 2.2


def panels_of_curves(
    panels: Mapping[str, Mapping[str, Sequence[Point]]],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    ax: Any = None,
) -> Any:
    """Draw curves through points with intervals, in one panel or in panels that share their axes.

    Parameters
    ----------
    panels : mapping of str to mapping of str to sequence of (x, value, low, high)
        The panels by title, in reading order, two in a row. Each has its curves by name. A name has one look
        in all panels. Ends that are ``nan`` are not drawn.
    x_label, y_label : str
        Labels of the axes.
    log_x, log_y : bool
        Whether the axis is logarithmic.
    ax : matplotlib Axes, optional
        Axes of a single panel. If omitted, a new figure is created.

    Returns
    -------
    matplotlib Axes
        The axes of the first panel. One legend for all panels is below the figure.
    """
    drawn_as = looks(name for curves in panels.values() for name in curves)
    with style():
        if ax is None:
            columns = min(2, len(panels))
            rows = -(-len(panels) // columns)
            size = (_WIDTH * columns + 1.5 * (columns == 1), _HEIGHT * rows + 0.8)
            figure, grid = pyplot().subplots(
                rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False
            )
            axes = list(grid.flat)
        else:
            figure, axes = ax.figure, [ax]
        for empty in axes[len(panels) :]:
            empty.set_visible(False)
        handles: dict[str, Any] = {}
        for number, (panel, (title, curves)) in enumerate(zip(axes, panels.items(), strict=False)):
            for name, points in curves.items():
                x, value, low, high = np.array(points, np.float64).T
                # Because of rounding, an end may be on the wrong side of its value.
                errors = np.nan_to_num(np.maximum(0.0, (value - low, high - value)))
                look: dict[str, Any] = {"markersize": 4, "markerfacecolor": "white", **drawn_as[name]}
                handles[name] = panel.errorbar(
                    x, value, errors, label=name, capsize=2, elinewidth=0.8, **look
                )
            panel.set_title(title)
            panel.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
            if number % 2 == 0:
                panel.set_ylabel(y_label)
            if number + 2 >= len(panels):  # also above an empty place
                panel.set_xlabel(x_label)
                panel.tick_params(labelbottom=True)
        if ax is None:
            place: dict[str, Any] = {"loc": "outside lower center", "ncols": 2 * columns}
            figure.legend(handles.values(), handles, **place, frameon=False, handlelength=3.2)
        else:
            add_legend(ax, [*handles.values()])
    return axes[0]
