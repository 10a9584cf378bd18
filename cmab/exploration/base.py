"""The base of explorers: ranges of parameters, sampling, compiled rules and their loop, and certificates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cmab import validation
from cmab.arrays import FloatArray, IntArray
from cmab.compiled import (
    EXPLORE,
    MOST_SAMPLES,
    ROUNDS,
    SAMPLES,
    STEPS,
    Arguments,
    ExplorerKernel,
    Rule,
    Seen,
    loop_kernel,
)
from cmab.explorer import ExploreM, Explorer, Goal, best_k
from cmab.feedback import Context, Feedback, Ticket
from cmab.parameters import Declaration, checked, integer, real
from cmab.statistics import ArmStatistics, observe_outcome

#: Maximum number of samples of a run. Counts and their sums then fit into 64-bit integers.
MOST = 2**62
_HUGE = 1e100

N_ARMS = integer(2)
#: Number of arms to return from each bandit.
K = integer(1, lambda explorer: min(getattr(explorer, "arms_per_bandit", (explorer.n_arms,))) - 1)
#: The range of delta keeps ``N / delta`` finite and levels below `delta` positive.
DELTA = real(1e-301, 1.0, inside=True)
#: A positive number whose square and whose products with other parameters are positive and finite.
POSITIVE = real(1.0 / _HUGE, _HUGE)
#: A tolerance. 0 asks for the best arms exactly.
EPSILON = real(0.0, _HUGE)
#: A positive tolerance, for rules that stop on every instance; the number of samples is then below `MOST`.
TOLERANCE = real(1e-4, 1.0, inside=True)
#: The relative growth of the number of samples from batch to batch.
GROWTH = real(0.0, 1.0)


def _support(name: str, support: tuple[float, float]) -> tuple[float, float]:
    ends = validation.interval(name, support)
    for end in ends:
        validation.real(name, end, -_HUGE, _HUGE)
    validation.real(f"the length of {name}", length(ends), 1.0 / _HUGE)
    return ends


def _budget(name: str, budget: int, least: int) -> int:
    samples = validation.integer(name, budget, None, MOST)
    if samples < least:
        raise ValueError(f"{name} must be at least {least} for this number of arms, got {budget}")
    return samples


#: An interval whose length and squared length are positive and finite.
SUPPORT = checked(_support)


def budget(least: Callable[[Any], int], *, optional: bool = False) -> Declaration:
    """Declare a number of samples that must be at least ``least(explorer)``."""
    return checked(_budget, optional=optional, least=least)


#: A number of samples that is greater than the number of arms.
MORE_THAN_ARMS = budget(lambda explorer: explorer.n_arms + 1)


def length(support: tuple[float, float]) -> float:
    """Return the length of the support of the outcomes, called b in many papers."""
    return support[1] - support[0]


def grown(state: ArmStatistics, growth: float) -> int:
    """Return the number of outcomes in a batch: `growth` times the average count per arm, at least 1."""
    return max(1, int(growth * float(state.counts.sum()) / len(state.counts)))


class SamplingExplorer(Explorer[ArmStatistics]):
    """Base class of explorers with `ArmStatistics` as state.

    The explorer samples every arm `initial_pulls` times, and then the arms that `critical` returns.
    """

    epsilon: float = 0.0
    initial_pulls = 1
    _in_kernel = (*Explorer._in_kernel, "critical", "can_stop")

    def initial_state(self, rng: np.random.Generator | None = None) -> ArmStatistics:
        return ArmStatistics.empty(self.n_arms)

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        state.update(feedback)

    def select(
        self, state: ArmStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the arms with fewer than `initial_pulls` outcomes; otherwise the critical arms."""
        unseen = self.unseen(state)
        return unseen if len(unseen) else self.critical(state, rng)

    def unseen(self, state: ArmStatistics) -> IntArray:
        """Return the arms that have fewer than `initial_pulls` outcomes."""
        return np.flatnonzero(state.counts < self.initial_pulls)

    def is_done(self, state: ArmStatistics) -> bool:
        # The mean of an arm without outcomes is 0. A stopping rule must not use it as evidence.
        return bool(state.counts.min() >= self.initial_pulls) and self.can_stop(state)

    @abstractmethod
    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arms to sample next, once every arm has its first outcomes."""

    @abstractmethod
    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the recommended arms are certain enough."""


