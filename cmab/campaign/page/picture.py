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
#: The size of a person who was asked, and the width of a letter in units of its font.
_ASKED, _LETTER = 9.0, 0.6
#: The fonts of the names of people who were asked, which is that of a phone, and of others (page.css).
_LARGE, _SMALL = 24.0, 13.0
#: As many people count as much as a label.
_MEET = 1000
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
    """The people and the ties of a picture, and how many people are not shown, of them those without ties."""

    nodes: list[Node]
    ties: list[tuple[float, float, float, float, bool]]
    hidden: int
    alone: int
    width: float = _WIDTH
    height: float = _HEIGHT


def picture_of(
    graph: DirectedGraph,
    asked: Collection[Hashable],
    joined: Collection[Hashable],
    waiting: Collection[Hashable] = (),
) -> Picture:
    """Return the picture of a network: the people asked, those that ever joined, and those without a report.

    People without ties are shown only if they were asked. Of a large network, the people asked and those
    nearest to them are shown. The people asked and a few with most ties have names that are shown, if there
    is room.
    """
    whole: nx.Graph[Any] = nx.Graph()
    labels = [graph.label(node) for node in range(graph.n_nodes)]
    whole.add_nodes_from(labels)
    whole.add_edges_from(
        (labels[u], labels[v]) for u, v in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    )
    kept = [name for name in whole if name in asked or whole.degree(name)]
    alone = len(whole) - len(kept)
    if len(kept) > _MOST_NODES:
        near = nx.multi_source_dijkstra_path_length(whole, [name for name in asked if name in whole])
        kept = list(near)[:_MOST_NODES]  # the nearest come first
    part: nx.Graph[Any] = nx.Graph()  # in this order, which decides the places
    part.add_nodes_from(kept)
    part.add_edges_from(whole.subgraph(kept).edges)
    places = _places(part)
    order = sorted(part, key=lambda name: (name not in asked, -part.degree(name), str(name)))
    n_labels = len(part) if len(part) <= _FEW else sum(name in asked for name in part) + _MOST_HUBS
    taken: list[Box] = []
    dots = [(x - 5, y - 5, x + 5, y + 5) for x, y in places.values()]
    nodes = []
    for at, name in enumerate(order):
        kinds = [kind for kind, names in (("joined", joined), ("waiting", waiting)) if name in names]
        kind = "asked" if name in asked else " ".join(kinds) or "other"
        size = _ASKED if name in asked else 4.0 + min(4.0, 0.5 * part.degree(name))
        x, y = places[name]
        covered, label, box = _label(str(name), x, y, size, taken, dots)
        # The name of a person who was asked may cover other people, but no other name.
        is_shown = at < n_labels and covered < (_MEET if name in asked else 1)
        taken += [box] * is_shown
        nodes.append(Node(str(name), x, y, size, kind, label, is_shown))
    ties = [(*places[u], *places[v], u in asked or v in asked) for u, v in part.edges]
    return Picture(nodes[::-1], ties, len(whole) - len(part), alone)


def _label(
    name: str, x: float, y: float, size: float, labels: list[Box], dots: list[Box]
) -> tuple[int, tuple[float, float, str], Box]:
    """Return how much a label covers at its best place, the place, and its box.

    The places are above, below, beside and at the corners of a person. A label that covers another one, or
    leaves the picture, counts as much as many people.
    """
    font = _LARGE if size == _ASKED else _SMALL
    wide, gap = _LETTER * font * min(len(name), 20), size + 4.0
    found = []
    for right, down in ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1)):
        at = x + right * (gap / 2 if down else gap)
        base = y + (0.35 * font, gap + 0.75 * font, -gap)[down]
        left = at - wide * (0.5, 0.0, 1.0)[right]
        box = left, base - 0.75 * font, left + wide, base + 0.25 * font
        is_inside = box[0] >= 0 and box[1] >= 0 and box[2] <= _WIDTH and box[3] <= _HEIGHT
        covered = _MEET * (_met(box, labels) + (not is_inside)) + _met(box, dots)
        found.append((covered, (round(at, 1), round(base, 1), ("middle", "start", "end")[right]), box))
    return min(found, key=lambda place: place[0])


def _met(box: Box, others: list[Box]) -> int:
    """Return how many other boxes a box meets."""
    left, top, right, bottom = box
    return sum(left < x and u < right and top < y and v < bottom for u, v, x, y in others)


def _places(part: nx.Graph[Any]) -> dict[Hashable, tuple[float, float]]:
    """Return the places, which are the same for the same people and ties."""
    spread = nx.spring_layout(part, seed=7, k=1.6 / math.sqrt(len(part)), iterations=120)
    found = np.array([[*place] for place in spread.values()])
    # Half by the place and half by its rank, so that no corner is full.
    share = (found - found.min(axis=0)) / np.maximum(np.ptp(found, axis=0), 1e-9)
    share += (rankdata(found, "ordinal", axis=0) - 1) / max(1, len(found) - 1)
    xs, ys = (_EDGE + share / 2 * (np.array([_WIDTH, _HEIGHT]) - 2 * _EDGE)).round(1).T.tolist()
    return dict(zip(spread, zip(xs, ys, strict=True), strict=True))
