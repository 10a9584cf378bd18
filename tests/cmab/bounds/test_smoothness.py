"""Smoothness constants: no counterexample by random search, and none 10 % smaller where they are tight."""

from dataclasses import dataclass
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from cases import NETWORK, PLAN, ROADS, Together, pages

from cmab import Oracle, Smoothness
from cmab.oracle import smoothness_of
from oracles import (
    BruteForce,
    BudgetedInfluence,
    DegreeHeuristic,
    DirectedGraph,
    GraphicMatroid,
    InfluenceMaximization,
    Matching,
    MaxCoverage,
    MostReliablePath,
    ShortestPath,
    TopK,
    TriggeringInfluence,
    TriggeringModel,
)
from oracles.influence.spread import exact_threshold_spread

WORTH = [0.0, 1.0, 1.0, 3.0, 0.0, 1.0, 2.0]


class Thresholds(InfluenceMaximization):
    """Linear thresholds with their exact spread: the oracle's own is estimated."""

    def __init__(self, graph, k, weights=None):
        super().__init__(graph, k, epsilon=0.3, node_weights=weights, model="lt")

    def expected_reward(self, super_arm, means):
        return exact_threshold_spread(
            self.graph, means, np.asarray(super_arm), node_weights=self.node_weights
        )


def allowed(oracle, means):
    """Scale weights into a node down to a sum of 1, as linear thresholds want them."""
    if getattr(oracle, "model", "ic") == "ic":
        return means
    sums = np.bincount(oracle.graph.heads, means, oracle.graph.n_nodes)
    return means / np.maximum(sums, 1.0)[oracle.graph.heads]


@dataclass
class Row:
    """An oracle, its super arms; another one with two vectors of means at which its constant is reached."""

    name: str
    oracle: Oracle
    super_arms: list
    tight: Oracle
    first: np.ndarray
    second: np.ndarray
    arm: tuple = (0,)

    def __str__(self):
        return self.name


def pairs(n, k=2):
    return list(combinations(range(n), k))


def fan(arms):
    """One left node with `arms` readers, and one with a single reader."""
    graph = nx.Graph()
    graph.add_nodes_from([("page", {"bipartite": 0}), ("other", {"bipartite": 0})])
    graph.add_nodes_from([(i, {"bipartite": 1, "worth": 1.0 + i}) for i in range(arms)])
    graph.add_edges_from([("page", i) for i in range(arms)] + [("other", 0)])
    return graph


def cut(n, size, x):
    """Ones, and ones of which `size` fell by x."""
    return np.ones(n), np.where(np.arange(n) < size, 1.0 - x, 1.0)


DOUBLED = DirectedGraph.from_edges(np.zeros(12, int), np.ones(12, int))  # twelve arcs from 0 to 1
SMALL = 1e-3
RISE = (np.zeros(12), np.full(12, SMALL))

ROWS = [
    Row("sum", TopK(6, 3), pairs(6, 3), TopK(6, 3), *cut(6, 3, 0.5), (0, 1, 2)),
    Row(
        "shortest_path",
        ShortestPath(PLAN, 0, 4),
        [(0, 1), (0, 1, 5)],
        ShortestPath(nx.path_graph(5), 0, 4),
        *cut(4, 4, 0.5),
        tuple(range(4)),
    ),
    Row(
        "reliable_path",
        MostReliablePath(ROADS, 0, 3),
        None,
        MostReliablePath(nx.path_graph(7), 0, 6),
        *cut(6, 6, SMALL),
        tuple(range(6)),
    ),
    Row(
        "matching",
        Matching(nx.cycle_graph(6)),
        None,
        Matching(nx.path_graph(2)),
        np.zeros(1),
        np.full(1, 0.5),
    ),
    Row(
        "tree",
        GraphicMatroid(ROADS),
        None,
        GraphicMatroid(nx.path_graph(5)),
        *cut(4, 4, 0.5),
        tuple(range(4)),
    ),
    Row(
        "coverage", MaxCoverage(pages(), 2), pairs(4), MaxCoverage(fan(6), 1), np.zeros(7), np.full(7, SMALL)
    ),
    Row(
        "weighted_coverage",
        MaxCoverage(pages(), 2, node_weight="worth"),
        pairs(4),
        MaxCoverage(fan(6), 1, node_weight="worth"),
        np.zeros(7),
        np.full(7, SMALL),
    ),
    Row(
        "targeted_influence",
        InfluenceMaximization(NETWORK, 2, epsilon=0.3, node_weights=WORTH),
        pairs(7),
        InfluenceMaximization(DOUBLED, 1, epsilon=0.3, node_weights=[0.0, 2.5]),
        *RISE,
    ),
    Row(
        "budgeted_influence",
        BudgetedInfluence(NETWORK, np.ones(7), budget=3.0, epsilon=0.1, node_weights=WORTH),
        pairs(7, 3),
        BudgetedInfluence(DOUBLED, [1, 1], budget=1.0, epsilon=0.1, node_weights=[0.0, 2.5]),
        *RISE,
    ),
    Row(
        "linear_threshold", Thresholds(NETWORK, 2, WORTH), pairs(7), Thresholds(DOUBLED, 1, [0.0, 2.5]), *RISE
    ),
]


