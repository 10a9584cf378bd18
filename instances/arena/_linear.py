"""Linear problems of the arena: best arms, matroids, matchings, paths, trees, knapsacks and disjoint sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from cmab import LinearOracle
from cmab.arrays import FloatArray
from instances.arena._draws import Rng, levels, seed_of, shuffled, uniform
from instances.arena.arms import ShrunkCoins
from instances.arms import BetaArms, SemiBandit
from oracles import (
    BruteForce,
    DisjointPaths,
    GraphicMatroid,
    Knapsack,
    Matching,
    PartitionMatroid,
    ShortestPath,
    TopK,
)

Made = tuple[LinearOracle, SemiBandit]
Means = Callable[[Rng, int], FloatArray]


def top_k(rng: Rng, *, n: int, k: int, means: Means = uniform, **outcomes: Any) -> Made:
    """Draw the problem of the k best of n arms."""
    return coins(rng, TopK(n, k), means, **outcomes)


def coins(rng: Rng, oracle: LinearOracle, means: Means = uniform, **outcomes: Any) -> Made:
    """Draw the arms of an oracle. `outcomes` are parameters of `ShrunkCoins`."""
    return oracle, SemiBandit(ShrunkCoins(means(rng, oracle.n_arms), **outcomes), oracle)


def beta(rng: Rng, oracle: LinearOracle, concentration: float, means: Means = uniform) -> Made:
    """Draw arms with Beta outcomes; `concentration` is the sum of both parameters of a distribution."""
    drawn = np.clip(means(rng, oracle.n_arms), 0.01, 0.99)
    return oracle, SemiBandit(BetaArms(concentration * drawn, concentration * (1.0 - drawn)), oracle)


def beta_top_k(rng: Rng, *, n: int, k: int, concentration: float) -> Made:
    """Draw the problem of the k best of n arms with Beta outcomes."""
    return beta(rng, TopK(n, k), concentration)


def half_deterministic(rng: Rng, *, n: int, k: int) -> Made:
    """Draw the problem of the k best arms, half of which are deterministic."""
    return top_k(rng, n=n, k=k, spread=levels(rng, n, (0.0, 1.0)))


def one_of_each(rng: Rng, *, classes: int, size: int) -> Made:
    """Draw a partition matroid: the best arm of each class."""
    return coins(rng, PartitionMatroid(rng.permutation(np.repeat(np.arange(classes), size)).tolist()))


def matching(
    rng: Rng, *, left: int, right: int, chance: float = 1.0, means: Means = uniform, **o: Any
) -> Made:
    """Draw a bipartite matching; each edge exists with probability `chance`."""
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(range(left + right))
    graph.add_edges_from(
        (i, left + j) for i in range(left) for j in range(right) if chance == 1.0 or rng.random() < chance
    )
    return coins(rng, Matching(shuffled(graph, rng)[0]), means, **o)


def pairs(rng: Rng, *, n: int, degree: int) -> Made:
    """Draw a matching of a random regular graph, which is not bipartite."""
    graph = nx.random_regular_graph(degree, n, seed=seed_of(rng))
    return coins(rng, Matching(shuffled(graph, rng)[0]))


def grid_path(rng: Rng, *, size: int, means: Means = uniform, **outcomes: Any) -> Made:
    """Draw the costs of paths between two corners of a grid."""
    graph, new = shuffled(nx.grid_2d_graph(size, size), rng)
    return coins(rng, ShortestPath(graph, new[0, 0], new[size - 1, size - 1]), means, **outcomes)


def layered_path(rng: Rng, *, layers: int, width: int, **outcomes: Any) -> Made:
    """Draw the rewards of paths through layers of nodes, each connected with all nodes of the next layer."""
    graph: nx.DiGraph[Any] = nx.DiGraph()
    stages: list[list[Any]] = [["s"], *([(i, j) for j in range(width)] for i in range(layers)), ["t"]]
    graph.add_edges_from((a, b) for now, then in itertools.pairwise(stages) for a in now for b in then)
    made, new = shuffled(graph, rng)
    return coins(rng, ShortestPath(made, new["s"], new["t"], sense="max"), **outcomes)


def road_path(rng: Rng, *, n: int, concentration: float) -> Made:
    """Draw delays with Beta distributions between the most distant nodes of a random geometric graph."""
    graph: nx.Graph[Any] = nx.Graph()
    while not graph or not nx.is_connected(graph):
        graph = nx.random_geometric_graph(n, 2.2 / np.sqrt(n), seed=seed_of(rng))
    ends = (
        max(graph.nodes, key=lambda v: sum(graph.nodes[v]["pos"])),
        min(graph.nodes, key=lambda v: sum(graph.nodes[v]["pos"])),
    )
    made, new = shuffled(graph, rng)
    return beta(rng, ShortestPath(made, new[ends[0]], new[ends[1]]), concentration)


def two_paths(rng: Rng, *, size: int) -> Made:
    """Draw the costs of two disjoint paths between corners of a grid."""
    graph, new = shuffled(nx.grid_2d_graph(size, size), rng)
    return coins(rng, DisjointPaths(graph, new[0, 0], new[size - 1, size - 1], k=2), spread=0.5)


def grid_tree(rng: Rng, *, size: int, **outcomes: Any) -> Made:
    """Draw the weights of spanning trees of a grid."""
    return coins(rng, GraphicMatroid(shuffled(nx.grid_2d_graph(size, size), rng)[0]), **outcomes)


def random_tree(rng: Rng, *, n: int, edges: int, means: Means = uniform, **outcomes: Any) -> Made:
    """Draw the costs of spanning trees of a random connected graph."""
    graph: nx.Graph[Any] = nx.Graph()
    while not graph or not nx.is_connected(graph):
        graph = nx.gnm_random_graph(n, edges, seed=seed_of(rng))
    return coins(rng, GraphicMatroid(shuffled(graph, rng)[0], "min"), means, **outcomes)


def knapsack(rng: Rng, *, n: int, capacity: int, **outcomes: Any) -> Made:
    """Draw a knapsack with weights from 1 to 10."""
    return coins(rng, Knapsack(rng.integers(1, 11, n), capacity), **outcomes)


def sets(rng: Rng, *, count: int, size: int, good: float, bad: float, **outcomes: Any) -> Made:
    """Draw disjoint sets of arms, one of which is better."""
    arms = rng.permutation(count * size).reshape(count, size)
    means = np.full(count * size, bad)
    means[arms[rng.integers(count)]] = good
    oracle = BruteForce(count * size, [np.sort(part).tolist() for part in arms])
    return oracle, SemiBandit(ShrunkCoins(means, **outcomes), oracle)
