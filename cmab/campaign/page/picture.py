"""The picture of a network, computed on the server, and a chart of the rounds."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx

from cmab.campaign.reports import Round

if TYPE_CHECKING:
    from oracles import DirectedGraph

_MOST_NODES, _MOST_LABELS = 120, 45
_WIDTH, _HEIGHT, _EDGE = 720.0, 460.0, 34.0


@dataclass(frozen=True)
class Node:
    """A person in the picture: the name, the place, the size, the kind, and whether the name is written."""

    name: str
    x: float
    y: float
    size: float
    kind: str
    is_named: bool
    is_near: bool


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

    Of a large network, the people asked and those nearest to them are shown.
    """
    whole = _undirected(graph)
    shown = _nearest(whole, [name for name in asked if name in whole])
    part = whole.subgraph(shown)
    places = _places(part)
    busy = sorted(part, key=lambda name: (name not in asked, -part.degree(name)))
    named = {*busy[:_MOST_LABELS]} if len(part) > _MOST_LABELS else {*part}
    nodes = [
        Node(
            str(name),
            *places[name],
            9.0 if name in asked else 4.0 + min(4.0, 0.5 * part.degree(name)),
            "asked"
            if name in asked
            else "joined"
            if name in joined
            else "waiting"
            if name in waiting
            else "other",
            name in named,
            any(other in asked for other in part[name]),
        )
        for name in part
    ]
    ties = [(*places[u], *places[v], u in asked or v in asked) for u, v in part.edges]
    order = {"other": 0, "waiting": 1, "joined": 2, "asked": 3}
    nodes.sort(key=lambda node: order[node.kind])
    return Picture(nodes, ties, len(whole) - len(part))


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
    xs, ys = [float(x) for x, _ in spread.values()], [float(y) for _, y in spread.values()]

    def scaled(value: float, ends: Sequence[float], length: float) -> float:
        low, high = min(ends), max(ends)
        share = 0.5 if high - low < 1e-9 else (value - low) / (high - low)
        return round(_EDGE + share * (length - 2 * _EDGE), 1)

    return {
        name: (scaled(float(x), xs, _WIDTH), scaled(float(y), ys, _HEIGHT)) for name, (x, y) in spread.items()
    }


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
