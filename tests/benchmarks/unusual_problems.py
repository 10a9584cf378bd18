"""Unusual problems for the learner to begin with, in a table as that of the arena.

The best super arm is unlike those that are seen first, there are more arms than rounds, most arms are never
used, means jump, or large outcomes are rare.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np

from cmab import Environment, LinearOracle
from cmab.arrays import FloatArray
from instances.arena import linear, problems
from instances.arena.linear import Rng, ShrunkCoins, seed_of, shuffled, uniform
from instances.arms import BernoulliArms, EmpiricalArms, SemiBandit
from instances.coverage import Coverage
from instances.rounds import PiecewiseStationary
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


def used_part(rng: Rng, *, n: int, k: int, unused: int, means: Any = uniform) -> Made:
    """Draw the k best of n arms, beside arms that are too heavy to be chosen."""
    weights = np.repeat([1, k + 1], [n, unused])
    order = rng.permutation(n + unused)
    oracle = Knapsack(weights[order], k)
    return oracle, SemiBandit(BernoulliArms(means(rng, n + unused)), oracle)


def routes_in_a_city(rng: Rng, *, n: int, routes: int) -> Made:
    """Draw roads between two places of a graph with many other streets, on which there is no route."""
    graph: nx.Graph[Any] = nx.gnm_random_graph(n, 4 * n, seed=seed_of(rng))
    for i in range(routes):
        graph.add_edge("s", ("road", i), road=True)
        graph.add_edge(("road", i), "t", road=True)
    graph.add_edge("t", 0)
    made, new = shuffled(graph, rng)
    costs = uniform(rng, made.number_of_edges(), 0.3, 0.7)
    oracle = ShortestPath(made, new["s"], new["t"])
    return oracle, SemiBandit(BernoulliArms(costs), oracle)


def rare_large(
    rng: Rng, *, n: int, k: int, good: int, chance: float, usual: float, safe: tuple[float, float]
) -> Made:
    """Draw the k best of n arms, of which a few pay little and, rarely, 1."""
    rows = [np.repeat([usual, 1.0], [round(1.0 / chance) - 1, 1]) for _ in range(good)]
    rows += [np.full(round(1.0 / chance), rng.uniform(*safe)) for _ in range(n - good)]
    outcomes = [rows[i].tolist() for i in rng.permutation(n)]
    oracle = TopK(n, k)
    return oracle, SemiBandit(EmpiricalArms(outcomes, (0.0, 1.0)), oracle)


def flyers(rng: Rng, *, places: int, people: int, k: int) -> tuple[MaxCoverage, Coverage]:
    """Draw coverage of people by places, each of which reaches one in twenty people with small chances."""
    graph: nx.Graph[Any] = nx.Graph()
    for i in range(places):
        graph.add_node(i, bipartite=0)
    for j in range(people):
        graph.add_node(places + j, bipartite=1)
        graph.add_edges_from((i, places + j) for i in np.flatnonzero(rng.random(places) < 0.05).tolist())
    made, _ = shuffled(graph, rng)
    environment = Coverage(made, k, probability=rng.beta(1.0, 4.0, made.number_of_edges()))
    return environment.oracle, environment


def jumping_sets(rng: Rng, *, count: int, size: int, change: int) -> Made:
    """Draw disjoint sets of arms, where another set becomes the best one after some rounds."""
    arms = rng.permutation(count * size).reshape(count, size)
    oracle = BruteForce(count * size, [np.sort(part).tolist() for part in arms])
    first, second = rng.choice(count, 2, replace=False)
    means = [np.full(count * size, 0.5), np.full(count * size, 0.5)]
    means[0][arms[first]] = 0.7
    means[1][arms[second]] = 0.7
    return oracle, PiecewiseStationary([SemiBandit(BernoulliArms(p), oracle) for p in means], [change])


#: All unusual problems by name.
UNUSUAL = problems.read_problems(
    Path(__file__).with_suffix(".jsonl"), vars(linear) | vars(problems) | globals()
)