def family(row):
    """Return the super arms of a row; where they are not listed, those that the oracle answers."""
    if row.super_arms is not None:
        return [np.array(arm) for arm in row.super_arms]
    rng = np.random.default_rng(1)
    return [row.oracle.solve(rng.random(row.oracle.n_arms), rng) for _ in range(12)]


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_no_counterexample_is_found(row):
    """1,500 pairs: far apart, close together, at the ends of the range, and of one sign."""
    oracle, rng = row.oracle, np.random.default_rng(0)
    f, arms = smoothness_of(oracle), family(row)
    for trial in range(1500):
        arm = arms[rng.integers(len(arms))]
        first = rng.choice([0.0, 0.5, 1.0], oracle.n_arms) if trial % 2 else rng.random(oracle.n_arms)
        size = 10.0 ** rng.uniform(-4, 0)
        step = size * (rng.choice([-1, 1], oracle.n_arms) if trial % 3 else rng.choice([-1, 1]))
        first, second = allowed(oracle, first), allowed(oracle, np.clip(first + step, 0.0, 1.0))
        x = np.abs(first - second)[oracle.triggered_arms(arm)].max(initial=0.0)
        change = abs(oracle.expected_reward(arm, first) - oracle.expected_reward(arm, second))
        assert change <= f(x) + 1e-9, (arm, first, second)
        if f.modulated is not None and trial % 5 == 0:
            seen = oracle.triggering_probabilities(arm, first) @ np.abs(first - second)
            assert change <= f.modulated * seen + 1e-9, (arm, first, second)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_constant_ten_percent_smaller_fails(row):
    oracle, f = row.tight, smoothness_of(row.tight)
    arm = np.array(row.arm)
    x = np.abs(row.first - row.second)[oracle.triggered_arms(arm)].max()
    change = abs(oracle.expected_reward(arm, row.first) - oracle.expected_reward(arm, row.second))
    assert 0.9 * f(x) < change <= f(x) + 1e-12


@pytest.mark.parametrize("row", [row for row in ROWS if row.name != "linear_threshold"], ids=str)
def test_a_modulated_constant_ten_percent_smaller_fails(row):
    """An arm that weighs most moves alone, triggered with certainty."""
    oracle, limit = row.tight, smoothness_of(row.tight).modulated
    arm, first, second = np.array(row.arm), row.first, row.first.copy()
    mover = int(oracle.triggered_arms(arm)[-1])
    second[mover] = row.second[mover]
    change = abs(oracle.expected_reward(arm, first) - oracle.expected_reward(arm, second))
    seen = oracle.triggering_probabilities(arm, first)[mover] * abs(first - second)[mover]
    assert 0.9 * limit * seen < change <= limit * seen + 1e-12


def test_constants_by_hand():
    """Three readers worth 1, 2, 3 at page a, two worth 3, 4 at b, two worth 1, 5 at d; c has none."""
    assert MaxCoverage(pages(), 1, node_weight="worth").smoothness() == Smoothness(7.0, modulated=5.0)
    assert MaxCoverage(pages(), 2, node_weight="worth").smoothness() == Smoothness(13.0, modulated=5.0)
    assert MaxCoverage(pages(), 4, node_weight="worth").smoothness() == Smoothness(19.0, modulated=5.0)
    assert MaxCoverage(pages(), 2).smoothness() == Smoothness(5.0, modulated=1.0)
    assert MostReliablePath(ROADS, 0, 3).smoothness() == Smoothness(4.0, modulated=1.0)  # five crossings
    assert InfluenceMaximization(NETWORK, 2).smoothness() == Smoothness(8 * 7.0, modulated=7.0)
    assert InfluenceMaximization(NETWORK, 2, node_weights=WORTH).smoothness() == Smoothness(
        8 * 8.0, modulated=8.0
    )
    assert DegreeHeuristic(NETWORK, 2).smoothness() == Smoothness(8 * 7.0, modulated=7.0)


# Rewards without a constant ------------------------------------------------------------------------------


class Switch(TriggeringModel):
    """An arc is live if its mean is at least a half: no randomness, and no smoothness either."""

    def live_arcs(self, graph, means, rng):
        return means >= 0.5


def test_triggering_models_may_jump_and_declare_nothing():
    graph = DirectedGraph.from_edges([0], [1])
    oracle, seed = TriggeringInfluence(graph, triggering=Switch(), k=1, epsilon=0.3), np.array([0])
    below, above = np.array([0.5 - 1e-12]), np.array([0.5])
    assert oracle.expected_reward(seed, above) - oracle.expected_reward(seed, below) == 1.0
    assert smoothness_of(oracle) is None
    assert TriggeringInfluence(graph, triggering=Together(), k=1, epsilon=0.3).smoothness() is None
    assert BruteForce(2, [(0,), (1,)], reward=lambda means, arm: means[arm].sum()).smoothness() is None
