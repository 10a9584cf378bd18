"""Signals during long searches: their exceptions end the search and reach the caller."""

import signal
import time

import networkx as nx
import numpy as np
import pytest

from oracles import MultidimensionalKnapsack, VertexCover
from oracles._watch import _OTHERS, watched

NAMES = ["SIGINT", *(signal.Signals(number).name for number in _OTHERS)]


@pytest.fixture
def handled():
    """Set handlers for one test."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_OTHERS)}
    yield signal.signal
    for number, handler in before.items():
        signal.signal(number, handler)


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
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that send signals")
@pytest.mark.parametrize("delay", [0.02, 0.2])
def test_an_exception_of_a_timer_ends_the_search(handled, make, delay):
    oracle, means = make()
    oracle.solve(np.zeros(oracle.n_arms), 0)

    def raising(*_):
        raise KeyboardInterrupt("the time is over")

    handled(signal.SIGALRM, raising)
    signal.setitimer(signal.ITIMER_REAL, delay)
    with pytest.raises(KeyboardInterrupt, match="the time is over"):
        oracle.solve(means, 0)
        # A fast machine finishes first.
        time.sleep(10.0)
    assert signal.getsignal(signal.SIGALRM) is raising
    first = (np.arange(oracle.n_arms) < 3) * 1.0
    assert oracle.is_feasible(oracle.solve(first, 0))


@pytest.mark.parametrize("name", NAMES)
def test_handlers_are_called_and_restored(handled, name):
    number, calls = signal.Signals[name], []

    def raising(number, _):
        calls.append(number)
        raise ZeroDivisionError

    handled(number, raising)
    with pytest.raises(ZeroDivisionError), watched("outer"), watched("inner") as watch:
        signal.raise_signal(number)
        assert watch.is_interrupted
        raise ValueError("an error of the search, which the exception of the handler replaces")
    assert calls == [number]
    assert signal.getsignal(number) is raising


@pytest.mark.parametrize("name", NAMES[1:])
def test_other_handlers_do_not_end_a_search(handled, name):
    number, calls = signal.Signals[name], []
    handled(number, lambda *_: calls.append(1))
    with watched("search") as watch:
        signal.raise_signal(number)
        assert calls == [1]
        assert not watch.is_interrupted
