"""Drawings of graphs."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.plotting.style import COLOURS, pyplot, style

if TYPE_CHECKING:
    import networkx as nx


Positions = Mapping[Hashable, Any]
# Largest number of nodes of a component that Kamada and Kawai's cubic algorithm lays out.
_DETAILED = 120
_NODE_MARKERS = ("s", "o", "^")
_EDGE_DASHES = ("-", "--", ":")
# In points: size of names, distance from their nodes, width of the picture. Then the possible sides of a
# name.
_SIZE_OF_NAMES, _GAP, _WIDTH_OF_PICTURE = 7.5, 3.0, 290.0
_SIDES = ((1, 1), (1, 0), (0, 1), (1, -1), (-1, 0), (-1, 1), (0, -1), (-1, -1))


def layout(graph: nx.Graph[Any], *, rng: int = 0) -> Positions:
    """Return a position in the plane for every node, the same in every call.

    Pass the positions to every `draw_graph` of a series, so that nodes do not move between the frames.

    Parameters
    ----------
    graph : networkx graph
        A graph of up to some thousand nodes. Every component is laid out separately, and the components are
        packed side by side.
    rng : int
        Seed of the layout of large components.

    Returns
    -------
    mapping of node to array of shape (2,)
        The position of each node.
    """
    import networkx as nx

    # Directions and parallel edges do not matter for the layout.
    flat: nx.Graph[Any] = nx.Graph(graph)
    parts = sorted(nx.connected_components(flat), key=len, reverse=True)
    places: dict[Hashable, Any] = {}
    x, y, height, width = 0.0, 0.0, 0.0, 1.6 * np.sqrt(sum(len(part) for part in parts))
    for part in parts:
        # In the order of the graph, because sets of names have a different order in every process.
        piece: nx.Graph[Any] = nx.Graph()
        piece.add_nodes_from(node for node in flat if node in part)
        piece.add_edges_from((u, v) for u, v in flat.edges() if u in part)
        side = max(0.9, np.sqrt(len(part)))
        # Components are placed in rows, the largest first, each in a square that fits its number of nodes.
        if x + side > width and x > 0:
            x, y, height = 0.0, y - height, 0.0
        for node, place in _unit_layout(piece, rng).items():
            places[node] = np.array([x, y - side]) + side * (0.08 + 0.84 * place)
        x, height = x + side, max(height, side)
    return places


def _unit_layout(piece: nx.Graph[Any], rng: int) -> dict[Hashable, Any]:
    """Return positions in the unit square."""
    import networkx as nx

    if len(piece) == 1:
        return dict.fromkeys(piece, np.array([0.5, 0.5]))
    if len(piece) <= _DETAILED:
        places = nx.kamada_kawai_layout(piece, weight=None, pos=nx.circular_layout(piece))
    else:
        places = nx.spring_layout(piece, seed=rng, weight=None)
    spots = np.array([places[node] for node in piece])
    low, extent = spots.min(axis=0), max(1e-9, float(np.ptp(spots, axis=0).max()))
    spots = (spots - low) / extent
    spots += (1 - spots.max(axis=0)) / 2
    return dict(zip(piece, spots, strict=True))


def draw_graph(
    graph: nx.Graph[Any],
    positions: Positions | None = None,
    *,
    nodes: Mapping[str, Collection[Hashable]] | None = None,
    edges: Mapping[str, Collection[tuple[Hashable, Hashable]]] | None = None,
    labels: Collection[Hashable] | Mapping[Hashable, str] = (),
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw a graph with groups of nodes and edges marked, such as a matching, a path, or seeds and a cascade.

    Parameters
    ----------
    graph : networkx graph
        The graph, drawn in grey.
    positions : mapping, optional
        The positions of the nodes. If omitted, `layout` computes them.
    nodes, edges : mapping of str to collection, optional
        Up to three groups each, with the names that the legend shows. A node in several groups is drawn as a
        member of the first.
    labels : collection of nodes, or mapping of node to str
        Nodes with their names written next to them, in bold.
    title : str
        Title above the picture.
    ax : matplotlib Axes, optional
        Axes to draw on. If omitted, a new figure is created.

    Returns
    -------
    matplotlib Axes
        The axes with the picture.
    """
    places = layout(graph) if positions is None else positions
    with style():
        axes = pyplot().figure(figsize=(4.8, 4.2)).add_subplot() if ax is None else ax
        size = float(np.clip(900 / max(1, len(graph)), 4, 60))
        _lines(axes, graph.edges(), places, color="0.8", linewidth=0.6, zorder=1)
        for number, (name, chosen) in enumerate((edges or {}).items()):
            _lines(
                axes,
                chosen,
                places,
                color=COLOURS[number],
                linestyle=_EDGE_DASHES[number],
                linewidth=1.6,
                zorder=2,
                label=name,
            )
        drawn: set[Hashable] = set()
        for number, (name, group) in enumerate((nodes or {}).items()):
            # A node in several groups has the look of the first: a seed is not drawn as reached.
            rest = [node for node in group if node not in drawn]
            drawn.update(rest)
            _points(
                axes,
                rest,
                places,
                s=size * (2.2 if number == 0 else 1.3),
                color=COLOURS[(1, 5, 6)[number]],
                marker=_NODE_MARKERS[number],
                edgecolors="black",
                linewidths=0.6,
                zorder=5 - number,
                label=name,
            )
        others = [node for node in graph if node not in drawn]
        _points(axes, others, places, s=size, color="white", edgecolors="0.45", linewidths=0.6, zorder=2.5)
        _names(axes, labels, places, [edge[:2] for group in (edges or {}).values() for edge in group])
        axes.set_aspect("equal")
        axes.set_axis_off()
        axes.margins(0.04)
        axes.set_title(title, parse_math=False)
        if nodes or edges:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3, frameon=False)
    return axes


