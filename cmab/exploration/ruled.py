"""Explorers with one compiled rule, which `select`, `update` and the compiled loop all call."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import ExplorerKernel, Rule
from cmab.exploration.sampling import SamplingExplorer
from cmab.feedback import Feedback, Ticket
from cmab.statistics import ArmStatistics

if TYPE_CHECKING:
    from cmab.compiled import Seen


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
        from cmab.compiled import Arguments
        from cmab.exploration._kernels_explore import explore

        rule, (integers, parameters) = self._rule
        # The parameters, the table of the rule, then its memory. Rules name these places by constants.
        reals = np.concatenate((parameters, np.zeros(rule.room), rule.memory))
        return ExplorerKernel(explore, (rule.decide, rule.is_random, Arguments(integers.copy(), reals)))

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
        from cmab.compiled import Seen

        state.check_sizes(self.n_arms, len(self._rule[0].memory))
        # Rules read only these two entries of the clock: ROUNDS and SAMPLES.
        clock = np.array([state.rounds, state.counts.sum()])
        return Seen(state.counts, state.means, state.deviations, clock)

    @cached_property
    def _rule(self) -> tuple[Rule, tuple[IntArray, FloatArray]]:
        """The rule, and its parameters as arrays; the rule receives copies of these arrays."""
        rule = self.rule()
        return rule, (np.array(rule.integers, np.int64), np.array(rule.reals, np.float64))
