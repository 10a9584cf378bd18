"""CSAR on combinatorial families: the right super arm, feasible at any time, both senses."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from exploring import errors
from scipy.stats import binom

from cmab import CSAR, Feedback
from instances import GaussianArms
from oracles import BruteForce, GraphicMatroid, PartitionMatroid

GRAPH = nx.complete_graph(5)
FAMILIES = {
    "tree": lambda: GraphicMatroid(GRAPH),
    "tree_min": lambda: GraphicMatroid(GRAPH, "min"),
    "partition": lambda: PartitionMatroid(list("aaabbbbccc"), {"a": 1, "b": 2, "c": 1}),
    "any_sets": lambda: BruteForce(10, [(0, 1, 2), (3, 4), (5, 6, 7, 8), (0, 9), (2, 4, 6, 8)]),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_finds_the_best_super_arm(family):
    """Errors at a rate of 5 % would be many more than seen; false alarm below 1e-6."""
    oracle = FAMILIES[family]()
    means = np.random.default_rng(3).permutation(np.linspace(0.1, 1.0, 10))
    best = np.sort(oracle.solve(means, np.random.default_rng(0)))
    rule = CSAR(oracle, budget=4000)
    wrong = errors(rule, GaussianArms(means, sigma=0.2), lambda arms: np.array_equal(arms, best), 20)
    assert wrong <= binom.isf(1e-6, 20, 0.05)


@pytest.mark.parametrize("family", FAMILIES)
def test_recommends_a_feasible_super_arm_at_any_time(family):
    oracle = FAMILIES[family]()
    rule, rng = CSAR(oracle, budget=200), np.random.default_rng(5)
    state, environment = rule.initial_state(), GaussianArms(rng.random(10), sigma=1.0)
    undecided = [10]
    while not rule.is_done(state):
        assert oracle.is_feasible(rule.recommend(state))
        arms = rule.select(state, rng)
        sums, squares = environment.pull_many(arms, np.full(len(arms), rule.pulls(state)), rng)
        rule.update(state, Feedback(arms, sums, pulls=np.full(len(arms), rule.pulls(state)), squares=squares))
        undecided.append(int(state.undecided.sum()))
    assert all(later < earlier for earlier, later in pairwise(undecided))
    assert np.array_equal(rule.recommend(state), np.flatnonzero(state.accepted))
