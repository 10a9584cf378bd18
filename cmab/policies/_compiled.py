"""What index policies with a compiled rule share: both forms of it, and the checks of their parameters."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.compiled.forms import Kernel
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics
from cmab.validation import check_vector, interval, per_arm, shown


@dataclass(frozen=True, eq=False)
class CompiledIndexPolicy(IndexPolicy):
    """An index policy whose rule is one compiled function, called by `indices` and by the compiled loop.

    A subclass defines `rule`, which imports and returns the function, and `parameters`, which checks the
    fields and returns what the function is to know of them. It may keep a `memory`, written by its
    `learning_rule`.

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
        """Return the compiled rule, an ``index_kernel``; a class whose rule draws says `is_random`."""

    @abstractmethod
    def parameters(self) -> FloatArray:
        """Return the rule's `reals`, after checking them."""

    def learning_rule(self) -> Any:
        """Return the ``learn_kernel`` that writes to the memory; None, the default, for rules without one."""
        return None

    def kernel(self) -> Kernel:
        """Return the compiled index rule, with the learning rule if there is one."""
        learning = self.learning_rule()
        return Kernel(self.rule(), reals=self._reals, is_random=self.is_random, learning=learning)

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return one index for each base arm, shape (n_arms,)."""
        # Rejection sampling never ends with nan, and rules read as many parameters as the oracle has arms.
        check_vector("stats.means", stats.means, self.oracle.n_arms)
        out, rule = np.empty(len(stats.means)), self.rule()
        source: np.random.Generator | None = rng
        if not self.is_random:
            from cmab.compiled._kernels_signatures import without_generator

            rule, source = without_generator(rule), None
        learned = (stats.counters, stats.means, stats.deviations, stats.memory)
        # Rounds are counted from 1, and this one is not in `rounds` yet.
        rule(*learned, stats.rounds + 1, self._reals, source, out)
        return out

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Take in one round of feedback, by the statistics and then by the learning rule.

        Raises
        ------
        ValueError
            If there is a learning rule, and the feedback has sums of several outcomes of an arm, or the state
            is none of arm statistics.
        """
        rule = self.learning_rule()
        # The rule writes to the memory without looking at its length, which that of arm statistics was.
        if rule is not None and not isinstance(state, ArmStatistics):
            raise ValueError(f"state must be ArmStatistics, got {shown(state)}")
        if rule is not None and feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None for {type(self).__name__}, which learns outcome by outcome"
            )
        state.update(feedback)
        if rule is not None:
            arms, outcomes = feedback.arms, feedback.outcomes
            rule(arms, len(arms), outcomes, state.rounds, self._reals, state.memory)


@dataclass(frozen=True, eq=False)
class OptimisticPolicy(CompiledIndexPolicy):
    """What policies share whose rule is ``optimistic_means``; their `parameters` are ``pack_optimism``'s."""

    def rule(self) -> Any:
        """Return the compiled rule."""
        from cmab.policies._kernels_optimism import optimistic_means

        return optimistic_means

    def kernel(self) -> Kernel:
        """Return the compiled rule, lazy for rewards without a prior: then only upper bounds are compared."""
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
    """Return the parameters of ``optimistic_means``, in the order of the places named beside it.

    With `radius_factor` 0 there is no radius, and optimism is left for arms never seen only.
    """
    low, high = interval("support", support)
    weights = per_arm("prior_weight", prior_weight, oracle.n_arms, 0.0)
    if (prior_mean is None) != (not weights.any()):
        raise ValueError(
            "prior_mean and a positive prior_weight must be given together,"
            f" got prior_mean={shown(prior_mean)}, prior_weight={shown(prior_weight)}"
        )
    # In the order of the places COEFFICIENT to HIGH; a prior's weights and means begin at PRIOR.
    numbers = [coefficient, loglog, radius_factor * (high - low), oracle.sign, low, high]
    if prior_mean is None:
        return np.array(numbers)
    return np.concatenate([numbers, weights, per_arm("prior_mean", prior_mean, len(weights), low, high)])
