"""Problems of the arena in which chosen nodes reach others: coverage and influence in small networks."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import networkx as nx
import numpy as np

from cmab.arena import Problem
from cmab.arrays import FloatArray
from instances.arena._draws import Rng, seed_of, shuffled, skewed, uniform
from instances.coverage import Coverage
from instances.spreading import IndependentCascade
from oracles import InfluenceMaximization, MaxCoverage

#: Number of sets from which expected rewards are estimated. The relative error is about 1 in 500.
_SETS = 2**16
Feedback = Literal["edge", "node", "credit"]


def bipartite(rng: Rng, *, left: int, right: int, chance: float) -> nx.Graph[Any]:
    """Return a random bipartite graph in which every left node has an edge."""
    graph: nx.Graph[Any] = nx.Graph()
    for i in range(left):
        heads = np.flatnonzero(rng.random(right) < chance)
        heads = heads if len(heads) else rng.integers(right, size=1)
        graph.add_edges_from((("l", i), ("r", j)) for j in heads.tolist())
    return graph


def covered(
    rng: Rng, graph: nx.Graph[Any], left: set[Any], k: int, means: FloatArray
) -> tuple[MaxCoverage, Coverage]:
    """Return the coverage problem of a graph with shuffled nodes and edges."""
    for node in graph.nodes:
        graph.nodes[node]["bipartite"] = 0 if node in left else 1
    environment = Coverage(shuffled(graph, rng)[0], k, probability=means)
    return environment.oracle, environment


def coverage(
    rng: Rng, *, left: int, right: int, k: int, chance: float, a: float, b: float
) -> tuple[MaxCoverage, Coverage]:
    """Draw a coverage problem on a random graph with probabilities from a Beta distribution."""
    graph = bipartite(rng, left=left, right=right, chance=chance)
    means = skewed(rng, graph.number_of_edges(), a, b)
    return covered(rng, graph, {node for node in graph if node[0] == "l"}, k, means)


def clubs(rng: Rng, *, k: int) -> tuple[MaxCoverage, Coverage]:
    """Draw a coverage problem on a real network of women and the events that they attended."""
    graph = nx.davis_southern_women_graph()
    left = set(graph.graph["top"])
    means = uniform(rng, graph.number_of_edges(), 0.0, 0.6)
    return covered(rng, nx.Graph(graph.edges), left, k, means)


def influence(
    rng: Rng, graph: nx.Graph[Any], k: int, feedback: Feedback, means: FloatArray | str
) -> tuple[InfluenceMaximization, IndependentCascade]:
    """Return influence in a graph with nodes and arcs in random order."""
    made, _ = shuffled(graph.to_directed(), rng)
    oracle = InfluenceMaximization(made, k)
    return oracle, IndependentCascade(made, means, k=k, feedback=feedback, n_rr_sets=_SETS)


def scale_free(
    rng: Rng, *, n: int, k: int, feedback: Feedback, high: float
) -> tuple[InfluenceMaximization, IndependentCascade]:
    """Draw influence in a graph with preferential attachment."""
    graph = nx.barabasi_albert_graph(n, 2, seed=seed_of(rng))
    return influence(rng, graph, k, feedback, uniform(rng, 2 * graph.number_of_edges(), 0.0, high))


def small_world(
    rng: Rng, *, n: int, k: int, feedback: Feedback, high: float
) -> tuple[InfluenceMaximization, IndependentCascade]:
    """Draw influence in a small-world graph."""
    graph = nx.watts_strogatz_graph(n, 4, 0.2, seed=seed_of(rng))
    return influence(rng, graph, k, feedback, uniform(rng, 2 * graph.number_of_edges(), 0.0, high))


def trivalent(
    rng: Rng, *, name: str, k: int, feedback: Feedback, levels: tuple[float, ...]
) -> tuple[InfluenceMaximization, IndependentCascade]:
    """Draw influence in a real network of networkx with probabilities from a few levels."""
    graph: nx.Graph[Any] = nx.Graph(getattr(nx, name)().edges)
    return influence(rng, graph, k, feedback, rng.choice(levels, 2 * graph.number_of_edges()))


def weighted(
    rng: Rng, *, n: int, k: int, feedback: Feedback
) -> tuple[InfluenceMaximization, IndependentCascade]:
    """Draw influence with the weighted-cascade model in a graph with communities."""
    graph = nx.random_partition_graph([n // 4] * 4, 0.15, 0.01, seed=seed_of(rng))
    return influence(rng, nx.Graph(graph.edges), k, feedback, "weighted_cascade")


_COVERAGE = "Chen et al. (JMLR 2016), section 4.1: probabilistic maximum coverage"
_INFLUENCE = "Chen et al. (JMLR 2016), section 4.3: influence with feedback on arcs"
_NODES = "Vaswani et al. (2015): only the step in which a person joined is known"
_KARATE = "Zachary (1977): a club of 34 people; probabilities of Chen et al. (KDD 2010)"

SPREADING = [
    Problem(
        "coverage 3 of 20",
        "coverage",
        partial(coverage, left=20, right=30, k=3, chance=0.3, a=1.0, b=3.0),
        3_000,
        _COVERAGE,
    ),
    Problem(
        "coverage 6 of 50",
        "coverage",
        partial(coverage, left=50, right=100, k=6, chance=0.08, a=1.0, b=2.0),
        3_000,
        _COVERAGE,
    ),
    Problem(
        "coverage 10 of 100, rare",
        "coverage",
        partial(coverage, left=100, right=150, k=10, chance=0.04, a=1.0, b=15.0),
        3_000,
        "sparse word of mouth",
    ),
    Problem(
        "events of 18 women",
        "coverage",
        partial(clubs, k=3),
        3_000,
        "Davis, Gardner, Gardner (1941): a real network",
    ),
    Problem(
        "influence in a club, arcs",
        "influence",
        partial(trivalent, name="karate_club_graph", k=3, feedback="edge", levels=(0.02, 0.1, 0.3)),
        400,
        _KARATE,
    ),
    Problem(
        "influence in a club, steps",
        "influence",
        partial(trivalent, name="karate_club_graph", k=3, feedback="node", levels=(0.02, 0.1, 0.3)),
        400,
        _NODES,
    ),
    Problem(
        "influence on 60 people, arcs",
        "influence",
        partial(scale_free, n=60, k=3, feedback="edge", high=0.4),
        300,
        _INFLUENCE,
    ),
    Problem(
        "influence on 60 people, credit",
        "influence",
        partial(small_world, n=60, k=4, feedback="credit", high=0.4),
        400,
        "Vaswani et al. (2015): one of the possible causes gets the credit",
    ),
    Problem(
        "influence on 120 people, communities",
        "influence",
        partial(weighted, n=120, k=5, feedback="edge"),
        300,
        "Kempe, Kleinberg, Tardos (KDD 2003): weighted cascade",
    ),
    Problem(
        "influence on 200 people, few rounds",
        "influence",
        partial(scale_free, n=200, k=10, feedback="edge", high=0.2),
        200,
        "campaigns have few rounds",
    ),
]
