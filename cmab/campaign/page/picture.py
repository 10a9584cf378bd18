"""The picture of a network, computed on the server."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
from scipy.stats import rankdata

if TYPE_CHECKING:
    from oracles import DirectedGraph

_MOST_NODES, _MOST_HUBS, _FEW = 120, 8, 30
_WIDTH, _HEIGHT, _EDGE = 720.0, 480.0, 34.0
#: The size of a person who was asked, the width of a letter in units of its font, and the height of a line.
_ASKED, _LETTER, _LINE = 9.0, 0.7, 17.0
#: The left, top, right and bottom of a box.
Box = tuple[float, float, float, float]


class Node(NamedTuple):
    """A person in the picture: the name, the place, the size, the kind, and the place and anchor of the name.

    A name that is not shown is seen if the reader points at the person or taps it.
    """

    name: str
    x: float
    y: float
    size: float
    kind: str
    label: tuple[float, float, str]
    is_shown: bool


class Picture(NamedTuple):
    """The people and the ties of a picture, and how many people are not shown."""

    nodes: list[Node]
    ties: list[tuple[float, float, float, float, bool]]
    hidden: int
    width: float = _WIDTH
    height: float = _HEIGHT


def picture_of(
    graph: DirectedGraph,
    asked: Collection[Hashable],
    joined: Collection[Hashable],
    waiting: Collection[Hashable] = (),
) -> Picture:
    """Return the picture of a network: the people asked, those that ever joined, and those without a report.

    Of a large network, the people asked and those nearest to them are shown. The people asked and a few with
    most ties have names that are shown, if there is room.
    """
    whole: nx.Graph[Any] = nx.Graph()
    labels = [graph.label(node) for node in range(graph.n_nodes)]
    whole.add_nodes_from(labels)
    whole.add_edges_from(
        (labels[u], labels[v]) for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    )
    part = whole
    if len(whole) > _MOST_NODES:
        near = nx.multi_source_dijkstra_path_length(whole, {name for name in asked if name in whole})
        part = whole.subgraph(list(near)[:_MOST_NODES])  # the nearest come first
    places = _places(part)
    order = sorted(part, key=lambda name: (name not in asked, -part.degree(name), str(name)))
    n_labels = len(part) if len(part) <= _FEW else sum(name in asked for name in part) + _MOST_HUBS
    taken: list[Box] = []
    people = [(x - 8, y - 8, x + 8, y + 8) for name, (x, y) in places.items() if name in asked]
    nodes = []
    for at, name in enumerate(order):
        kinds = (("asked", asked), ("joined", joined), ("waiting", waiting))
        kind = next((kind for kind, names in kinds if name in names), "other")
        size = _ASKED if name in asked else 4.0 + min(4.0, 0.5 * part.degree(name))
        x, y = places[name]
        found = _label(str(name), x, y, size, [*taken, *people]) if at < n_labels else None
        if found is None and name in asked:  # it may cover people, but no other label
            found = _label(str(name), x, y, size, taken)
        taken += [found[1]] if found else []
        label, _ = found or _label(str(name), x, y, size, []) or ((x, y, "middle"), None)
        nodes.append(Node(str(name), x, y, size, kind, label, found is not None))
    ties = [(*places[u], *places[v], u in asked or v in asked) for u, v in part.edges]
    return Picture(nodes[::-1], ties, len(whole) - len(part))


def _label(
    name: str, x: float, y: float, size: float, taken: list[Box]
) -> tuple[tuple[float, float, str], Box] | None:
    """Return a place for a label that meets no taken one: above, below, beside or at a corner."""
    # The names of the people asked are larger and bold (page.css).
    wide, gap = _LETTER * (15 if size == _ASKED else 13) * min(len(name), 20), size + 4.0
    for right, down in ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1)):
        at = x + right * (gap / 2 if down else gap)
        base = y + (5, gap + _LINE - 5, -gap)[down]
        left = at - wide * (0.5, 0.0, 1.0)[right]
        box = left, base - _LINE + 4, left + wide, base + 4
        is_inside = box[0] >= 0 and box[1] >= 0 and box[2] <= _WIDTH and box[3] <= _HEIGHT
        is_free = all(
            box[2] < other[0] or other[2] < box[0] or box[3] < other[1] or other[3] < box[1]
            for other in taken
        )
        if is_inside and is_free:
            return (round(at, 1), round(base, 1), ("middle", "start", "end")[right]), box
    return None


def _places(part: nx.Graph[Any]) -> dict[Hashable, tuple[float, float]]:
    """Return the places, which are the same for the same people and ties."""
    spread = nx.spring_layout(part, seed=7, k=1.6 / math.sqrt(len(part)), iterations=120)
    found = np.array([[*place] for place in spread.values()])
    # Half by the place and half by its rank, so that no corner is full.
    share = (found - found.min(axis=0)) / np.maximum(np.ptp(found, axis=0), 1e-9)
    share += (rankdata(found, "ordinal", axis=0) - 1) / (len(found) - 1)
    xs, ys = (_EDGE + share / 2 * (np.array([_WIDTH, _HEIGHT]) - 2 * _EDGE)).round(1).T.tolist()
    return dict(zip(spread, zip(xs, ys, strict=True), strict=True))
