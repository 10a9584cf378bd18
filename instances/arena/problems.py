"""The problems of the arena: random instances of linear problems, spreading, lists and changing rounds.

Each problem is a line of the table ``problems.jsonl``. It names a function of a module of this folder, which
draws an oracle and an environment from a random generator, with the arms in random order, and the parameters
of this function. To add a problem, add a line, and the function if it is new.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np

from cmab import Context, Environment, LinearOracle, Oracle
from cmab.arrays import FloatArray, IntArray
from cmab.compiled import keyed_uniforms
from cmab.environment import round_key
from cmab.feedback import Feedback as RoundFeedback
from cmab.run.arena import Instance, Problem
from instances.arena import linear
from instances.arena.linear import (
    Rng,
    leading,
    levels,
    seed_of,
    shuffled,
    skewed,
    uniform,
)
from instances.arms import BernoulliArms, SemiBandit, ValuedByOracle
from instances.coverage import Coverage
from instances.lists import CascadeModel, MultinomialLogit, position_based_model
from instances.rounds import LinearSemiBandit, PiecewiseStationary
from instances.spreading import IndependentCascade
from oracles import (
    Assortment,
    InfluenceMaximization,
    Knapsack,
    MaxCoverage,
    RankedTopK,
    TopK,
)

Feedback = Literal["edge", "node", "credit"]
#: Number of sets from which expected rewards are estimated. The relative error is about 1 in 500.
_SETS = 2**16


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


class ClickLists(Oracle):
    """Lists of a user who clicks attractive entries until satisfied: the dependent-click model."""

    triggers_surely = False

    def __init__(self, n: int, termination: Sequence[float]) -> None:
        self.n_arms, self.max_size, self.termination = n, len(termination), np.array(termination)

    def solve(self, means: FloatArray, rng: Rng) -> IntArray:
        """Return the best arms; a better arm is at a place where a click satisfies more often."""
        chosen = np.empty(self.max_size, np.int64)
        chosen[np.argsort(-self.termination, kind="stable")] = np.argsort(-means, kind="stable")[
            : len(chosen)
        ]
        return chosen

    def is_feasible(self, super_arm: IntArray) -> bool:
        return len(super_arm) == self.max_size

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        return super_arm

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        return 1.0 - float(np.prod(1.0 - self.termination * np.clip(means[super_arm], 0.0, 1.0)))


class Clicks(ValuedByOracle):
    """The environment of `ClickLists`; the reward is 1 if the user leaves satisfied."""

    oracle: ClickLists

    def triggering_probabilities(self, super_arm: IntArray) -> None:
        return None

    def play(self, super_arm: IntArray, rng: Rng) -> RoundFeedback:
        """Observe the entries down to the click that satisfies."""
        key, places = round_key(rng), self.n_arms + np.arange(len(super_arm))
        clicks = keyed_uniforms(key, super_arm) < self.means[super_arm]
        ends = np.flatnonzero(clicks & (keyed_uniforms(key, places) < self.oracle.termination))
        seen = int(ends[0]) + 1 if len(ends) else len(super_arm)
        return RoundFeedback(super_arm[:seen], clicks[:seen].astype(np.float64), reward=float(len(ends) > 0))


def dependent(rng: Rng, *, n: int, termination: Sequence[float]) -> tuple[ClickLists, Clicks]:
    """Draw a list in the dependent-click model."""
    oracle = ClickLists(n, termination)
    return oracle, Clicks(oracle, "means", skewed(rng, n, 1.0, 3.0))


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


class Sleeping(SemiBandit):
    """Arms that are available in a round with their own probabilities, independently."""

    def __init__(self, means: FloatArray, oracle: LinearOracle, availability: FloatArray) -> None:
        super().__init__(BernoulliArms(means), oracle)
        self.availability = availability

    def in_round(self, t: int, rng: Rng) -> SemiBandit:
        today = SemiBandit(self.arms, self.oracle)
        today.context = Context(available=rng.random(self.n_arms) < self.availability)
        return today


def sleeping(
    rng: Rng, *, n: int, k: int, low: float, high: float, two: bool = False
) -> tuple[LinearOracle, Environment]:
    """Draw the k best of the arms that are available in a round, with means of two levels if `two`."""
    oracle = Knapsack([1] * n, k)
    means = levels(rng, n, (0.3, 0.5)) if two else uniform(rng, n)
    return oracle, Sleeping(means, oracle, uniform(rng, n, low, high))


def arriving(rng: Rng, *, n: int, k: int, change: int) -> tuple[LinearOracle, Environment]:
    """Draw arms of which half arrive after some rounds: until then, their outcomes are 0."""
    oracle, means = TopK(n, k), uniform(rng, n, 0.1, 0.9)
    late = rng.permutation(n) < n // 2
    parts = [np.where(late, 0.0, means), means]
    return oracle, PiecewiseStationary([SemiBandit(BernoulliArms(p), oracle) for p in parts], [change])


def jumping(rng: Rng, *, n: int, k: int, changes: tuple[int, ...]) -> tuple[LinearOracle, Environment]:
    """Draw means that jump after given rounds."""
    oracle = TopK(n, k)
    parts = [SemiBandit(BernoulliArms(rng.random(n)), oracle) for _ in range(len(changes) + 1)]
    return oracle, PiecewiseStationary(parts, changes)


class Drift(SemiBandit):
    """Means that drift from those of `first` to those of `last` in a number of rounds."""

    def __init__(self, first: FloatArray, last: FloatArray, oracle: LinearOracle, rounds: int) -> None:
        super().__init__(BernoulliArms(first), oracle)
        self.last, self.rounds = last, rounds

    def in_round(self, t: int, rng: Rng) -> SemiBandit:
        share = min(1.0, (t - 1) / (self.rounds - 1))
        return SemiBandit(BernoulliArms((1.0 - share) * self.means + share * self.last), self.oracle)


def drifting(rng: Rng, *, n: int, k: int, rounds: int) -> tuple[LinearOracle, Environment]:
    """Draw means that drift from one random point to another."""
    oracle = TopK(n, k)
    first, last = rng.random((2, n))
    return oracle, Drift(first, last, oracle, rounds)


def featured(rng: Rng, *, n: int, k: int, d: int) -> Instance:
    """Draw arms with new features in each round."""
    weights = np.abs(rng.standard_normal(d))
    oracle = TopK(n, k)
    environment = LinearSemiBandit(weights / np.linalg.norm(weights), oracle)
    return Instance(oracle, environment, {"dimension": d})


_PART = 5
# The first number with which matchings, paths, trees, sets, influence, lists and assortments are in both
# parts. It was chosen before any two entries were compared.
_SALT = 2


def read_problems(table: Path, makers: Mapping[str, Any]) -> dict[str, Problem]:
    """Return the problems of a table by name, with functions from `makers`."""
    found: dict[str, list[Problem]] = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["family"], []).append(_problem(row, makers))
    return {problem.name: problem for family in found.values() for problem in with_held_out(family)}


def _problem(row: Mapping[str, Any], makers: Mapping[str, Any]) -> Problem:
    """Return the problem of a row, whose ``make`` names a function."""
    parameters, delay = dict(row["parameters"]), row.get("delay")
    if "means" in parameters:
        parameters["means"] = linear.MEANS[parameters["means"]]
    if isinstance(delay, dict):
        delay = partial(geometric, mean=delay["mean"])
    make = partial(makers[row["make"]], **parameters)
    name, kind, horizon, source = (row[part] for part in ("name", "kind", "horizon", "source"))
    return Problem(name, kind, make, horizon, source, batch=row.get("batch", 1), delay=delay)


def with_held_out(problems: list[Problem]) -> list[Problem]:
    """Return the problems of a family, of which a fifth is marked as held out.

    Of each five consecutive problems, the one with the smallest SHA-256 hash of ``"NAME 2"`` is held out.
    Therefore problems that are added at the end do not change the parts of the others.
    """
    names = [problem.name for problem in problems]
    held = {min(names[i : i + _PART], key=_hash) for i in range(0, len(names) - _PART + 1, _PART)}
    return [replace(problem, held_out=problem.name in held) for problem in problems]


def _hash(name: str) -> str:
    return hashlib.sha256(f"{name} {_SALT}".encode()).hexdigest()


#: All problems by name. The families are linear problems, problems in which chosen nodes reach others, lists
#: and assortments, rounds that differ, and rounds with features.
PROBLEMS = read_problems(Path(__file__).with_name("problems.jsonl"), vars(linear) | globals())

#: The recorded results of all entries at the quick level.
RECORDED = Path(__file__).with_name("recorded.json.gz")
