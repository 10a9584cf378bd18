"""Figures with several panels: points with intervals; a name has the same look in all panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cmab.plotting._exploration import HATCHES
from cmab.plotting._looks import looks, numbers
from cmab.plotting._style import look, pyplot, style

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
        _label(axes, columns, x_label, y_label)
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
        _label(axes, columns, x_label, "")
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


def _label(axes: Sequence[Any], columns: int, x_label: str, y_label: str) -> None:
    for number, panel in enumerate(axes):
        if number % columns == 0:
            panel.set_ylabel(y_label)
        if number + columns >= len(axes):  # also above an empty place
            panel.set_xlabel(x_label)
            panel.tick_params(labelbottom=True)
