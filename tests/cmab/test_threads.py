"""Objects may be shared between threads: the answers are those of one thread."""

import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from cases import STREETS, pages

from cmab import CTS, CUCB, ArmStatistics, Feedback, simulate
from instances import BernoulliArms, Coverage, IndependentCascade, SemiBandit
from oracles import BruteForce, DirectedGraph, GraphicMatroid, InfluenceMaximization, MaxCoverage, TopK


def test_shared_statistics_count_every_round():
    """Compiled code runs without the interpreter lock: what four threads tell is all counted.

    Rounds of many arms, so that updates overlap.
    """
    n, each = 50_000, 20
    stats, start, arms = ArmStatistics.empty(n), threading.Barrier(4), np.arange(n)
    stats.update(Feedback(arms, np.full(n, 1.5)))  # compiled now

    def tell(worker):
        feedback = Feedback(arms, np.full(n, float(worker)))
        start.wait()
        for _ in range(each):
            stats.update(feedback)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tell, range(4)))
    assert stats.rounds == 1 + 4 * each
    assert (stats.counts == 1 + 4 * each).all()
    np.testing.assert_allclose(stats.means, 1.5)
    np.testing.assert_allclose(stats.deviations, 4 * each * 1.25)


def problems():
    """Yield a policy's oracle and an environment, one of each way to play rounds."""
    tails = np.repeat(np.arange(40), 3)
    graph = DirectedGraph.from_edges(tails, (tails + np.tile([1, 5, 11], 40)) % 40)  # a ring with chords
    cascade = IndependentCascade(graph, np.full(120, 0.2), k=2, n_rr_sets=2**12)
    yield InfluenceMaximization(graph, 2, epsilon=0.3), cascade
    arms = BernoulliArms(np.linspace(0.2, 0.8, 8))
    for oracle in (TopK(8, 3), GraphicMatroid(STREETS), BruteForce(8, [[0, 1], [7]])):
        yield oracle, SemiBandit(arms, oracle)
    yield MaxCoverage(pages(), 2), Coverage(pages(), 2)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [CTS, CUCB])
def test_simulations_in_threads_are_those_of_one(policy):
    for oracle, environment in problems():
        alone = simulate(policy(oracle), environment, 40, replications=4, rng=0)
        with joblib.parallel_config(backend="threading"):
            together = simulate(policy(oracle), environment, 40, replications=4, rng=0, n_jobs=4)
        assert (together.rewards == alone.rewards).all()
        assert (together.regret == alone.regret).all() or np.isnan(alone.regret).all()
