"""An index rule of a user with a memory: the lazy loop and the Python loop call one learning rule."""

import numpy as np

from cmab import CUCB, simulate
from cmab.compiled import learn_kernel
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = np.random.default_rng(3).permutation(np.linspace(0.1, 0.9, 30))


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


def test_the_lazy_loop_calls_the_learning_rule():
    oracle = TopK(30, 2)
    runs = [
        simulate(Counting(oracle), kind(BernoulliArms(MEANS), oracle), 400, replications=2, rng=5)
        for kind in (SemiBandit, NoKernel)
    ]
    assert [run.path for run in runs] == ["compiled", "python"]
    assert np.array_equal(runs[0].rewards, runs[1].rewards)
    for one, other in zip(runs[0].states, runs[1].states, strict=True):
        for name in ("counters", "means", "deviations", "memory", "rounds"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(runs[0].states[0].memory, [*runs[0].states[0].counts, 400])
