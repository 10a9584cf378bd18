"""One oracle, many threads: answers are those of one thread, whoever solves."""

import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import networkx as nx
import numpy as np
import pulp
import pytest

import cmab
from instances import BernoulliArms, SemiBandit
from oracles import Matching, PuLPOracle

THREADS = 4


def packing():
    """A packing problem whose relaxation is fractional, with an arm that is free."""
    rng, problem = np.random.default_rng(0), pulp.LpProblem("packing", pulp.LpMaximize)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(7)]
    for row in rng.integers(1, 6, (3, 6)):
        problem += pulp.lpSum(int(w) * v for w, v in zip(row, x, strict=False)) <= 8
    return problem, x


def by_pulp():
    return PuLPOracle(*packing(), solver=pulp.HiGHS(msg=False, threads=1))


SOLVERS = {
    "matching": (lambda: Matching(nx.complete_graph(5), method="pulp"), 24),
    "blossom": (lambda: Matching(nx.complete_graph(5), method="blossom"), 24),
    "assignment": (lambda: Matching(nx.complete_bipartite_graph(4, 4), method="assignment"), 24),
    "model": (lambda: PuLPOracle(*packing()), 12),
    "pulp": (by_pulp, 8),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_threads_share_an_oracle(name):
    make, calls = SOLVERS[name]
    oracle, alone = make(), make()
    rng = np.random.default_rng(1)
    questions = [rng.choice([0.0, 0.5, 1.0], oracle.n_arms) for _ in range(calls // 2)]
    questions += [rng.random(oracle.n_arms) for _ in range(calls // 2)]
    expected = [alone.solve(means, rng).tolist() for means in questions]
    kept = [alone.solve_constrained(means, [0], [1], rng).tolist() for means in questions]
    barrier = threading.Barrier(THREADS)

    def ask(start):
        barrier.wait()
        order = np.roll(np.arange(calls), start)
        return [
            (
                i,
                oracle.solve(questions[i], rng).tolist(),
                oracle.solve_constrained(questions[i], [0], [1], rng),
            )
            for i in order
        ]

    with ThreadPoolExecutor(THREADS) as pool:
        for answers in pool.map(ask, range(THREADS)):
            for i, answer, constrained in answers:
                assert answer == expected[i]
                assert constrained.tolist() == kept[i]
    if hasattr(oracle, "_pool"):
        assert len(oracle._pool._free) <= THREADS


def test_replications_in_threads_are_those_of_one():
    oracle = Matching(nx.complete_graph(4), method="pulp")
    environment = SemiBandit(
        BernoulliArms([0.9, 0.5, 0.7, 0.3, 0.6, 0.8]), Matching(nx.complete_graph(4), method="pulp")
    )
    alone = cmab.simulate(cmab.CTS(oracle), environment, 40, replications=4, rng=0)
    with joblib.parallel_config(backend="threading"):
        shared = cmab.simulate(cmab.CTS(oracle), environment, 40, replications=4, rng=0, n_jobs=4)
    assert np.array_equal(alone.expected_rewards, shared.expected_rewards)