def _lines(axes: Any, edges: Any, places: Positions, **look: Any) -> None:
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection([(places[u], places[v]) for u, v, *_ in edges], **look))


def _points(axes: Any, group: Collection[Hashable], places: Positions, **look: Any) -> None:
    if group:
        axes.scatter(*np.array([places[node] for node in group]).T, **look)


def _names(
    axes: Any,
    labels: Collection[Hashable] | Mapping[Hashable, str],
    places: Positions,
    edges: Iterable[tuple[Hashable, Hashable]],
) -> None:
    """Write each name on the side of its node (beside, above, below or diagonal) where it covers least."""
    from matplotlib.patheffects import withStroke

    taken = _points_of(places, edges)
    extent = max(1e-9, float(np.ptp(taken, axis=0).max())) if len(taken) else 1.0
    # Approximate length in points of the longer side of the picture, which is laid out only when it is drawn.
    scale = _WIDTH_OF_PICTURE / extent
    for node in labels:
        text = labels[node] if isinstance(labels, Mapping) else str(node)
        half = np.array([0.31 * len(text) + 0.2, 0.6]) * _SIZE_OF_NAMES
        around = (taken - np.asarray(places[node], np.float64)) * scale
        shifts = [np.array(side) * (half + _GAP) for side in _SIDES]
        covered = [(np.abs(around - shift) < half).all(axis=1).sum() for shift in shifts]
        axes.annotate(
            text,
            places[node],
            shifts[int(np.argmin(covered))],
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=_SIZE_OF_NAMES,
            fontweight="bold",
            zorder=9,
            parse_math=False,  # names of the user may contain dollar signs
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )


def _points_of(places: Positions, edges: Iterable[tuple[Hashable, Hashable]]) -> FloatArray:
    """Return the positions of the nodes and of points along the marked edges."""
    along = np.linspace(0.0, 1.0, 20)[:, None]
    lines = [
        (1 - along) * np.asarray(places[u], np.float64) + along * np.asarray(places[v], np.float64)
        for u, v in edges
    ]
    return np.concatenate([np.array(list(places.values()), np.float64).reshape(-1, 2), *lines])
