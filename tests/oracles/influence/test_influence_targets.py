"""Seeds of one group that are to reach another: candidates that are worth nothing themselves."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from oracles import (
    BudgetedInfluence,
    DirectedGraph,
    InfluenceMaximization,
)
from oracles.influence.search import Search
from oracles.influence.spread import exact_spread, exact_threshold_spread

SEEDS, TARGETS = np.arange(4), np.arange(6, 9)
WORTH = np.isin(np.arange(9), TARGETS) * np.linspace(1.0, 2.0, 9)


def network(rng):
    """Four candidates, two between, three targets; arcs lead from each of these to the next, or further."""
    tails, heads = rng.integers(0, 6, 9), rng.integers(4, 9, 9)
    ahead = heads > tails
    return DirectedGraph.from_edges(tails[ahead], heads[ahead], n_nodes=9)


def budgeted(graph, k, *, candidates, **options):
    costs = np.where(np.isin(np.arange(graph.n_nodes), candidates), 1.0, 100.0)
    return BudgetedInfluence(graph, costs, budget=float(k), **options)


@pytest.mark.parametrize(
    ("make", "exact"),
    [
        (InfluenceMaximization, exact_spread),
        (
            lambda *sizes, **given: InfluenceMaximization(*sizes, search=Search(sampler="pairs"), **given),
            exact_spread,
        ),
        (budgeted, exact_spread),
        (lambda *sizes, **given: InfluenceMaximization(*sizes, model="lt", **given), exact_threshold_spread),
    ],
    ids=["usual", "pairs", "budget", "threshold"],
)
def test_seeds_of_one_group_reach_another(make, exact):
    """Certificates against enumeration, at an allowed failure of 0.2 a call: false alarm 1e-6 a row."""
    rng, calls, delta, failures = np.random.default_rng(4), 60, 0.2, 0
    for trial in range(calls):
        graph = network(rng)
        means = rng.random(graph.n_arcs) / np.bincount(graph.heads, minlength=9)[graph.heads]
        k = int(rng.integers(1, 3))
        oracle = make(graph, k, candidates=SEEDS, node_weights=WORTH, epsilon=0.2, delta=delta)
        answer = oracle.solve_certified(means, np.random.default_rng(trial))
        assert np.isin(answer.seeds, SEEDS).all()
        values = {
            seeds: exact(graph, means, np.array(seeds), node_weights=WORTH)
            for seeds in combinations(range(4), k)
        }
        failures += values[tuple(np.sort(answer.seeds))] < answer.ratio * max(values.values()) - 1e-9
    assert failures <= binom.isf(1e-6, calls, delta)


def test_the_one_way_to_the_targets_is_found():
    """Over two arcs, of which the second has a small probability: the schedule needs some floor."""
    graph = DirectedGraph.from_edges([0, 1, 2, 3], [2, 3, 4, 4], n_nodes=5)
    for make in (InfluenceMaximization, budgeted):
        oracle = make(graph, 1, candidates=[0, 1], node_weights=[0, 0, 0, 0, 5.0], epsilon=0.2)
        means = np.array([0.9, 0.1, 0.01, 0.01])
        answer = oracle.solve_certified(means, np.random.default_rng(0))
        assert answer.seeds.tolist() == [0]
        assert answer.certified
        assert answer.spread == pytest.approx(0.045, rel=0.3)
