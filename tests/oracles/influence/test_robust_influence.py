"""Seeds for intervals of probabilities, against the worst corner of the box by enumeration."""

from itertools import combinations, product

import numpy as np
import pytest
from cases import Coins
from scipy.stats import binom

from oracles import DirectedGraph, InfluenceMaximization, TriggeringInfluence, robust_seeds
from oracles.influence.search import Search
from oracles.influence.spread import exact_spread, exact_threshold_spread


def box(rng, arcs=5, n=6):
    """A graph of few arcs, and an interval for each; some are points, some reach 0 or 1."""
    pairs = np.array([(u, v) for u in range(n) for v in range(n) if u != v])
    tails, heads = pairs[rng.choice(len(pairs), arcs, replace=False)].T
    ends = np.sort(rng.random((2, arcs)), axis=0)
    ends[:, rng.random(arcs) < 0.2] = rng.choice([0.0, 0.5, 1.0])
    return DirectedGraph.from_edges(tails, heads, n_nodes=n), *ends


def least_ratio(exact, graph, lows, highs, k, seeds):
    """Return the least share of the optimum in the box, which is at a corner.

    Spreads are linear in each single probability, so that the ratio of two is monotone in it.
    """
    least = 1.0
    for corner in product(*np.transpose([lows, highs])):
        means = np.array(corner)
        best = max(exact(graph, means, np.array(other)) for other in combinations(range(graph.n_nodes), k))
        least = min(least, exact(graph, means, seeds) / best)
    return least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "exact"),
    [
        (InfluenceMaximization, exact_spread),
        (
            lambda *sizes, **given: InfluenceMaximization(*sizes, search=Search(sampler="pairs"), **given),
            exact_spread,
        ),
        (lambda *sizes, **given: InfluenceMaximization(*sizes, model="lt", **given), exact_threshold_spread),
    ],
    ids=["usual", "pairs", "threshold"],
)
def test_the_ratio_holds_at_the_worst_corner(make, exact):
    """At an allowed failure of 0.2 a call: false alarm 1e-6 a row."""
    rng, delta, calls, failures, ratios = np.random.default_rng(6), 0.2, 20, 0, []
    for trial in range(calls):
        graph, lows, highs = box(rng)
        if exact is exact_threshold_spread:
            share = np.maximum(1.0, np.bincount(graph.heads, highs, 6))[graph.heads]
            lows, highs = lows / share, highs / share
        k = int(rng.integers(1, 3))
        oracle = make(graph, k, epsilon=0.2, delta=delta)
        answer = robust_seeds(oracle, lows, highs, np.random.default_rng(trial))
        failures += least_ratio(exact, graph, lows, highs, k, answer.seeds) < answer.ratio - 1e-9
        failures += exact(graph, lows, answer.seeds) < answer.lowest - 1e-9
        ratios.append(answer.ratio)
    assert failures <= binom.isf(1e-6, calls, delta)
    assert max(ratios) > 0.6


def test_points_are_influence_maximisation_and_the_better_of_two_choices_is_taken():
    graph = DirectedGraph.from_edges([0, 0, 0, 4, 4, 4, 4], [1, 2, 3, 5, 6, 7, 8])
    oracle = InfluenceMaximization(graph, 1, epsilon=0.2)
    point = robust_seeds(oracle, np.full(7, 0.5), np.full(7, 0.5), np.random.default_rng(0))
    assert point.seeds.tolist() == [4]
    assert point.ratio > 0.8
    # At the upper ends node 4 is best, and worth 1 where nobody listens to it.
    unsure = robust_seeds(oracle, [0.9] * 3 + [0.0] * 4, [1.0] * 7, np.random.default_rng(0))
    assert (unsure.seeds.tolist(), unsure.chosen_at) == ([0], "lows")
    assert 0.6 < unsure.ratio <= 3.7 / 5.0
    again = robust_seeds(oracle, [0.9] * 3 + [0.0] * 4, [1.0] * 7, np.random.default_rng(0))
    assert again.ratio == unsure.ratio


def test_what_is_refused():
    graph, rng = DirectedGraph.from_edges([0, 1], [1, 2]), np.random.default_rng(0)
    oracle = InfluenceMaximization(graph, 1)
    with pytest.raises(ValueError, match="lows must be at most highs"):
        robust_seeds(oracle, [0.5, 0.5], [0.4, 0.6], rng)
    with pytest.raises(ValueError, match="highs must"):
        robust_seeds(oracle, [0.5, 0.5], [0.6, 1.6], rng)
    with pytest.raises(ValueError, match="lows must"):
        robust_seeds(oracle, [0.5], [0.6, 0.6], rng)
    with pytest.raises(TypeError, match="oracle must"):
        robust_seeds(TriggeringInfluence(graph, triggering=Coins(), k=1), [0.5, 0.5], [0.6, 0.6], rng)
