"""The base class of index policies with a compiled rule, and the order of arms without outcomes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from cmab.archive import copied
from cmab.arrays import FloatArray
from cmab.campaign.posterior import BetaPrior
from cmab.compiled import GOLDEN, Kernel, lean_kernel, mix, to_unit
from cmab.feedback import Feedback, Ticket
from cmab.policy import AnyPolicy, IndexPolicy
from cmab.statistics import ArmStatistics
from cmab.validation import shown

#: The largest change of an index, as a fraction of the support. A running mean of 10^4 outcomes has a
#: rounding error of this size, so a smaller difference of indices is not evidence of an order.
SHARE = 2.0**-40
#: The largest change as a fraction of the index itself: 32 floating-point spacings.
_RELATIVE = 2.0**-48


@lean_kernel
def break_ties(counts, low, high, rng, out):
    """Change indices that may be tied, each by less than `SHARE` of the support and within the support.

    These are the indices of unobserved arms and, while there are such arms, the indices at the ends of the
    support. The sum of the indices of k arms changes by less than ``k * SHARE`` of the support.
    """
    # A sum, because the compiler vectorises it. This loop runs in every round.
    m, n_unseen = counts.shape[0], 0
    for i in range(m):
        n_unseen += counts[i] == 0
    if n_unseen == 0:
        return
    # One draw per round: a draw for each arm takes four times as long as a hash of its number.
    key = np.uint64(rng.random() * 2.0**53)
    for i in range(m):
        index = out[i]
        if counts[i] == 0 or not low < index < high:
            scale = high - low if high - low < np.inf else abs(index)
            width = max(SHARE * scale, _RELATIVE * abs(index))
            change = width * to_unit(mix(key + np.uint64(i) * GOLDEN))
            out[i] = index - change if index - width >= low else min(index + change, high)


@dataclass(frozen=True, eq=False)
class CompiledIndexPolicy(IndexPolicy):
    """An index policy with one compiled function as rule, called by `indices` and by the compiled loop.

    A subclass defines `rule`, which returns the function, and `parameters`, which checks the fields and
    returns the numbers that the function needs. It may have a `memory` that its `learning_rule` updates.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.

    Examples
    --------
    >>> from cmab import CTS, CUCB, CompiledIndexPolicy
    >>> issubclass(CUCB, CompiledIndexPolicy) and issubclass(CTS, CompiledIndexPolicy)
    True
    """

    is_random: ClassVar[bool] = False
    _reals: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_reals", self.parameters())

    @abstractmethod
    def rule(self) -> Any:
        """Return the compiled rule, an ``index_kernel``. If the rule draws, the class sets `is_random`."""

    @abstractmethod
    def parameters(self) -> FloatArray:
        """Check the parameters, and return them as the argument `reals` of the rule."""

    def learning_rule(self) -> Any:
        """Return the ``learn_kernel`` that updates the memory, or None (default) without a memory."""
        return None

    def beta_prior(self) -> BetaPrior | None:
        """Return the prior of the means if the policy draws them from Beta posteriors; None (default) if not.

        A session then learns from reports with hidden outcomes: it draws the outcomes from their posterior,
        and the policy chooses with the state of `completed`.
        """
        return None

    def _completed(self, state: ArmStatistics, won: FloatArray, lost: FloatArray) -> ArmStatistics:
        """Return a state with further outcomes 1 and 0 of each arm.

        Parameters
        ----------
        state : ArmStatistics
            The state with the observed outcomes; it is not changed.
        won, lost : FloatArray, shape (n_arms,)
            The numbers of further outcomes 1 and 0 of each arm.
        """
        return state.with_coins(won, lost, state.memory)

    def kernel(self) -> Kernel:
        """Return the compiled index rule with the learning rule, if there is one."""
        learning = self.learning_rule()
        return Kernel(self.rule(), reals=self._reals, is_random=self.is_random, learning=learning)

    @cached_property
    def _n_memory(self) -> int:
        return len(self.memory())

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        # Rejection sampling does not end with nan, and rules read one parameter for each arm of the oracle.
        stats.check_sizes(self.oracle.n_arms, self._n_memory)
        out = np.empty(len(stats.means))
        # Passing a generator from Python takes twenty times as long as the rule itself.
        source = rng if self.is_random else None
        learned = (stats.counters, stats.means, stats.deviations, stats.memory)
        # Rounds are numbered from 1, and `rounds` does not include this round yet.
        self.rule()(*learned, stats.rounds + 1, self._reals, source, out)
        return out

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,  # noqa: ARG002
        rng: np.random.Generator | None = None,  # noqa: ARG002
    ) -> None:
        """Update the statistics and, if there is a learning rule, the memory.

        Raises
        ------
        ValueError
            If there is a learning rule, and the feedback has sums of several outcomes of an arm.
        """
        learn = self.learning_rule()
        if learn is not None and feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None for {type(self).__name__}, which needs each outcome separately,"
                f" got {shown(feedback.pulls)}"
            )
        state.check_sizes(self.oracle.n_arms, self._n_memory)
        state.update(feedback)
        if learn is not None:
            arms, outcomes = feedback.arms, feedback.outcomes
            learn(arms, len(arms), outcomes, state.rounds, self._reals, state.memory)


# The updates that change the statistics of the observed arms, and the memory, but no other statistics.
_LOCAL = (IndexPolicy.update, CompiledIndexPolicy.update)


def restorer(policy: AnyPolicy, state: Any, feedback: Feedback) -> Callable[[], Any]:
    """Return a function that returns the present state after an update with `feedback` that failed.

    If the update changes the statistics of the observed arms only, these are copied, not those of all arms.
    """
    is_local = type(state) is ArmStatistics and type(feedback) is Feedback and type(policy).update in _LOCAL
    if not is_local:
        before = copied(state)
        return lambda: before
    arms, rounds, memory = feedback.arms, state.rounds, state.memory.copy()
    arrays = state.counters, state.means, state.deviations
    rows = [array[arms] for array in arrays]

    def restored() -> Any:
        for array, row in zip(arrays, rows, strict=True):
            array[arms] = row
        state.memory[:], state.rounds = memory, rounds
        return state

    return restored
