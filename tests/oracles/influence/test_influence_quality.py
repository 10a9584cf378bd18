"""How good seeds are: more sets are never worse, and what is certified of them holds."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from instances import weighted_cascade
from oracles import BudgetedInfluence, DirectedGraph, InfluenceMaximization
from oracles.influence.certificate import log_binomial
from oracles.influence.search import Search
from oracles.influence.spread import exact_spread


def tailed(n=1000, arcs=4000):
    """Some nodes have many arcs out, most hardly any."""
    rng = np.random.default_rng(0)
    tails = np.minimum(rng.pareto(1.0, arcs) * 20, n - 1).astype(np.int64)
    graph = DirectedGraph.from_edges(tails, (tails + rng.integers(1, n, arcs)) % n, n_nodes=n)
    return graph, weighted_cascade(graph)


def shapes():
    """Graphs whose best seeds are found by enumeration, none of them random arcs throughout."""
    i = np.arange(7)
    yield "star", DirectedGraph.from_edges(np.zeros(7, int), i + 1, n_nodes=8)
    yield "path", DirectedGraph.from_edges(i, i + 1, n_nodes=8)
    yield "cycle", DirectedGraph.from_edges(np.append(i, 7), np.append(i + 1, 0), n_nodes=8)
    yield "tree", DirectedGraph.from_edges(i // 2, i + 1, n_nodes=8)
    sides = np.array([(a, 3 + b) for a in range(3) for b in range(4)])
    yield "two sides", DirectedGraph.from_edges(*sides.T, n_nodes=8)
    core = np.array([(a, b) for a in range(3) for b in range(3) if a != b])
    yield "dense core, isolated nodes", DirectedGraph.from_edges(*core.T, n_nodes=9)


@pytest.mark.parametrize(("name", "graph"), list(shapes()))
@pytest.mark.parametrize("quality", ["fast", "good", 0.1])
def test_what_is_certified_holds_on_every_shape(name, graph, quality):
    """Ratios against optima by enumeration, at an allowed failure of 0.3 a call: false alarm 1e-6 a row."""
    rng, delta, calls, failures = np.random.default_rng(3), 0.3, 40, 0
    for trial in range(calls):
        k = int(rng.integers(1, 3))
        means = rng.random(graph.n_arcs) * rng.choice([0.1, 0.5, 1.0])
        options = {"epsilon": 0.2, "delta": delta, "search": Search(quality=quality)}
        oracle = InfluenceMaximization(graph, k, **options)
        if trial % 3 == 0:
            oracle = BudgetedInfluence(graph, np.ones(graph.n_nodes), budget=float(k), **options)
        answer = oracle.solve_certified(means, np.random.default_rng(trial))
        families = combinations(range(graph.n_nodes), k)
        best = max(exact_spread(graph, means, np.array(seeds)) for seeds in families)
        assert oracle.alpha <= answer.ratio <= 1.0
        failures += exact_spread(graph, means, answer.seeds) < answer.ratio * best - 1e-9
    assert failures <= binom.isf(1e-6, calls, delta)


def test_seeds_meet_as_many_sets_as_their_quality_asks_for():
    """Sets that chose meet them more often than others, hardly twice as often here."""
    graph, means = tailed()
    oracle = InfluenceMaximization(graph, 20, search=Search(quality=2.0))
    answer = oracle.solve_certified(means, np.random.default_rng(0))
    met = answer.rr_sets / 1.25 * answer.spread / graph.n_nodes
    assert met >= 0.5 * 2.0 * 15.0 * log_binomial(graph.n_nodes, 20)
    assert answer.ratio > oracle.alpha + 0.05
