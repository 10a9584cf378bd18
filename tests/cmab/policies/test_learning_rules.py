"""Index rules with a memory: all loops call one learning rule, and so does ask and tell."""

from dataclasses import dataclass

import numpy as np
import pytest

from cmab import CUCB, CompiledIndexPolicy, Feedback, Session, simulate
from cmab.compiled import index_kernel, learn_kernel
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = np.random.default_rng(3).permutation(np.linspace(0.1, 0.9, 30))


@learn_kernel
def discount(arms, n, outcomes, t, reals, memory):
    """`memory`: discounted counts, means by them, and the discounted number of rounds."""
    m, gamma = memory.shape[0] // 2, reals[0]
    for i in range(m):
        memory[i] *= gamma
    for j in range(n):
        i = arms[j]
        memory[i] += 1.0
        memory[m + i] += (outcomes[j] - memory[m + i]) * (1.0 / memory[i])
    memory[2 * m] = gamma * memory[2 * m] + 1.0


@index_kernel
def discounted_bounds(counts, means, deviations, memory, t, reals, rng, out):
    m, term = memory.shape[0] // 2, 1.5 * np.log(memory[memory.shape[0] - 1] + 1.0)
    for i in range(m):
        bound = min(memory[m + i] + np.sqrt(term / memory[i]), 1.0)
        out[i] = bound if memory[i] > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class DiscountedCUCB(CompiledIndexPolicy):
    """CUCB with counts and means in which an outcome weighs less with every round."""

    gamma: float = 1.0

    def memory(self):
        return np.zeros(2 * self.oracle.n_arms + 1)

    def rule(self):
        return discounted_bounds

    def learning_rule(self):
        return discount

    def parameters(self):
        return np.array([self.gamma])


class Counting(CUCB):
    """CUCB on the lazy loop, with a memory of how often each arm was seen and of the last round."""

    def memory(self):
        return np.zeros(31)

    def learning_rule(self):
        return count


@learn_kernel
def count(arms, n, outcomes, t, reals, memory):
    for j in range(n):
        memory[arms[j]] += 1.0
    memory[30] = t


class NoKernel(SemiBandit):
    def kernel(self):
        return None


def assert_same_in_both_loops(make, k, horizon=400):
    """Play the same run by the compiled loop and in Python, compare them, and return its first state."""
    runs = [
        simulate(make(TopK(30, k)), kind(BernoulliArms(MEANS), TopK(30, k)), horizon, replications=2, rng=5)
        for kind in (SemiBandit, NoKernel)
    ]
    assert [run.path for run in runs] == ["compiled", "python"]
    assert np.array_equal(runs[0].rewards, runs[1].rewards)
    for one, other in zip(runs[0].states, runs[1].states, strict=True):
        for name in ("counters", "means", "deviations", "memory", "rounds"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    return runs[0].states[0]


@pytest.mark.parametrize("gamma", [0.97, 1.0])
def test_both_loops_call_the_learning_rule(gamma):
    state = assert_same_in_both_loops(lambda oracle: DiscountedCUCB(oracle, gamma=gamma), 4)
    assert state.memory.any()


def test_the_lazy_loop_calls_it_too():
    state = assert_same_in_both_loops(Counting, 2)
    assert np.array_equal(state.memory, [*state.counts, 400])


def test_sums_of_outcomes_are_refused_and_change_nothing():
    session = Session(DiscountedCUCB(TopK(3, 1)), rng=0)
    session.ask()
    with pytest.raises(ValueError, match=r"feedback\.pulls must be None for DiscountedCUCB"):
        session.tell(Feedback([0], [2.0], pulls=[3]))
    assert session.pending == (0,) and not session.state.memory.any()
