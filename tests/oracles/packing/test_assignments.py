"""Generalised assignment: enumeration, scipy's integer programs, b-matchings, and what is refused."""

import networkx as nx
import numpy as np
import pytest
from cases import assignments
from refusals import refused
from scipy.optimize import LinearConstraint, milp

from oracles import GeneralizedAssignment, Matching

RNG = np.random.default_rng


@pytest.mark.parametrize("is_whole", [True, False])
def test_by_enumeration(is_whole):
    """Exact and within a half; whole and other weights; constraints; complete ones for costs."""
    for seed in range(8):
        rng = RNG(seed)
        agents, jobs = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        weights = rng.integers(0, 6, (agents, jobs)) if is_whole else rng.random((agents, jobs)) * 5.0
        capacities = rng.integers(0, 9, agents)
        exact, near = (
            GeneralizedAssignment(weights, capacities, method=method) for method in ("program", "local_ratio")
        )
        family = assignments(weights, capacities)
        for means in (rng.random(exact.n_arms), rng.choice([0.0, 0.5, 1.0], exact.n_arms)):
            best = max(means[list(arms)].sum() for arms in family)
            one, two = exact.solve(means, rng), near.solve(means, rng)
            assert {tuple(one), tuple(two)} <= set(family)
            assert means[one].sum() == pytest.approx(best)
            assert means[two].sum() >= 0.5 * best - 1e-12
        for _ in range(30):
            arms = rng.permutation(exact.n_arms)[: rng.integers(0, 4)]
            assert exact.is_feasible(arms) == (tuple(sorted(arms.tolist())) in family)
        include, exclude = np.split(rng.permutation(exact.n_arms)[:2], [seed % 2])
        left = [arms for arms in family if set(include) <= set(arms) and not set(exclude) & set(arms)]
        found = near.solve_constrained(means, include, exclude, rng)
        assert (found is None) == (not left)
        if left:
            assert means[found].sum() == pytest.approx(max(means[list(arms)].sum() for arms in left))
        whole = assignments(weights, capacities, complete=True)
        if whole:
            oracle = GeneralizedAssignment(weights, capacities, complete=True, sense="min")
            cheapest = min(means[list(arms)].sum() for arms in whole)
            assert means[oracle.solve(means, rng)].sum() == pytest.approx(cheapest)
        else:
            with pytest.raises(ValueError, match="capacities must fit every job"):
                GeneralizedAssignment(weights, capacities, complete=True)


@pytest.mark.slow
def test_against_scipy():
    """Of a size that cannot be enumerated: 4 agents, 15 jobs."""
    for seed in range(3):
        rng = RNG(seed)
        weights, means = rng.integers(5, 26, (4, 15)), rng.random(60)
        capacities = np.full(4, 40)
        rows = np.zeros((19, 60))
        for agent, job in np.ndindex(4, 15):
            rows[agent, 15 * agent + job] = weights[agent, job]
            rows[4 + job, 15 * agent + job] = 1.0
        most = np.concatenate([capacities, np.ones(15)])
        theirs = milp(-means, constraints=LinearConstraint(rows, ub=most), integrality=1, bounds=(0, 1))
        exact, near = (
            GeneralizedAssignment(weights, capacities, method=method) for method in ("program", "local_ratio")
        )
        best = means[exact.solve(means, rng)].sum()
        assert best == pytest.approx(-theirs.fun)
        assert 0.5 * best <= means[near.solve(means, rng)].sum() <= best + 1e-12


def test_weights_of_one_are_b_matchings():
    graph = nx.complete_bipartite_graph(3, 5)
    oracle = GeneralizedAssignment(np.ones((3, 5)), [2, 1, 1])
    matching = Matching(graph, capacity={0: 2, 1: 1, 2: 1, **dict.fromkeys(range(3, 8), 1)})
    for seed in range(10):
        means = RNG(seed).normal(size=15)
        assert oracle.solve(means, 0).tolist() == matching.solve(means, 0).tolist()


test_bad_input_is_refused = refused(
    (lambda: GeneralizedAssignment([1, 2], [1]), "weights must have shape"),
    (lambda: GeneralizedAssignment([[1, -2]], [1]), "weights must be finite"),
    (lambda: GeneralizedAssignment([[1, 2]], [1, 2]), "capacities"),
    (lambda: GeneralizedAssignment([[1]], [1], method="best"), "method"),
    (lambda: GeneralizedAssignment([[1]], [1], sense="most"), "sense"),
    (lambda: GeneralizedAssignment([[1]], [1], method="local_ratio", sense="min"), "must be 'program'"),
    (lambda: GeneralizedAssignment([[1]], [1], gap=1.0), "gap"),
    (lambda: GeneralizedAssignment([[1]], [1], method="local_ratio").solve(np.array([-1.0]), 0), "means"),
)
