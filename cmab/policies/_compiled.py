"""Base classes of index policies with a compiled rule, which Python code and the compiled loop share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.campaign.posterior import BetaPrior
from cmab.compiled.forms import Kernel
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics
from cmab.validation import check_vector, per_arm, shown


@dataclass(frozen=True, eq=False)
class CompiledIndexPolicy(IndexPolicy):
    """An index policy with one compiled function as rule, called by `indices` and by the compiled loop.

    A subclass defines `rule`, which imports and returns the function, and `parameters`, which checks the
    fields and returns the numbers that the function needs. It may have a `memory` that its `learning_rule`
    updates.

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

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        # Rejection sampling does not end with nan, and rules read one parameter for each arm of the oracle.
        check_vector("stats.means", stats.means, self.oracle.n_arms)
        out = np.empty(len(stats.means))
        # Passing a generator from Python takes twenty times as long as the rule itself.
        source = rng if self.is_random else None
        learned = (stats.counters, stats.means, stats.deviations, stats.memory)
        # Rounds are numbered from 1, and `rounds` does not include this round yet.
        self.rule()(*learned, stats.rounds + 1, self._reals, source, out)
        return out

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Update the statistics and, if there is a learning rule, the memory.

        Raises
        ------
        ValueError
            If there is a learning rule, and the feedback has sums of several outcomes of an arm or the state
            is not an `ArmStatistics`.
        """
        rule = self.learning_rule()
        # The rule writes to the memory without bounds checks. The memory of `ArmStatistics` was checked.
        if rule is not None and not isinstance(state, ArmStatistics):
            raise ValueError(f"state must be ArmStatistics, got {shown(state)}")
        if rule is not None and feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None for {type(self).__name__}, which needs each outcome separately"
            )
        state.update(feedback)
        if rule is not None:
            arms, outcomes = feedback.arms, feedback.outcomes
            rule(arms, len(arms), outcomes, state.rounds, self._reals, state.memory)


@dataclass(frozen=True, eq=False)
class OptimisticPolicy(CompiledIndexPolicy):
    """Base of policies with the rule ``optimistic_means``. Their `parameters` call ``pack_optimism``."""

    def rule(self) -> Any:
        from cmab.policies._kernels_optimism import optimistic_means

        return optimistic_means

    def kernel(self) -> Kernel:
        """Return the compiled rule, lazy for rewards without a prior: only upper bounds are then compared."""
        from cmab.policies._kernels_optimism import PRIOR, optimistic_means

        kernel = super().kernel()
        is_plain = kernel.function is optimistic_means and len(kernel.reals) == PRIOR
        return kernel._replace(is_lazy=is_plain and self.oracle.sense == "max")


def pack_optimism(
    oracle: Oracle,
    support: tuple[float, float],
    prior_mean: ArrayLike | None = None,
    prior_weight: ArrayLike = 0.0,
    coefficient: float = 0.0,
    loglog: float = 0.0,
    radius_factor: float = 0.0,
) -> FloatArray:
    """Return the parameters of ``optimistic_means``, in the order that its module defines.

    If `radius_factor` is 0, there is no radius, and only unobserved arms have an optimistic index.
    """
    low, high = support
    weights = per_arm("prior_weight", prior_weight, oracle.n_arms, 0.0)
    if (prior_mean is None) != (not weights.any()):
        raise ValueError(
            "prior_mean and a positive prior_weight must be given together,"
            f" got prior_mean={shown(prior_mean)}, prior_weight={shown(prior_weight)}"
        )
    # In the order COEFFICIENT to HIGH. The weights and means of a prior begin at PRIOR.
    numbers = [coefficient, loglog, radius_factor * (high - low), oracle.sign, low, high]
    if prior_mean is None:
        return np.array(numbers)
    return np.concatenate([numbers, weights, per_arm("prior_mean", prior_mean, len(weights), low, high)])