@dataclass(frozen=True, eq=False)
class BestK(SamplingExplorer):
    """Base class of explorers that return the `k` best arms."""

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)

    @property
    def goal(self) -> Goal:
        """The goal that every returned arm is within `epsilon` of the k-th best."""
        return ExploreM(self.k, self.epsilon)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arms with the k largest means."""
        return best_k(state.means, self.k)


@loop_kernel(EXPLORE)
def explore(decide, is_random, rule, draw, arms, seen, streams):
    """Sample the arms that `decide` chooses, and return whether the run is over.

    The run is over if `decide` stops or if the next samples would exceed the limit. Every arm must already
    have an outcome. The loop updates `seen` in place. It returns False after the number of steps in the
    clock, so the caller can handle signals and call the loop again.
    """
    # The tuples are unpacked here because access inside the loop would count references, which is slow.
    counts, means, deviations, clock = seen
    (integers, reals), (draw_integers, draw_reals), (learner, coins) = rule, arms, streams
    chosen = np.empty(means.shape[0], np.int64)
    for _ in range(clock[STEPS]):
        # The last step draws a coin without a sample. Nothing uses the random generator after it.
        coin = learner.random() if is_random else 0.0
        size = decide(seen, coin, integers, reals, chosen)
        if size < 0 or clock[SAMPLES] + size > clock[MOST_SAMPLES]:
            return True
        for j in range(size):
            arm = chosen[j]
            observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
        clock[ROUNDS] += 1
        clock[SAMPLES] += size
    return False


class RuledExplorer(SamplingExplorer):
    """Base class of explorers that consist of one compiled rule.

    A subclass defines `rule`, which returns the compiled rule, and `recommend`.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import RuledExplorer, identify
    >>> from cmab.compiled import Rule, decide_kernel
    >>> from instances import BernoulliArms
    >>> @decide_kernel
    ... def least_seen(seen, coin, integers, reals, chosen):
    ...     chosen[0] = np.argmin(seen.counts)
    ...     return -1 if seen.counts[chosen[0]] >= integers[0] else 1
    >>> class Uniform(RuledExplorer):
    ...     '''A hundred outcomes of each arm.'''
    ...     n_arms = 3
    ...     def rule(self):
    ...         return Rule(least_seen, [100], [])
    ...     def recommend(self, state):
    ...         return np.array([np.argmax(state.means)])
    >>> identify(Uniform(), BernoulliArms([0.9, 0.1, 0.1]), rng=0).path
    'compiled'
    """

    @abstractmethod
    def rule(self) -> Rule:
        """Return the compiled rule with its parameters.

        The explorer calls this method once, so the rule must depend only on the parameters of the explorer.
        """

    def kernel(self) -> ExplorerKernel | None:
        """Return the compiled loop that calls the rule before each sample."""
        rule = self._rule[0]
        return ExplorerKernel(explore, (rule.decide, rule.is_random, self.arguments()))

    def arguments(self) -> Arguments:
        """Return the arrays of a compiled run: the integers; the reals, the table and the memory."""
        rule, (integers, parameters) = self._rule
        # The system allocates the pages of the table only when they are used.
        reals = np.zeros(len(parameters) + rule.room + len(rule.memory))
        reals[: len(parameters)] = parameters
        reals[len(reals) - len(rule.memory) :] = rule.memory
        return Arguments(integers.copy(), reals)

    def initial_state(self, rng: np.random.Generator | None = None) -> ArmStatistics:
        """Return the statistics before the first outcome, with the initial memory of the rule."""
        return ArmStatistics.empty(self.n_arms, memory=self._rule[0].memory)

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update the statistics with `feedback`, and let the rule update its memory."""
        super().update(state, feedback)
        # This call only updates the memory. `select` calls the rule again for the arms to sample.
        if len(state.memory) and not len(self.unseen(state)):
            self._decide(state, state.memory, 0.0)

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        size, chosen = self._decide(state, state.memory.copy(), self._coin(rng))
        return chosen[: abs(size)]

    def can_stop(self, state: ArmStatistics) -> bool:
        return self._decide(state, state.memory.copy(), 0.0)[0] < 0

    def __getstate__(self) -> dict[str, Any]:
        # Leave out compiled code: it makes pickles a hundred times as large and ties them to one version.
        return {name: value for name, value in vars(self).items() if name != "_rule"}

    def _coin(self, rng: np.random.Generator) -> float:
        return rng.random() if self._rule[0].is_random else 0.0

    def _decide(self, state: ArmStatistics, memory: FloatArray, coin: float) -> tuple[int, IntArray]:
        """Return the size and the chosen arms of the rule's next decision, and update `memory` in place."""
        (integers, parameters), chosen = self.parameters, np.empty(self.n_arms, np.int64)
        reals = np.concatenate((parameters, memory))
        size = self._rule[0].decide(self.seen(state), coin, integers, reals, chosen)
        memory[:] = reals[len(parameters) :]
        return size, chosen

    @property
    def parameters(self) -> tuple[IntArray, FloatArray]:
        """Copies of the parameters of the rule, which the rule may use as scratch space."""
        _, (integers, reals) = self._rule
        return integers.copy(), reals.copy()

    def seen(self, state: ArmStatistics) -> Seen:
        """Return the part of `state` that compiled functions read."""
        state.check_sizes(self.n_arms, len(self._rule[0].memory))
        # Rules read only these two entries of the clock: ROUNDS and SAMPLES.
        clock = np.array([state.rounds, state.counts.sum()])
        return Seen(state.counts, state.means, state.deviations, clock)

    @cached_property
    def _rule(self) -> tuple[Rule, tuple[IntArray, FloatArray]]:
        """The rule, and its parameters as arrays; the rule receives copies of these arrays."""
        rule = self.rule()
        return rule, (np.array(rule.integers, np.int64), np.array(rule.reals, np.float64))
