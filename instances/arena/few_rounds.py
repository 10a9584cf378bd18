"""Problems of the arena: more arms than rounds, unused arms, jumps of the means, rare large outcomes."""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from cmab import Environment, LinearOracle
from cmab.run.arena import Problem
from instances.arena.linear import (
    Rng,
    knapsack,
    matching,
    random_tree,
    seed_of,
    shuffled,
    skewed,
    top_k,
    uniform,
)
from instances.arms import BernoulliArms, EmpiricalArms, SemiBandit
from instances.changing import PiecewiseStationary
from instances.coverage import Coverage
from oracles import BruteForce, Knapsack, MaxCoverage, ShortestPath, TopK

Made = tuple[LinearOracle, Environment]


def used_part(rng: Rng, *, n: int, k: int, unused: int, means: Any = uniform) -> Made:
    """Draw the k best of n arms, beside arms that are too heavy to be chosen."""
    weights = np.repeat([1, k + 1], [n, unused])
    order = rng.permutation(n + unused)
    oracle = Knapsack(weights[order], k)
    return oracle, SemiBandit(BernoulliArms(means(rng, n + unused)), oracle)


def routes_in_a_city(rng: Rng, *, n: int, routes: int) -> Made:
    """Draw roads between two places of a graph with many other streets, on which no route lies."""
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


def jumps(rng: Rng, *, n: int, k: int, changes: tuple[int, ...]) -> Made:
    """Draw means that jump after given rounds."""
    oracle = TopK(n, k)
    parts = [SemiBandit(BernoulliArms(rng.random(n)), oracle) for _ in range(len(changes) + 1)]
    return oracle, PiecewiseStationary(parts, changes)


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


_MANY = "many arms and few rounds"
_PART = "sets that use a small part of the arms"
_JUMP = "Garivier and Moulines (ALT 2011): means that change"
_RARE = "large outcomes that are rare"
_rare = partial(skewed, a=1.0, b=19.0)
_low = partial(uniform, low=0.0, high=0.3)

FEW_ROUNDS = [
    Problem("top 10 of 1,000, 400 rounds", "top-k", partial(top_k, n=1_000, k=10), 400, _MANY),
    Problem("top 100 of 10,000, 200 rounds", "top-k", partial(top_k, n=10_000, k=100), 200, _MANY),
    Problem("best of 300, 800 rounds", "top-k", partial(top_k, n=300, k=1), 800, _MANY),
    Problem("top 20 of 3,000, rare", "top-k", partial(top_k, n=3_000, k=20, means=_rare), 300, _MANY),
    Problem("top 50 of 1,000, 20 rounds", "top-k", partial(top_k, n=1_000, k=50, means=skewed), 20, _MANY),
    Problem("knapsack of 500, 100 rounds", "knapsack", partial(knapsack, n=500, capacity=100), 100, _MANY),
    Problem("tree of 60 nodes, 50 rounds", "tree", partial(random_tree, n=60, edges=600), 50, _MANY),
    Problem("matching 20 x 20, 60 rounds", "matching", partial(matching, left=20, right=20), 60, _MANY),
    Problem(
        "coverage 5 of 100, 15 rounds", "coverage", partial(flyers, places=100, people=200, k=5), 15, _MANY
    ),
    Problem(
        "top 10 of 300, narrow, 100 rounds", "top-k", partial(top_k, n=300, k=10, spread=0.2), 100, _MANY
    ),
    Problem(
        "top 3 of 10, 2,000 unused", "knapsack", partial(used_part, n=10, k=3, unused=2_000), 3_000, _PART
    ),
    Problem(
        "top 5 of 40, 400 unused, low",
        "knapsack",
        partial(used_part, n=40, k=5, unused=400, means=_low),
        5_000,
        _PART,
    ),
    Problem("10 roads in a city", "path", partial(routes_in_a_city, n=300, routes=10), 3_000, _PART),
    Problem("jump, 3 of 15", "change", partial(jumps, n=15, k=3, changes=(2_000,)), 4_000, _JUMP),
    Problem("two jumps, 10 of 50", "change", partial(jumps, n=50, k=10, changes=(800, 1_600)), 3_000, _JUMP),
    Problem(
        "jump to another set", "change", partial(jumping_sets, count=5, size=4, change=1_000), 3_000, _JUMP
    ),
    Problem(
        "rare large, 3 of 10",
        "top-k",
        partial(rare_large, n=10, k=3, good=3, chance=0.1, usual=0.05, safe=(0.09, 0.11)),
        5_000,
        _RARE,
    ),
    Problem(
        "rare large, 5 of 40",
        "top-k",
        partial(rare_large, n=40, k=5, good=10, chance=0.05, usual=0.0, safe=(0.01, 0.04)),
        5_000,
        _RARE,
    ),
]
