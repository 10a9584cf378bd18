"""Triggering probabilities against cascades, and Theorem 1 worked out by hand for influence and coverage."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from cases import ENVIRONMENTS, NETWORK

from cmab.bounds import gap_dependent_bound, reward_gaps
from cmab.oracle import smoothness_of
from instances import DeadlineCascade, IndependentCascade, LinearThreshold
from oracles import DeadlineInfluence, DirectedGraph, InfluenceMaximization, MaxCoverage


def oracles_of(environment):
    """Return the oracles that belong to an environment."""
    if isinstance(environment, DeadlineCascade):
        return [DeadlineInfluence(NETWORK, 2, deadline=environment.deadline, rates=1.0, epsilon=0.3)]
    if isinstance(environment, IndependentCascade):
        return [InfluenceMaximization(NETWORK, 2, epsilon=0.3)]
    if isinstance(environment, LinearThreshold):
        return [InfluenceMaximization(NETWORK, 2, epsilon=0.3, model="lt")]
    return [environment.oracle] if hasattr(environment, "oracle") else []


@pytest.mark.parametrize("case", ENVIRONMENTS, ids=lambda case: case.name)
def test_triggering_probabilities_are_those_of_what_is_shown(case):
    """What an oracle claims is what its environment shows, or None: shares of 4,000 rounds within 6 standard
    errors, for some 30 arms and 3 super arms of each of 10 pairs: a false alarm in 2e-6 of all runs."""
    environment, rounds = case.make(), 4000
    for oracle in oracles_of(environment):
        for super_arm in case.super_arms:
            chosen, seen, rng = np.array(super_arm), np.zeros(environment.n_arms), np.random.default_rng(3)
            chances = oracle.triggering_probabilities(chosen, environment.means)
            if chances is None or getattr(environment, "feedback", "edge") != "edge":
                continue
            for _ in range(rounds):
                seen[environment.play(chosen, rng).arms] += 1
            errors = np.sqrt(chances * (1 - chances) / rounds)
            assert (np.abs(seen / rounds - chances) <= 6 * errors + 1e-12).all()


def active(graph, live, seeds):
    """Return the nodes reached over live arcs, by going round until nothing changes."""
    reached = np.isin(np.arange(graph.n_nodes), seeds)
    for _ in range(graph.n_nodes):
        reached[graph.heads[live & reached[graph.tails]]] = True
    return reached


def test_triggering_probabilities_are_sums_over_all_worlds():
    rng = np.random.default_rng(5)
    for _ in range(10):
        n = int(rng.integers(2, 7))
        ends = rng.integers(0, n, (2, 8))
        graph = DirectedGraph.from_edges(*ends[:, ends[0] != ends[1]], n_nodes=n)
        means, seeds = rng.choice([0.0, 0.3, 0.8, 1.0], graph.n_arcs), rng.permutation(n)[: min(2, n)]
        wanted = np.zeros(n)
        for world in product([False, True], repeat=graph.n_arcs):
            live = np.array(world, bool)
            wanted += np.prod(np.where(live, means, 1 - means)) * active(graph, live, seeds)
        oracle = InfluenceMaximization(graph, len(seeds), epsilon=0.3, node_weights=np.arange(1.0, n + 1))
        chances = oracle.triggering_probabilities(seeds, means)
        np.testing.assert_allclose(chances, wanted[graph.tails], atol=1e-12)
        assert oracle.expected_reward(seeds, means) == pytest.approx(wanted @ oracle.node_weights)


def test_theorem_1_of_an_influence_bandit_by_hand():
    """a -> b with 0.5, b -> c with 0.25, one seed: 1.625, 1.25, 1. At alpha = 0.9 b misses by 0.2125, c by
    0.4625, and only b triggers an arm, the second, which a triggers with probability 0.5.
    Section 4.3: 12 |V|^2 |E|^2 ln n / (Delta^2 p) times Delta, for Delta_min = Delta_max."""
    oracle = InfluenceMaximization(DirectedGraph.from_edges([0, 1], [1, 2]), 1, epsilon=0.3)
    oracle.alpha = 0.9
    gaps = reward_gaps(oracle, [0.5, 0.25], super_arms=[[0], [1], [2]])
    assert gaps.n_bad.tolist() == [0, 1]
    np.testing.assert_allclose(gaps.probabilities, [1.0, 0.5])
    n, gap = np.array([10, 10**5]), 0.9 * 1.625 - 1.25
    by_hand = 12 * 9 * 4 * np.log(n) / (gap * 0.5) + (3 * np.pi**2 / 6 + 1) * 2 * gap
    np.testing.assert_allclose(gap_dependent_bound(gaps, smoothness_of(oracle), rounds=n), by_hand)


def test_theorem_1_of_a_coverage_bandit_by_hand():
    """Two pages with two readers of their own each, probabilities 0.9 and 0.4: Delta = 1.8 - 0.8.
    The edges of a page share a counter; f(x) = 2x, for one page is chosen."""
    graph = nx.Graph()
    graph.add_nodes_from("ab", bipartite=0)
    graph.add_nodes_from(range(4), bipartite=1)
    graph.add_edges_from([("a", 0), ("a", 1), ("b", 2), ("b", 3)])
    oracle, n = MaxCoverage(graph, 1), np.array([10, 10**5])
    gaps = reward_gaps(oracle, [0.9, 0.9, 0.4, 0.4], super_arms=[[0], [1]])
    gap = 1.8 - 0.8
    np.testing.assert_allclose(gaps.smallest, [np.nan, np.nan, gap, gap])
    by_hand = 6 * np.log(n) * 2**2 / gap + (np.pi**2 / 3 + 1) * 4 * gap
    np.testing.assert_allclose(gap_dependent_bound(gaps, smoothness_of(oracle), rounds=n), by_hand)
