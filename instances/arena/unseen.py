"""Problems of the arena with a best super arm of arms unlike those that are seen first."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, Literal

import networkx as nx
import numpy as np

from cmab import Environment, LinearOracle
from cmab.arrays import FloatArray
from cmab.run.arena import Problem
from instances.arena.arms import ShrunkCoins
from instances.arena.linear import Rng, shuffled
from instances.arms import SemiBandit
from instances.changing import PiecewiseStationary
from instances.coverage import Coverage
from instances.spreading import IndependentCascade
from oracles import (
    BruteForce,
    GraphicMatroid,
    InfluenceMaximization,
    Knapsack,
    Matching,
    MaxCoverage,
    PartitionMatroid,
    ShortestPath,
    TopK,
)

#: The number of arms of a super arm, and the ends of the interval of their means.
Part = tuple[int, float, float]
Made = tuple[LinearOracle, Environment]


def parts(
    rng: Rng, *, best: Part, others: Part, count: int, sense: Literal["max", "min"] = "max", **outcomes: Any
) -> Made:
    """Draw a choice between one super arm and `count` disjoint others, as routes or bundles."""
    sizes = [best[0]] + [others[0]] * count
    order = rng.permutation(sum(sizes))
    arms = np.split(order, np.cumsum(sizes)[:-1])
    means = np.empty(len(order))
    for which, (_, low, high) in zip(arms, [best] + [others] * count, strict=True):
        means[which] = rng.uniform(low, high, len(which))
    oracle = BruteForce(len(order), [np.sort(which).tolist() for which in arms], sense=sense)
    return oracle, SemiBandit(ShrunkCoins(means, **outcomes), oracle)


def detour(rng: Rng, *, size: int, street: tuple[float, float], bypass: tuple[int, float, float]) -> Made:
    """Draw a street grid with a bypass of cheap segments between its corners."""
    graph, (length, low, high) = nx.grid_2d_graph(size, size), bypass
    stops = [(0, 0), *(("bypass", i) for i in range(length - 1)), (size - 1, size - 1)]
    graph.add_edges_from(itertools.pairwise(stops), cheap=True)
    for edge in graph.edges:
        graph.edges[edge]["cost"] = rng.uniform(*((low, high) if graph.edges[edge].get("cheap") else street))
    # The costs are named by their ends, because the edges are shuffled.
    made, new = shuffled(graph, rng)
    cost = {frozenset((new[a], new[b])): data["cost"] for a, b, data in graph.edges(data=True)}
    means = np.array([cost[frozenset(edge)] for edge in made.edges])
    oracle = ShortestPath(made, new[0, 0], new[size - 1, size - 1])
    return oracle, SemiBandit(ShrunkCoins(means), oracle)


def stages(rng: Rng, *, layers: int, width: int, usual: tuple[float, float], cheap: float) -> Made:
    """Draw the costs of ways through layers of nodes, one of which is cheap in all its steps."""
    graph: nx.DiGraph[Any] = nx.DiGraph()
    levels: list[list[Any]] = [
        [("s", 0)],
        *([(i, j) for j in range(width)] for i in range(layers)),
        [("t", 0)],
    ]
    good = {levels[i][rng.integers(len(levels[i]))] for i in range(layers + 2)}
    for now, then in itertools.pairwise(levels):
        for a in now:
            for b in then:
                graph.add_edge(a, b, cost=cheap if a in good and b in good else rng.uniform(*usual))
    made, new = shuffled(graph, rng)
    back = {number: node for node, number in new.items()}
    means = np.array([graph.edges[back[a], back[b]]["cost"] for a, b in made.edges])
    oracle = ShortestPath(made, new["s", 0], new["t", 0])
    return oracle, SemiBandit(ShrunkCoins(means), oracle)


def heavy(rng: Rng, *, light: int, heavy: int, weight: int, usual: tuple[float, float], good: float) -> Made:
    """Draw a knapsack that holds many light items, or one of a few heavy items, one of which is good."""
    weights = np.repeat([1, weight], [light, heavy])
    means = rng.uniform(*usual, light + heavy)
    means[light] = good
    order = rng.permutation(light + heavy)
    oracle = Knapsack(weights[order], weight)
    return oracle, SemiBandit(ShrunkCoins(means[order]), oracle)


def one_matching(rng: Rng, *, size: int, usual: tuple[float, float], good: float) -> Made:
    """Draw a bipartite matching in which one perfect matching has good edges."""
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(range(2 * size))
    graph.add_edges_from((i, size + j) for i in range(size) for j in range(size))
    made, new = shuffled(graph, rng)
    chosen = {frozenset((new[i], new[size + j])) for i, j in enumerate(rng.permutation(size).tolist())}
    means = np.array([good if frozenset(edge) in chosen else rng.uniform(*usual) for edge in made.edges])
    oracle = Matching(made)
    return oracle, SemiBandit(ShrunkCoins(means), oracle)


def one_tree(rng: Rng, *, n: int, usual: tuple[float, float], cheap: float) -> Made:
    """Draw the costs of spanning trees of a complete graph, in which one tree is cheap."""
    made, _ = shuffled(nx.complete_graph(n), rng)
    order = rng.permutation(n)
    tree = {frozenset((int(order[i]), int(order[rng.integers(i)]))) for i in range(1, n)}
    means = np.array([cheap if frozenset(edge) in tree else rng.uniform(*usual) for edge in made.edges])
    oracle = GraphicMatroid(made, "min")
    return oracle, SemiBandit(ShrunkCoins(means), oracle)


def odd_arms(rng: Rng, *, n: int, k: int, odd: int, usual: tuple[float, float], good: float) -> Made:
    """Draw the k best of n arms, of which a few are much better than all others."""
    means = rng.uniform(*usual, n)
    means[rng.choice(n, odd, replace=False)] = good
    oracle = TopK(n, k)
    return oracle, SemiBandit(ShrunkCoins(means), oracle)


def odd_class(rng: Rng, *, classes: int, size: int, usual: tuple[float, float], good: float) -> Made:
    """Draw the best arm of each class, where one class has a single good arm."""
    oracle = PartitionMatroid(rng.permutation(np.repeat(np.arange(classes), size)).tolist())
    means = rng.uniform(*usual, classes * size)
    means[rng.integers(classes * size)] = good
    return oracle, SemiBandit(ShrunkCoins(means), oracle)


def hubs(rng: Rng, *, hubs: int, fakes: int, weak: Part, strong: Part) -> tuple[nx.Graph[Any], FloatArray]:
    """Return hubs with many weak ties, and people with fewer ties, which are strong for one of them."""
    graph: nx.Graph[Any] = nx.Graph()
    means: list[float] = []
    kinds = [weak] * hubs + [(strong[0], weak[1], weak[2])] * fakes + [strong]
    for i, (ties, low, high) in enumerate(kinds):
        graph.add_edges_from((("l", i), ("r", i, j)) for j in range(ties))
        means.extend(rng.uniform(low, high, ties))
    for node in graph:
        graph.nodes[node]["bipartite"] = 0 if node[0] == "l" else 1
    return graph, np.array(means)


def influencer(rng: Rng, **people: Any) -> tuple[InfluenceMaximization, IndependentCascade]:
    """Draw influence with one seed among `hubs`."""
    graph, means = hubs(rng, **people)
    directed: nx.DiGraph[Any] = nx.DiGraph(list(graph.edges))
    made, new = shuffled(directed, rng)
    back = {(new[a], new[b]): mean for (a, b), mean in zip(graph.edges, means, strict=True)}
    oracle = InfluenceMaximization(made, 1)
    return oracle, IndependentCascade(made, np.array([back[e] for e in made.edges]), k=1, feedback="edge")


def covered_by_one(rng: Rng, **people: Any) -> tuple[MaxCoverage, Coverage]:
    """Draw coverage with one chosen node among `hubs`."""
    graph, means = hubs(rng, **people)
    made, new = shuffled(graph, rng)
    back = {frozenset((new[a], new[b])): mean for (a, b), mean in zip(graph.edges, means, strict=True)}
    environment = Coverage(made, 1, probability=np.array([back[frozenset(e)] for e in made.edges]))
    return environment.oracle, environment


def late(rng: Rng, *, n: int, k: int, odd: int, usual: tuple[float, float], good: float, change: int) -> Made:
    """Draw arms of which the good ones give nothing until they arrive."""
    oracle, means = TopK(n, k), rng.uniform(*usual, n)
    arriving = rng.choice(n, odd, replace=False)
    before = means.copy()
    before[arriving], means[arriving] = 0.0, good
    return oracle, PiecewiseStationary(
        [SemiBandit(ShrunkCoins(p), oracle) for p in (before, means)], [change]
    )


def late_route(rng: Rng, *, change: int) -> Made:
    """Draw ten roads and a motorway that opens after some rounds: until then, it costs the most."""
    order = rng.permutation(13)
    means = np.concatenate([rng.uniform(0.3, 0.6, 10), rng.uniform(0.02, 0.06, 3)])
    before = means.copy()
    before[10:] = 0.9
    arms = [[int(order[i])] for i in range(10)] + [sorted(order[10:].tolist())]
    oracle = BruteForce(13, arms, sense="min")
    placed = [np.empty(13), np.empty(13)]
    for values, part in zip(placed, (before, means), strict=True):
        values[order] = part
    return oracle, PiecewiseStationary([SemiBandit(ShrunkCoins(p), oracle) for p in placed], [change])


_ROUTES = "a route of good segments beside roads that are tried first"
_ITEMS = "one item or bundle beside many of another kind"
_PEOPLE = "one person with strong ties beside hubs with many weak ties"
_LATE = "arms that become good later"


def family(kind: str, source: str, makes: dict[str, Any], rounds: int = 10_000) -> list[Problem]:
    """Return problems of one kind and horizon."""
    return [Problem(name, kind, make, rounds, source) for name, make in makes.items()]


_roads = partial(parts, sense="min")

UNSEEN = [
    *family(
        "path",
        _ROUTES,
        {
            "motorway and 10 roads": partial(_roads, best=(3, 0.02, 0.06), others=(1, 0.25, 0.5), count=10),
            "motorway of 6 and 20 roads": partial(
                _roads, best=(6, 0.01, 0.03), others=(1, 0.25, 0.5), count=20
            ),
            "motorway, low costs": partial(_roads, best=(4, 0.002, 0.004), others=(1, 0.05, 0.08), count=10),
            "train of 5 and 8 roads of 2": partial(
                _roads, best=(5, 0.02, 0.06), others=(2, 0.25, 0.4), count=8
            ),
            "long scenic route": partial(_roads, best=(12, 0.005, 0.02), others=(2, 0.2, 0.4), count=10),
            "motorway, noisy costs": partial(
                _roads, best=(3, 0.05, 0.08), others=(1, 0.25, 0.5), count=10, coupling=0.5
            ),
            "motorway, narrow costs": partial(
                _roads, best=(3, 0.05, 0.08), others=(1, 0.25, 0.5), count=10, spread=0.3
            ),
            "bypass of a 6 x 6 grid": partial(detour, size=6, street=(0.25, 0.5), bypass=(14, 0.02, 0.06)),
            "bypass of an 8 x 8 grid": partial(detour, size=8, street=(0.25, 0.5), bypass=(18, 0.02, 0.06)),
            "short bypass of a 5 x 5 grid": partial(
                detour, size=5, street=(0.1, 0.3), bypass=(10, 0.01, 0.03)
            ),
            "cheap way through 3 layers": partial(stages, layers=3, width=5, usual=(0.3, 0.6), cheap=0.05),
            "cheap way through 5 layers": partial(stages, layers=5, width=4, usual=(0.3, 0.6), cheap=0.05),
        },
    ),
    *family(
        "knapsack",
        _ITEMS,
        {
            "one heavy item": partial(heavy, light=30, heavy=1, weight=5, usual=(0.05, 0.12), good=0.9),
            "one of 5 heavy items": partial(
                heavy, light=30, heavy=5, weight=6, usual=(0.05, 0.12), good=0.95
            ),
            "one of 10 heavy items": partial(
                heavy, light=60, heavy=10, weight=4, usual=(0.05, 0.15), good=0.8
            ),
        },
    ),
    *family(
        "sets",
        _ITEMS,
        {
            "single item or bundles of 5": partial(
                parts, best=(1, 0.9, 0.95), others=(5, 0.08, 0.15), count=12
            ),
            "pair or bundles of 10": partial(parts, best=(2, 0.85, 0.95), others=(10, 0.08, 0.15), count=10),
            "bundle of 5 or of 15": partial(parts, best=(5, 0.7, 0.8), others=(15, 0.1, 0.2), count=8),
            "bundles of 4, coupled": partial(
                parts, best=(2, 0.6, 0.7), others=(4, 0.15, 0.25), count=12, coupling=0.5
            ),
        },
    ),
    *family(
        "matching",
        _ITEMS,
        {
            "one matching of 6 x 6": partial(one_matching, size=6, usual=(0.1, 0.3), good=0.7),
            "one matching of 10 x 10": partial(one_matching, size=10, usual=(0.1, 0.3), good=0.7),
        },
    ),
    *family(
        "tree",
        _ITEMS,
        {
            "one tree of 8 nodes": partial(one_tree, n=8, usual=(0.4, 0.7), cheap=0.05),
            "one tree of 15 nodes": partial(one_tree, n=15, usual=(0.4, 0.7), cheap=0.05),
        },
    ),
    *family(
        "top-k",
        _ITEMS,
        {
            "3 odd arms of 100": partial(odd_arms, n=100, k=3, odd=3, usual=(0.05, 0.15), good=0.8),
            "odd arm in 20 classes": partial(odd_class, classes=20, size=6, usual=(0.05, 0.15), good=0.8),
        },
    ),
    *family(
        "influence",
        _PEOPLE,
        {
            "influencer and 10 hubs": partial(
                influencer, hubs=10, fakes=0, weak=(30, 0.1, 0.25), strong=(10, 0.8, 0.95)
            ),
            "influencer, 5 fakes, 10 hubs": partial(
                influencer, hubs=10, fakes=5, weak=(30, 0.1, 0.25), strong=(10, 0.8, 0.95)
            ),
        },
        rounds=200,
    ),
    *family(
        "coverage",
        _PEOPLE,
        {
            "coverage by one of 11": partial(
                covered_by_one, hubs=10, fakes=0, weak=(30, 0.1, 0.2), strong=(10, 0.8, 0.95)
            ),
        },
    ),
    *family(
        "change",
        _LATE,
        {
            "late good arms, 3 of 60": partial(
                late, n=60, k=3, odd=3, usual=(0.1, 0.2), good=0.8, change=1_000
            ),
            "motorway that opens late": partial(late_route, change=500),
        },
    ),
]
