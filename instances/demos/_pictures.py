"""Pictures of super arms in the demos on small graphs and lists."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.plotting import draw_graph, pyplot, style

if TYPE_CHECKING:
    import networkx as nx

Edge = tuple[Hashable, Hashable]
# Distance in points between a node and its name, and the width of an edge with mean 1.
_GAP = 6
_WIDEST = 3.0


def draw_two_columns(
    graph: nx.Graph[Any], columns: Sequence[Sequence[Hashable]], means: FloatArray, title: str, **groups: Any
) -> Any:
    """Draw a bipartite graph with one column per side, names outside, and edges as wide as their means."""
    heights = [np.linspace(1.0, 0.0, len(column)) if len(column) > 1 else [0.5] for column in columns]
    places = {
        node: (0.9 * x, height)
        for x, (column, ys) in enumerate(zip(columns, heights, strict=True))
        for node, height in zip(column, ys, strict=True)
    }
    with style():
        axes = pyplot().figure(figsize=(5.6, 5.0)).add_subplot()
        draw_graph(graph, places, title=title, ax=axes, **groups)
        axes.set_aspect("auto")
        axes.margins(0.32, 0.03)
        _colour_edges(axes, graph, places, means, "True probability that a pair succeeds")
        for column, side, shift in zip(columns, ("right", "left"), (-_GAP, _GAP), strict=True):
            for node in column:
                axes.annotate(
                    str(node),
                    places[node],
                    (shift, 0),
                    textcoords="offset points",
                    ha=side,
                    va="center",
                    fontsize=7,
                )
    return axes


def draw_streets(
    graph: nx.Graph[Any], places: Any, means: FloatArray, label: str, title: str, **groups: Any
) -> Any:
    """Draw a graph with its edges coloured by their means, and a colour bar."""
    with style():
        axes = pyplot().figure(figsize=(5.4, 4.6)).add_subplot()
        draw_graph(graph, places, title=title, ax=axes, **groups)
        _colour_edges(axes, graph, places, means, label)
    return axes


def draw_ranked(rates: FloatArray, chosen: IntArray, unit: str, title: str) -> Any:
    """Draw the true means of the arms as bars in decreasing order, with the chosen arms coloured."""
    order = np.argsort(-rates, kind="stable")
    is_chosen = np.isin(order, chosen)
    with style():
        axes = pyplot().figure(figsize=(5.2, 3.0)).add_subplot()
        ranks = np.arange(1, len(rates) + 1)
        groups: Sequence[tuple[Any, str, str]] = (
            (~is_chosen, "0.8", "Others"),
            (is_chosen, "#D55E00", "Chosen"),
        )
        for group, colour, name in groups:
            axes.bar(ranks[group], rates[order][group], color=colour, label=name, width=0.8)
        axes.axvline(len(chosen) + 0.5, color="0.4", linewidth=0.8, linestyle="--")
        axes.set_xlabel("Rank by true mean (the best arms are left of the line)")
        axes.set_ylabel(unit)
        axes.set_title(title, loc="left")
        axes.legend(frameon=False)
    return axes


def draw_worth(
    x: FloatArray, y: FloatArray, chosen: IntArray, best: IntArray, *, word: str, title: str, **labels: str
) -> Any:
    """Draw arms as points, coloured by whether they are in the chosen and in the best super arm."""
    taken, wanted = (np.isin(np.arange(len(x)), arms) for arms in (chosen, best))
    groups = (
        (~taken & ~wanted, "0.8", "Others"),
        (taken & wanted, "#0072B2", f"{word}, as in the best"),
        (taken & ~wanted, "#D55E00", f"{word} instead"),
        (wanted & ~taken, "#009E73", "In the best only"),
    )
    with style():
        axes = pyplot().figure(figsize=(5.4, 4.2)).add_subplot()
        for group, colour, name in groups:
            axes.scatter(x[group], y[group], color=colour, label=name, s=25)
        axes.set(**labels)
        axes.set_title(title, loc="left")
        axes.figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return axes


def apart(chosen: Collection[Edge], best: Collection[Edge]) -> dict[str, list[Edge]]:
    """Return three groups of edges by name: in both super arms, only in the chosen, only in the best."""
    wanted, taken = ({frozenset(edge) for edge in edges} for edges in (best, chosen))
    return {
        "Chosen, as in the best": [edge for edge in chosen if frozenset(edge) in wanted],
        "Chosen instead": [edge for edge in chosen if frozenset(edge) not in wanted],
        "In the best only": [edge for edge in best if frozenset(edge) not in taken],
    }


def _colour_edges(axes: Any, graph: nx.Graph[Any], places: Any, means: FloatArray, label: str) -> None:
    from matplotlib.collections import LineCollection

    lines = LineCollection(
        [(places[u], places[v]) for u, v in graph.edges()],
        array=means,
        cmap="Greys",
        linewidths=0.4 + _WIDEST * means,
        zorder=1.5,  # above the grey edges of the graph, below the chosen edges
    )
    lines.set_clim(0.0, 1.0)
    axes.add_collection(lines)
    axes.figure.colorbar(lines, ax=axes, label=label, pad=0.02, shrink=0.7)
