"""What index policies with a compiled rule share: both forms of it, and the checks of their parameters."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.compiled.forms import Kernel
from cmab.oracle import Oracle
from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics
from cmab.validation import check_vector, real, vector


@dataclass(frozen=True, eq=False)
class CompiledIndexPolicy(IndexPolicy):
    """An index policy whose rule is one compiled function, called by `indices` and by the compiled loop.

    A subclass defines `_rule`, which imports and returns the function, and `_pack`, which checks its fields
    and returns the function's parameters.

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

    _is_random: ClassVar[bool] = False
    _packed: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_packed", self._pack())

    @abstractmethod
    def _rule(self) -> Any:
        """Return the compiled rule: an ``index_kernel``, or a ``random_index_kernel`` if `_is_random`."""

    @abstractmethod
    def _pack(self) -> FloatArray:
        """Return the rule's parameters, after checking them."""

    def kernel(self) -> Kernel:
        """Return the compiled index rule."""
        return Kernel(self._rule(), reals=self._packed, is_random=self._is_random)

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return one index for each base arm, shape (n_arms,)."""
        # Rejection sampling never ends with nan, and rules read as many parameters as the oracle has arms.
        check_vector("stats.means", stats.means, self.oracle.n_arms)
        out = np.empty(stats.n_arms)
        randomness = (rng,) if self._is_random else ()
        self._rule()(stats.counts, stats.means, stats.rounds + 1, self._packed, *randomness, out)
        return out


def interval(support: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of `support`, refused unless finite and in order."""
    low, high = (real("support", end) for end in support)
    if not low < high:
        raise ValueError(f"support must be an interval (low, high) with low < high, got {support}")
    return low, high


def per_arm(
    name: str, value: ArrayLike, n_arms: int, low: float = -np.inf, high: float = np.inf
) -> FloatArray:
    """Return `value`, one number or one for each base arm, as an array of shape (n_arms,)."""
    if np.ndim(value) == 0:
        return np.full(n_arms, real(name, value, low, high))
    return vector(name, value, n_arms, low, high)


def pack_optimism(
    oracle: Oracle,
    support: tuple[float, float],
    prior_mean: ArrayLike | None = None,
    prior_weight: ArrayLike = 0.0,
    coefficient: float = 0.0,
    loglog: float = 0.0,
    scale: float = 0.0,
) -> FloatArray:
    """Return the parameters of ``optimistic_means``: six numbers, then weights and means of the prior.

    With `scale` 0 there is no radius, and optimism is left for arms never seen only.
    """
    low, high = interval(support)
    weights = per_arm("prior_weight", prior_weight, oracle.n_arms, 0.0)
    if (prior_mean is None) != (not weights.any()):
        raise ValueError(
            "prior_mean and a positive prior_weight must be given together,"
            f" got prior_mean={prior_mean!r}, prior_weight={prior_weight!r}"
        )
    sign = 1.0 if oracle.sense == "max" else -1.0
    numbers = [coefficient, loglog, scale * (high - low), sign, low, high]
    if prior_mean is None:
        return np.array(numbers)
    return np.concatenate([numbers, weights, per_arm("prior_mean", prior_mean, len(weights), low, high)])
