"""A call that does not return is ended by the checks, and named."""

import signal
import threading

import numpy as np
import pytest

from cmab import Oracle
from cmab.testing import ConformanceError, _limits, check, checks
from oracles import TopK


class Search(TopK):
    """Searches for a second arm with other means, which it does not find if all are equal."""

    def solve(self, means, rng):
        second = 0
        while means[second] == means[0]:
            try:
                second = (second + 1) % self.n_arms
            except Exception:
                second = 0
        return super().solve(means, rng)


class Inner(Oracle):
    """Delegates to another oracle, whose call does not return."""

    def __init__(self):
        self.n_arms, self.inner = 4, Search(4, 2)

    def solve(self, means, rng):
        return self.inner.solve(means, rng)

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].sum())


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(_limits, "_TICK", 0.05)
    monkeypatch.setattr(_limits, "_LOOKS", 6)


@pytest.mark.parametrize(("oracle", "name"), [(Search(4, 2), "Search"), (Inner(), "Inner")])
def test_the_call_is_named_and_the_other_checks_do_not_run(short, oracle, name):
    with pytest.raises(ConformanceError, match=rf"^process: {name}\.solve\(means=array") as caught:
        check(oracle)
    assert "within 0.3 seconds of the processor" in str(caught.value)
    assert "checks were not run" in str(caught.value)
    assert len(caught.value.report.results) == 1


def test_a_single_check_is_limited_too(short):
    ties = next(each for each in checks(Search(4, 2)) if each.title == "ties")
    with pytest.raises(AssertionError, match="Reason: Tied means occur in every first round"):
        ties.run()


def test_the_timer_and_the_handler_are_restored(short):
    with pytest.raises(ConformanceError):
        check(Search(4, 2))
    assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def work(seconds):
    """Use the processor in this thread, with a new call of `TopK.solve` in each step."""
    import time

    oracle, rng, until = TopK(4, 2), np.random.default_rng(0), time.thread_time() + seconds
    while time.thread_time() < until:
        oracle.solve(np.full(4, 0.5), rng)


def test_many_short_calls_may_take_longer(short):
    with _limits.limited_calls(TopK):
        work(1.0)


def test_a_timer_of_the_program_is_left_alone(short, monkeypatch):
    seen = []
    former = signal.signal(signal.SIGVTALRM, lambda *_: seen.append(1))
    try:
        with _limits.limited_calls(TopK):
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
            work(0.5)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, former)
    assert seen == [1]


def test_other_threads_are_not_limited(short):
    failed = []

    def run():
        try:
            with _limits.limited_calls(TopK):
                work(0.1)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not failed
