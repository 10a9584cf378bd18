"""The problems of the arena: random instances of linear problems, spreading, lists and changing rounds.

Each family is a list of `Problem`. A problem has a function that draws an oracle and an environment from a
random generator, with the arms in random order. To add problems, write such a list in a module of this folder
and add it to the families of `PROBLEMS` at the end of this file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np

from cmab import Environment, LinearOracle
from cmab.arrays import FloatArray
from cmab.run.arena import Instance, Problem
from instances.arena.linear import (
    LINEAR,
    Rng,
    grid_path,
    grid_tree,
    leading,
    levels,
    matching,
    seed_of,
    shuffled,
    skewed,
    top_k,
    uniform,
)
from instances.arena.unusual import FEW_ROUNDS, UNSEEN, jumping
from instances.arms import BernoulliArms, SemiBandit
from instances.changing import PiecewiseStationary
from instances.choices import MultinomialLogit
from instances.contexts import LinearSemiBandit, SleepingSemiBandit
from instances.coverage import Coverage
from instances.lists import CascadeModel, DependentClickModel, position_based_model
from instances.moving import MovingMeans
from instances.spreading import IndependentCascade
from oracles import (
    Assortment,
    DependentClickLists,
    InfluenceMaximization,
    Knapsack,
    MaxCoverage,
    RankedTopK,
    TopK,
)

Feedback = Literal["edge", "node", "credit"]
#: Number of sets from which expected rewards are estimated. The relative error is about 1 in 500.
_SETS = 2**16
_COVERAGE = "Chen et al. (JMLR 2016), section 4.1: probabilistic maximum coverage"
_INFLUENCE = "Chen et al. (JMLR 2016), section 4.3: influence with feedback on arcs"
_NODES = "Vaswani et al. (2015): only the step in which a person joined is known"
_KARATE = "Zachary (1977): a club of 34 people; probabilities of Chen et al. (KDD 2010)"
_CASCADES = "Kveton et al. (ICML 2015): cascading bandits"
_MNL = "Agrawal et al. (Operations Research 2019): MNL bandits"
_BATCHES = "Perchet et al. (Annals of Statistics 2016): batched bandits"
_DELAYS = "Joulani, Gyorgy, Szepesvari (ICML 2013): delayed feedback"
_SLEEPING = "Kleinberg, Niculescu-Mizil, Sharma (2010): sleeping arms"
_CHANGES = "Garivier and Moulines (ALT 2011): means that change"
_FEATURES = "Qin, Chen, Zhu (SDM 2014): contextual combinatorial bandits"


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


def cascade(
    rng: Rng, *, n: int, k: int, reward: Literal["disjunctive", "conjunctive"], a: float, b: float
) -> tuple[RankedTopK, CascadeModel]:
    """Draw a list in the cascade model."""
    oracle = RankedTopK(n, k, reward=reward)
    return oracle, CascadeModel(skewed(rng, n, a, b), oracle)


def kveton(rng: Rng, *, n: int, k: int, high: float, gap: float) -> tuple[RankedTopK, CascadeModel]:
    """Draw the two-level instance of Kveton et al."""
    oracle = RankedTopK(n, k)
    return oracle, CascadeModel(leading(rng, n, k, high, high - gap), oracle)


def dependent(
    rng: Rng, *, n: int, termination: tuple[float, ...]
) -> tuple[DependentClickLists, DependentClickModel]:
    """Draw a list in the dependent-click model."""
    oracle = DependentClickLists(n, termination)
    return oracle, DependentClickModel(skewed(rng, n, 1.0, 3.0), oracle)


def positions(rng: Rng, *, n: int, k: int) -> Instance:
    """Draw a list in the position-based model with known probabilities of examination."""
    examination = rng.permutation(1.0 / np.arange(1, k + 1) ** 0.7)
    environment = position_based_model(skewed(rng, n, 1.0, 3.0), examination)
    return Instance(environment.oracle, environment, {"examination": examination})


def shop(
    rng: Rng, *, n: int, k: int, low: float, high: float, prices: tuple[float, float]
) -> tuple[Assortment, Environment]:
    """Draw an assortment of a shop."""
    oracle = Assortment(uniform(rng, n, *prices), k)
    return oracle, MultinomialLogit(uniform(rng, n, low, high), oracle)


def agrawal(rng: Rng, *, n: int, k: int, gap: float) -> tuple[Assortment, Environment]:
    """Draw the instance of Agrawal et al. with equal revenues."""
    oracle = Assortment(np.ones(n), k)
    return oracle, MultinomialLogit(leading(rng, n, k, 0.25 + gap, 0.25), oracle)


def dear(rng: Rng, *, n: int, k: int) -> tuple[Assortment, Environment]:
    """Draw an assortment in which dear items are less attractive."""
    prices = uniform(rng, n, 1.0, 10.0)
    attraction = np.clip(1.5 / prices * uniform(rng, n, 0.3, 1.0), 0.0, 1.0)
    oracle = Assortment(prices, k)
    return oracle, MultinomialLogit(attraction, oracle)


def geometric(t: int, rng: Rng, *, mean: float) -> int:
    """Return a delay with a geometric distribution."""
    return int(rng.geometric(1.0 / (1.0 + mean))) - 1


def sleeping(
    rng: Rng, *, n: int, k: int, low: float, high: float, two: bool = False
) -> tuple[LinearOracle, Environment]:
    """Draw the k best of the arms that are available in a round, with means of two levels if `two`."""
    oracle = Knapsack([1] * n, k)
    arms = BernoulliArms(levels(rng, n, (0.3, 0.5)) if two else uniform(rng, n))
    return oracle, SleepingSemiBandit(arms, oracle, availability=uniform(rng, n, low, high))


def arriving(rng: Rng, *, n: int, k: int, change: int) -> tuple[LinearOracle, Environment]:
    """Draw arms of which half arrive after some rounds: until then, their outcomes are 0."""
    oracle, means = TopK(n, k), uniform(rng, n, 0.1, 0.9)
    late = rng.permutation(n) < n // 2
    parts = [np.where(late, 0.0, means), means]
    return oracle, PiecewiseStationary([SemiBandit(BernoulliArms(p), oracle) for p in parts], [change])


def drifting(rng: Rng, *, n: int, k: int, rounds: int) -> tuple[LinearOracle, Environment]:
    """Draw means that drift from one random point to another."""
    oracle = TopK(n, k)
    return oracle, MovingMeans(rng.random((2, n)), oracle, rounds=[1, rounds])


def featured(rng: Rng, *, n: int, k: int, d: int) -> Instance:
    """Draw arms with new features in each round."""
    weights = np.abs(rng.standard_normal(d))
    oracle = TopK(n, k)
    environment = LinearSemiBandit(weights / np.linalg.norm(weights), oracle)
    return Instance(oracle, environment, {"dimension": d})


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

LISTS = [
    Problem(
        "list, 4 of 16, two levels", "list", partial(kveton, n=16, k=4, high=0.2, gap=0.15), 10_000, _CASCADES
    ),
    Problem(
        "list, 5 of 50",
        "list",
        partial(cascade, n=50, k=5, reward="disjunctive", a=1.0, b=5.0),
        10_000,
        _CASCADES,
    ),
    Problem(
        "list, 10 of 200, rare clicks",
        "list",
        partial(cascade, n=200, k=10, reward="disjunctive", a=1.0, b=60.0),
        10_000,
        "Bendada et al. (RecSys 2020): playlists with few streams",
    ),
    Problem(
        "list that must not fail, 4 of 20",
        "list",
        partial(cascade, n=20, k=4, reward="conjunctive", a=8.0, b=1.0),
        10_000,
        "Kveton et al. (NIPS 2015): combinatorial cascading bandits",
    ),
    Problem(
        "list of dependent clicks, 4 of 30",
        "clicks",
        partial(dependent, n=30, termination=(0.8, 0.6, 0.4, 0.2)),
        3_000,
        "Katariya et al. (ICML 2016): dependent clicks",
    ),
    Problem(
        "positions, 4 of 12", "positions", partial(positions, n=12, k=4), 3_000, "Lagree et al. (NIPS 2016)"
    ),
    Problem(
        "positions, 3 of 40", "positions", partial(positions, n=40, k=3), 3_000, "Lagree et al. (NIPS 2016)"
    ),
    Problem("assortment 4 of 10, gap 0.1", "assortment", partial(agrawal, n=10, k=4, gap=0.1), 10_000, _MNL),
    Problem(
        "assortment 4 of 20",
        "assortment",
        partial(shop, n=20, k=4, low=0.0, high=1.0, prices=(0.5, 1.0)),
        10_000,
        _MNL,
    ),
    Problem(
        "assortment 5 of 50, dear items",
        "assortment",
        partial(dear, n=50, k=5),
        10_000,
        "prices reduce demand",
    ),
]

ROUNDS = [
    Problem("batches, top 10 of 60", "batch", partial(top_k, n=60, k=10), 3_000, _BATCHES, batch=50),
    Problem(
        "batches, matching 8 x 8", "batch", partial(matching, left=8, right=8), 2_000, _BATCHES, batch=20
    ),
    Problem("batches, tree of a 4 x 4 grid", "batch", partial(grid_tree, size=4), 2_000, _BATCHES, batch=100),
    Problem(
        "batches, influence on 60 people",
        "batch",
        partial(scale_free, n=60, k=3, feedback="edge", high=0.3),
        300,
        "campaigns are planned some at a time",
        batch=10,
    ),
    Problem(
        "delays, top 5 of 40",
        "delay",
        partial(top_k, n=40, k=5),
        3_000,
        _DELAYS,
        delay=partial(geometric, mean=40.0),
    ),
    Problem("delays, path in a 5 x 5 grid", "delay", partial(grid_path, size=5), 2_000, _DELAYS, delay=100),
    Problem(
        "delays, list 4 of 30",
        "delay",
        partial(cascade, n=30, k=4, reward="disjunctive", a=1.0, b=4.0),
        3_000,
        _DELAYS,
        delay=partial(geometric, mean=20.0),
    ),
    Problem(
        "delays, coverage 4 of 30",
        "delay",
        partial(coverage, left=30, right=40, k=4, chance=0.2, a=1.0, b=3.0),
        2_000,
        _DELAYS,
        delay=partial(geometric, mean=30.0),
    ),
    Problem(
        "absent arms, 4 of 30", "available", partial(sleeping, n=30, k=4, low=0.2, high=0.9), 2_000, _SLEEPING
    ),
    Problem(
        "absent arms, 8 of 80, rare",
        "available",
        partial(sleeping, n=80, k=8, low=0.02, high=0.3),
        2_000,
        _SLEEPING,
    ),
    Problem(
        "absent arms, two levels",
        "available",
        partial(sleeping, n=40, k=6, low=0.5, high=0.5, two=True),
        2_000,
        _SLEEPING,
    ),
    Problem(
        "late arms, 5 of 30",
        "change",
        partial(arriving, n=30, k=5, change=600),
        3_000,
        "products are added to a shop",
    ),
    Problem("one jump, 4 of 20", "change", partial(jumping, n=20, k=4, changes=(1_000,)), 3_000, _CHANGES),
    Problem(
        "three jumps, 5 of 30",
        "change",
        partial(jumping, n=30, k=5, changes=(500, 1_200, 2_200)),
        3_000,
        _CHANGES,
    ),
    Problem("drift, 4 of 20", "change", partial(drifting, n=20, k=4, rounds=3_000), 3_000, _CHANGES),
]

#: Problems that only policies with features can play.
FEATURES = [
    Problem("features, 4 of 20", "features", partial(featured, n=20, k=4, d=5), 2_000, _FEATURES),
]

_PART = 5
# The first number with which matchings, paths, trees, sets, influence, lists and assortments are in both
# parts.
# It was chosen before any two entries were compared.
_SALT = 2


def with_held_out(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of a family, of which a fifth is marked as held out.

    Of each five consecutive problems, the one with the smallest SHA-256 hash of ``"NAME 2"`` is held out.
    Therefore problems that are added at the end do not change the parts of the others.
    """
    listed = list(problems)
    names = [problem.name for problem in listed]
    held = {min(names[i : i + _PART], key=_hash) for i in range(0, len(names) - _PART + 1, _PART)}
    return [replace(problem, held_out=problem.name in held) for problem in listed]


def _hash(name: str) -> str:
    return hashlib.sha256(f"{name} {_SALT}".encode()).hexdigest()


#: All problems by name. The families are linear problems, problems in which chosen nodes reach others, lists
#: and assortments, rounds that differ, and rounds with features.
PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for family in (LINEAR, SPREADING, LISTS, ROUNDS, FEATURES)
    for problem in with_held_out(family)
}

#: Unusual problems, in a table of their own: the best super arm is unlike the others, there are more arms
#: than rounds, most arms are never used, means jump, or large outcomes are rare.
UNUSUAL: dict[str, Problem] = {
    problem.name: problem for family in (UNSEEN, FEW_ROUNDS) for problem in with_held_out(family)
}

#: The recorded results of all entries at the quick level.
RECORDED = Path(__file__).with_name("recorded.json.gz")
