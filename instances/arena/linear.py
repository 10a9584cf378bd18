"""Linear problems of the arena: best arms, matroids, matchings, paths, trees, knapsacks and disjoint sets.

Their arms are coins, with outcomes that may be shrunk to their means, scaled, and coupled.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from cmab import Feedback, LinearOracle
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import Kernel, keyed_uniform, keyed_uniforms, play_kernel
from cmab.environment import round_key
from cmab.validation import frozen, per_arm, real, vector
from instances.arms import Arms, BetaArms, SemiBandit, sum_in_order
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


@play_kernel
def play_coins(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play a round; `reals` contains the chances, the spreads, the scale and the coupling."""
    n = integers[0]
    scale, coupling = reals[2 * n], reals[2 * n + 1]
    totals[0], totals[1] = 0.0, 0.0
    common = keyed_uniform(key, 2 * n)
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        chance = reals[arm]
        # The second uniform number of an arm decides whether the arm uses the common number of the round.
        is_own = coupling == 0.0 or keyed_uniform(key, n + arm) >= coupling
        coin = 1.0 if (keyed_uniform(key, arm) if is_own else common) < chance else 0.0
        outcomes[j] = scale * (chance + reals[n + arm] * (coin - chance))
        totals[0] += outcomes[j]
        totals[1] += scale * chance
    return size


class ShrunkCoins(Arms):
    """Arms with two outcomes, shrunk towards their mean, scaled, and coupled within a round.

    An arm with chance p, spread s and scale c has the outcome ``c (p + s (coin - p))``, where the coin is 1
    with probability p and 0 otherwise. The mean is ``c p``. The variance is ``s**2`` times the variance of a
    scaled coin. Therefore spread 1 gives coins and spread 0 gives deterministic arms. In each round, each arm
    uses one common uniform number in place of its own with probability `coupling`.

    Parameters
    ----------
    chances : array_like, shape (n_arms,)
        Probability of the larger outcome of each arm, in [0, 1].
    spread : float or array_like of shape (n_arms,)
        The spread of each arm, in [0, 1].
    scale : float
        The scale of all outcomes, in (0, 1].
    coupling : float
        Probability that an arm uses the common number of the round, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from instances.arena.linear import ShrunkCoins
    >>> arms = ShrunkCoins([0.5, 0.25], spread=0.0, scale=0.5)
    >>> arms.means, arms.pull(arms.means.argsort(), np.random.default_rng(0))
    (array([0.25 , 0.125]), array([0.125, 0.25 ]))
    """

    def __init__(
        self, chances: ArrayLike, *, spread: ArrayLike = 1.0, scale: float = 1.0, coupling: float = 0.0
    ) -> None:
        self.chances = frozen(vector("chances", chances, low=0.0, high=1.0))
        self.spread = per_arm("spread", spread, len(self.chances), 0.0, 1.0)
        self.scale = real("scale", scale, 0.0, 1.0)
        self.coupling = real("coupling", coupling, 0.0, 1.0)
        self.means = frozen(self.scale * self.chances)

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        chances = self.chances[arms]
        coins = (uniforms < chances).astype(np.float64)
        outcomes: FloatArray = self.scale * (chances + self.spread[arms] * (coins - chances))
        return outcomes

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return self.quantile(arms, rng.random(len(arms)))

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Return the outcomes of the arms in `super_arm` and their sum."""
        super_arm = self._check_super_arm(super_arm)
        key, n = round_key(rng), self.n_arms
        uniforms = keyed_uniforms(key, super_arm)
        if self.coupling > 0.0:
            is_own = keyed_uniforms(key, super_arm + n) >= self.coupling
            uniforms = np.where(is_own, uniforms, keyed_uniform(key, 2 * n))
        outcomes = self.quantile(super_arm, uniforms)
        return Feedback(super_arm, outcomes, reward=sum_in_order(outcomes))

    def kernel(self) -> Kernel:
        parameters = [self.chances, self.spread, np.array([self.scale, self.coupling])]
        return Kernel(play_coins, np.array([self.n_arms]), np.concatenate(parameters))


Rng = np.random.Generator
Made = tuple[LinearOracle, SemiBandit]
Means = Callable[[Rng, int], FloatArray]


def shuffled(graph: nx.Graph[Any], rng: Rng) -> tuple[nx.Graph[Any], dict[Any, int]]:
    """Return a copy with nodes and edges in random order, and the new number of each node.

    Base arms are edges in the order of the graph. Therefore their order is random as well.
    """
    nodes = list(graph.nodes)
    new = {nodes[old]: place for place, old in enumerate(rng.permutation(len(nodes)).tolist())}
    made: nx.Graph[Any] = nx.DiGraph() if graph.is_directed() else nx.Graph()
    made.add_nodes_from(range(len(nodes)))
    for node, data in graph.nodes(data=True):
        made.nodes[new[node]].update(data)
    edges = list(graph.edges)
    for place in rng.permutation(len(edges)).tolist():
        tail, head = edges[place]
        ends = (new[tail], new[head])
        made.add_edge(*(ends if graph.is_directed() or rng.random() < 0.5 else ends[::-1]))
    return made, new


def seed_of(rng: Rng) -> int:
    """Return a seed for the graph generators of networkx."""
    return int(rng.integers(2**31))


def uniform(rng: Rng, n: int, low: float = 0.0, high: float = 1.0) -> FloatArray:
    """Return independent uniform means."""
    return rng.uniform(low, high, n)


def skewed(rng: Rng, n: int, a: float = 1.0, b: float = 3.0) -> FloatArray:
    """Return independent means from a Beta distribution."""
    return rng.beta(a, b, n)


def levels(rng: Rng, n: int, values: tuple[float, ...]) -> FloatArray:
    """Return means of equally frequent levels, in random order."""
    return rng.permutation(np.resize(values, n))


def leading(rng: Rng, n: int, k: int, high: float, low: float) -> FloatArray:
    """Return means of which k are `high` and the others `low`, in random order."""
    return rng.permutation(np.repeat([high, low], [k, n - k]))


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


#: The distributions of means that the table of problems names.
MEANS: dict[str, Means] = {
    "low": partial(uniform, low=0.3, high=0.7),
    "lowest": partial(uniform, low=0.0, high=0.3),
    "skewed": skewed,
    "rare": partial(skewed, a=1.0, b=19.0),
    "cheap": partial(skewed, a=1.0, b=4.0),
    "two": partial(leading, k=10, high=0.6, low=0.4),
    "three": partial(levels, values=(0.2, 0.5, 0.8)),
}
