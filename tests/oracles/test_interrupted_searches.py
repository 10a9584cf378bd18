"""Ctrl-C during long searches ends the search and reaches the caller."""

import signal
import threading
import time

import networkx as nx
import numpy as np
import pytest

from oracles import MultidimensionalKnapsack, VertexCover
from oracles.anytime import Clock


def knapsack():
    """A problem that takes HiGHS minutes."""
    rng = np.random.default_rng(5)
    weights = rng.integers(1, 1000, (10, 100))
    means = np.round(weights.mean(0) / 1000 + 0.1 * np.round(rng.random(100), 3), 3)
    return MultidimensionalKnapsack(weights, weights.sum(1) // 2), means


def vertex_cover():
    graph = nx.gnm_random_graph(300, 1500, seed=1)
    return VertexCover(graph), np.round(np.random.default_rng(1).random(300), 3)


@pytest.mark.parametrize("make", [knapsack, vertex_cover])
@pytest.mark.parametrize("delay", [0.02, 0.2])
def test_ctrl_c_ends_the_search(make, delay):
    oracle, means = make()
    oracle.solve(np.zeros(oracle.n_arms), np.random.default_rng(0))
    timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        oracle.solve(means, np.random.default_rng(0))
        # A fast machine finishes first.
        time.sleep(10.0)
    first = (np.arange(oracle.n_arms) < 3) * 1.0
    assert oracle.is_feasible(oracle.solve(first, np.random.default_rng(0)))


def test_handlers_are_restored_and_parts_of_a_search_end_with_it():
    usual = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Clock(None) as whole, whole.limited(0.5) as part:
        assert not part.is_over
        signal.raise_signal(signal.SIGINT)
        assert part.is_over
    assert signal.getsignal(signal.SIGINT) is usual
