"""Oracles of influence choose among the available nodes alone, with the guarantee that they declare."""

from functools import partial

import numpy as np
import pytest
from cases import INFLUENCE

from oracles import BudgetedInfluence, DegreeHeuristic, DirectedGraph, InfluenceMaximization, MonteCarloGreedy

DELTA = 1e-7  # of 27 calls in all: false alarms below 3e-6
N = 7
CERTIFIED = [pytest.param(case.make, case.model, id=case.name) for case in INFLUENCE]
HEURISTICS = [
    pytest.param(partial(DegreeHeuristic, rule="single"), id="degree"),
    pytest.param(partial(MonteCarloGreedy, cascades=20), id="simulated"),
]


def problem(seed):
    """A graph of seven nodes whose spreads can be enumerated, means, and five nodes that are available."""
    rng = np.random.default_rng(seed)
    tails, heads = np.nonzero(rng.random((N, N)) < 0.3)
    graph = DirectedGraph.from_edges(tails[tails != heads], heads[tails != heads], n_nodes=N)
    means = rng.uniform(0.1, 0.9, graph.n_arcs) / np.maximum(graph.in_degrees, 1)[graph.heads]
    available = np.ones(N, bool)
    available[rng.choice(N, 2, replace=False)] = False
    return graph, means, available


@pytest.mark.parametrize(
    "make", [*(row.values[0] for row in CERTIFIED), *(row.values[0] for row in HEURISTICS)]
)
def test_it_is_the_oracle_of_the_candidates_that_are_left(make):
    graph, means, available = problem(5)
    left = np.flatnonzero(available)
    whole, fewer = make(graph, 2), make(graph, 2, candidates=left)
    before = whole.solve(means, np.random.default_rng(1)).tolist()
    answers = [
        whole.solve_within(means, available, np.random.default_rng(3)),
        fewer.solve(means, np.random.default_rng(3)),
    ]
    assert answers[0].tolist() == answers[1].tolist()
    assert whole.candidates.all()
    assert whole.solve(means, np.random.default_rng(1)).tolist() == before


def test_what_leaves_no_super_arm_is_refused():
    graph, means, _ = problem(0)
    one = np.arange(N) == 2
    with pytest.raises(
        ValueError, match=r"available must contain a super arm of InfluenceMax.*, got .*\[2\]"
    ):
        InfluenceMaximization(graph, 2).solve_within(means, one, 0)
    targeted = InfluenceMaximization(graph, 1, node_weights=[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    assert targeted.solve_within(means, one, 0).tolist() == [2]
    within = BudgetedInfluence(graph, [9.0, *[1.0] * (N - 1)], budget=2.0)
    with pytest.raises(ValueError, match="available must contain a super arm"):
        within.solve_within(means, np.arange(N) == 0, 0)
    assert within.solve_within(means, one, 0).tolist() == [2]
