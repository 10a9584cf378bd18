"""Curves of regret, and learned means against true means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.intervals import Band, band, without_noise
from cmab.plotting._legends import Legend, add_legend
from cmab.plotting._looks import numbers
from cmab.plotting._needs import Played
from cmab.plotting._style import labelled, look, pyplot, style

# Numbers of observations are coloured on a logarithmic scale if they differ by this factor or more.
_FAR_APART = 10


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
    # Written as mathematics, because fonts such as Computer Modern have no Greek letters in plain text.
    name = "Cumulative regret" if exact else r"Cumulative $(\alpha, \beta)$-regret"
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
