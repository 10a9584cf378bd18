"""Triggering probabilities against cascades, and Theorem 1 worked out by hand for influence and coverage."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from cases import NETWORK, pages

from cmab import CUCB, simulate
from cmab.theory import reward_gaps, theorem_1, theorem_2
from instances import Coverage, IndependentCascade
from oracles import DirectedGraph, InfluenceMaximization, MaxCoverage


def active_by_thresholds(means, seeds, rng):
    """One cascade of linear thresholds as their definition has it: no live arcs."""
    thresholds, active = rng.random(NETWORK.n_nodes), np.isin(np.arange(NETWORK.n_nodes), seeds)
    for _ in range(NETWORK.n_nodes):
        weight = np.bincount(NETWORK.heads, means * active[NETWORK.tails], NETWORK.n_nodes)
        active |= weight > thresholds
    return active


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_triggering_probabilities_are_those_of_cascades(model):
    """Shares of 4,000 rounds within 5.5 standard errors: a false alarm in 8 arms has probability 3e-7."""
    means = np.array([0.5, 0.3, 0.2, 0.7, 1.0, 0.4, 0.4, 0.5])
    oracle, rng = InfluenceMaximization(NETWORK, 2, 0.3, model=model), np.random.default_rng(3)
    world, seeds, rounds = IndependentCascade(NETWORK, means, k=2), np.array([3, 5]), 4000
    seen = np.zeros(8)
    for _ in range(rounds):
        if model == "ic":
            seen[world.play(seeds, rng).arms] += 1
        else:
            seen += active_by_thresholds(means, seeds, rng)[NETWORK.tails]
    chances = oracle.triggering_probabilities(seeds, means)
    errors = np.sqrt(chances * (1 - chances) / rounds)
    assert (np.abs(seen / rounds - chances) <= 5.5 * errors + 1e-12).all()
    assert ((chances > 0) & (chances < 1)).any()


def test_too_many_outcomes_are_unknown():
    star = DirectedGraph.from_edges(np.zeros(30, int), np.arange(1, 31))
    oracle = InfluenceMaximization(star, 1, 0.3)
    assert oracle.triggering_probabilities(np.array([0]), np.full(30, 0.5)) is None
    assert (oracle.triggering_probabilities(np.array([0]), np.ones(30)) == 1).all()


def test_theorem_1_of_an_influence_bandit_by_hand():
    """a -> b with 0.5, b -> c with 0.25, one seed: 1.625, 1.25, 1. At alpha = 0.9 b misses by 0.2125, c by
    0.4625, and only b triggers an arm, the second, which a triggers with probability 0.5.
    Section 4.3: 12 |V|^2 |E|^2 ln n / (Delta^2 p) times Delta, for Delta_min = Delta_max."""
    oracle = InfluenceMaximization(DirectedGraph.from_edges([0, 1], [1, 2]), 1, 0.3)
    oracle.alpha = 0.9
    gaps = reward_gaps(oracle, [0.5, 0.25], [[0], [1], [2]])
    assert gaps.bad.tolist() == [0, 1]
    np.testing.assert_allclose(gaps.probabilities, [1.0, 0.5])
    n, gap = np.array([10, 10**5]), 0.9 * 1.625 - 1.25
    by_hand = 12 * 9 * 4 * np.log(n) / (gap * 0.5) + (3 * np.pi**2 / 6 + 1) * 2 * gap
    np.testing.assert_allclose(theorem_1(gaps, oracle.smoothness(), n), by_hand)


def test_theorem_1_of_a_coverage_bandit_by_hand():
    """Two pages with two readers of their own each, probabilities 0.9 and 0.4: Delta = 1.8 (1 - 1/e) - 0.8.
    The edges of a page share a counter; f(x) = 2x, for one page is chosen."""
    graph = nx.Graph()
    graph.add_nodes_from("ab", bipartite=0)
    graph.add_nodes_from(range(4), bipartite=1)
    graph.add_edges_from([("a", 0), ("a", 1), ("b", 2), ("b", 3)])
    oracle, n = MaxCoverage(graph, 1), np.array([10, 10**5])
    gaps = reward_gaps(oracle, [0.9, 0.9, 0.4, 0.4], [[0], [1]])
    gap = 1.8 * (1 - 1 / np.e) - 0.8
    np.testing.assert_allclose(gaps.smallest, [np.nan, np.nan, gap, gap])
    by_hand = 6 * np.log(n) * 2**2 / gap + (np.pi**2 / 3 + 1) * 4 * gap
    np.testing.assert_allclose(theorem_1(gaps, oracle.smoothness(), n), by_hand)


def test_measured_regret_of_coverage_keeps_the_bounds():
    """Of four pages two; the regret is against 1 - 1/e of the best, so that most runs gain on it."""
    environment, n = Coverage(pages(), 2, "p"), [10, 1000, 10_000]
    oracle = MaxCoverage(pages(), 2)
    gaps = reward_gaps(oracle, environment.means, combinations(range(4), 2))
    assert gaps.overall > 0
    result = simulate(CUCB(oracle), environment, n[-1], replications=4, checkpoints=n, rng=0)
    measured = result.regret.mean(axis=0)
    assert (measured < theorem_1(gaps, oracle.smoothness(), n)).all()
    assert (measured < theorem_2(gaps, oracle.smoothness(), n)).all()
