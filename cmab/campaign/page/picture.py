"""The picture of a network, computed on the server, and a chart of the rounds."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx

from cmab.campaign.reports import Round

if TYPE_CHECKING:
    from oracles import DirectedGraph

_MOST_NODES, _MOST_HUBS, _FEW = 120, 8, 30
_WIDTH, _HEIGHT, _EDGE = 720.0, 480.0, 34.0
#: The width of a letter and the height of a line of the labels.
_LETTER, _LINE = 8.0, 17.0


@dataclass(frozen=True)
class Node:
    """A person in the picture: the name, the place, the size and the kind.

    The label has a place and an anchor of its own. Without a label, the name is seen on hover only.
    """

    name: str
    x: float
    y: float
    size: float
    kind: str
    label: tuple[float, float, str] | None = None


@dataclass(frozen=True)
class Picture:
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
    most ties have labels, if there is room.
    """
    whole = _undirected(graph)
    part = whole.subgraph(_nearest(whole, [name for name in asked if name in whole]))
    places = _places(part)
    order = sorted(part, key=lambda name: (name not in asked, -part.degree(name), str(name)))
    n_labels = len(part) if len(part) <= _FEW else sum(name in asked for name in part) + _MOST_HUBS
    taken = [_Box(x - 8, y - 8, x + 8, y + 8) for name, (x, y) in places.items() if name in asked]
    nodes = []
    for at, name in enumerate(order):
        kinds = (("asked", asked), ("joined", joined), ("waiting", waiting))
        kind = next((kind for kind, names in kinds if name in names), "other")
        size = 9.0 if name in asked else 4.0 + min(4.0, 0.5 * part.degree(name))
        x, y = places[name]
        label = None
        if at < n_labels:
            label = _label(str(name), x, y, size, taken, is_needed=name in asked)
        nodes.append(Node(str(name), x, y, size, kind, label))
    ties = [(*places[u], *places[v], u in asked or v in asked) for u, v in part.edges]
    return Picture(nodes[::-1], ties, len(whole) - len(part))


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        apart = self.right < other.left or other.right < self.left
        return not (apart or self.bottom < other.top or other.bottom < self.top)


def _label(
    name: str, x: float, y: float, size: float, taken: list[_Box], *, is_needed: bool
) -> tuple[float, float, str] | None:
    """Return a place for a label that meets no other one: above, below, right or left of the person."""
    wide, gap = _LETTER * min(len(name), 20), size + 4.0
    for left, base, at, anchor in (
        (x - wide / 2, y - gap, x, "middle"),
        (x - wide / 2, y + gap + _LINE - 5, x, "middle"),
        (x + gap, y + 5, x + gap, "start"),
        (x - gap - wide, y + 5, x - gap, "end"),
    ):
        box = _Box(left, base - _LINE + 4, left + wide, base + 4)
        is_inside = box.left >= 0 and box.right <= _WIDTH and box.top >= 0 and box.bottom <= _HEIGHT
        if is_inside and not any(box.meets(other) for other in taken):
            taken.append(box)
            return round(at, 1), round(base, 1), anchor
    if not is_needed:
        return None
    anchor = "start" if x < wide / 2 else "end" if x > _WIDTH - wide / 2 else "middle"
    return x, round(max(y - gap, _LINE), 1), anchor


def _undirected(graph: DirectedGraph) -> nx.Graph[Any]:
    whole: nx.Graph[Any] = nx.Graph()
    labels = [graph.label(node) for node in range(graph.n_nodes)]
    whole.add_nodes_from(labels)
    pairs = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    whole.add_edges_from((labels[u], labels[v]) for u, v in pairs)
    return whole


def _nearest(whole: nx.Graph[Any], first: list[Hashable]) -> list[Hashable]:
    """Return at most 120 people, those nearest to the first ones."""
    if len(whole) <= _MOST_NODES:
        return list(whole)
    found, queue = dict.fromkeys(first), deque(first)
    while queue and len(found) < _MOST_NODES:
        for other in whole[queue.popleft()]:
            if other not in found and len(found) < _MOST_NODES:
                found[other] = None
                queue.append(other)
    return list(found)


def _places(part: nx.Graph[Any]) -> dict[Hashable, tuple[float, float]]:
    """Return the places, which are the same for the same people and ties."""
    if len(part) == 0:
        return {}
    spread = nx.spring_layout(part, seed=7, k=1.6 / math.sqrt(len(part)), iterations=120)
    names = list(spread)
    xs, ys = (_even([float(place[axis]) for place in spread.values()]) for axis in (0, 1))
    return {
        name: (
            round(_EDGE + xs[at] * (_WIDTH - 2 * _EDGE), 1),
            round(_EDGE + ys[at] * (_HEIGHT - 2 * _EDGE), 1),
        )
        for at, name in enumerate(names)
    }


def _even(values: list[float]) -> list[float]:
    """Return values between 0 and 1, half by their size and half by their rank, so that no corner is full."""
    low, high, n = min(values), max(values), len(values)
    ranks = {at: rank for rank, at in enumerate(sorted(range(n), key=values.__getitem__))}
    return [
        0.5 if high - low < 1e-9 else 0.5 * (value - low) / (high - low) + 0.5 * ranks[at] / (n - 1)
        for at, value in enumerate(values)
    ]


@dataclass(frozen=True)
class Bar:
    """A bar of the chart of rounds: its round, its place and size, and its number."""

    number: int
    x: float
    y: float
    width: float
    height: float
    asked: float
    label: str


@dataclass(frozen=True)
class Chart:
    """The bars of the rounds, and the lines of the scale."""

    bars: list[Bar]
    lines: list[tuple[float, str]]
    width: float = 720.0
    height: float = 220.0


def chart_of(rounds: Sequence[Round], *, is_network: bool) -> Chart | None:
    """Return the chart of the reported rounds with a number, the last 30 of them; None without any."""
    told = [of for of in rounds if of.state == "reported" and not math.isnan(of.count)][-30:]
    if not told:
        return None
    left, top, low = 40.0, 28.0, 190.0
    most = _round_up(max(1.0, *(of.count for of in told)))
    step = (720.0 - left - 8.0) / max(len(told), 6)
    bars = []
    for at, of in enumerate(told):
        height = (low - top) * of.count / most
        asked = (low - top) * len(of.names) / most if is_network else 0.0
        bars.append(
            Bar(
                of.number,
                round(left + at * step + 0.15 * step, 1),
                round(low - height, 1),
                round(0.7 * step, 1),
                round(height, 1),
                round(min(asked, height), 1),
                f"{of.count:g}",
            )
        )
    lines = [(round(low - (low - top) * share, 1), f"{most * share:g}") for share in (0.0, 0.5, 1.0)]
    return Chart(bars, lines)


def _round_up(value: float) -> float:
    """Return the next number of the form 1, 2, 4, 5, 6, 8 or 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * factor for factor in (1, 2, 4, 5, 6, 8, 10) if power * factor >= value - 1e-9)
