"""Policies with a compiled rule that differs from their methods in Python, and one whose rules agree."""

import math

import numpy as np
from planted_oracles import Fault
from planted_policies import K, N

from cmab import IndexPolicy
from cmab.compiled import Kernel, index_kernel, learn_kernel


@index_kernel
def drawn(counts, means, deviations, memory, t, reals, rng, out):
    for i in range(counts.shape[0]):
        won = counts[i] * means[i]
        out[i] = rng.beta(1.0 + won, 1.0 + reals[0] * max(counts[i] - won, 0.0))


@index_kernel
def bounded(counts, means, deviations, memory, t, reals, rng, out):
    for i in range(counts.shape[0]):
        out[i] = 1.0
        if counts[i] > 0:
            out[i] = memory[i] + math.sqrt(1.5 * math.log(t) / counts[i])


@learn_kernel
def smoothed(arms, n, outcomes, t, reals, memory):
    for j in range(n):
        memory[arms[j]] += reals[0] * (outcomes[j] - memory[arms[j]])


class Posterior(IndexPolicy):
    """Sound: Beta posteriors, in Python and compiled."""

    weight = 1.0

    def indices(self, stats, rng):
        won = stats.counts * stats.means
        return rng.beta(1 + won, 1 + np.maximum(stats.counts - won, 0))

    def kernel(self):
        return Kernel(drawn, reals=np.array([self.weight]), is_random=True)


class DoubledFailures(Posterior):
    """Its compiled rule counts failures twice."""

    weight = 2.0


class Smoothed(IndexPolicy):
    """Sound: exponentially smoothed outcomes in its memory."""

    rate, compiled_rate = 0.2, 0.2

    def memory(self):
        return np.full(N, 0.5)

    def indices(self, stats, rng):
        radius = np.sqrt(1.5 * np.log(stats.rounds + 1) / np.maximum(stats.counts, 1))
        return np.where(stats.counts == 0, 1.0, stats.memory + radius)

    def update(self, state, feedback, ticket=None, rng=None):
        if feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None, because outcomes are smoothed, got {feedback.pulls}"
            )
        state.update(feedback)
        state.memory[feedback.arms] += self.rate * (feedback.outcomes - state.memory[feedback.arms])

    def kernel(self):
        return Kernel(bounded, reals=np.array([self.compiled_rate]), learning=smoothed)


class OtherRate(Smoothed):
    """Its compiled rule smooths faster."""

    compiled_rate = 0.25


class NoCompiledLearning(Smoothed):
    """Has no compiled rule of learning, so that the memory never changes in a compiled run."""

    def kernel(self):
        return Kernel(bounded, reals=np.array([self.compiled_rate]))


class OwnSelection(Smoothed):
    """Explores in its `select`, which the compiled loop does not call."""

    def select(self, state, rng, context=None):
        return rng.permutation(N)[:K] if state.rounds % 3 == 2 else super().select(state, rng, context)

    def kernel(self):
        return super().kernel()


FAULTS = [
    Fault(DoubledFailures, "compiled"),
    Fault(OtherRate, "compiled"),
    Fault(NoCompiledLearning, "compiled"),
    Fault(OwnSelection, "compiled"),
]
SOUND = [Posterior, Smoothed]
