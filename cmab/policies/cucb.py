"""CUCB: optimism arm by arm."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cmab._validation import real, vector
from cmab.arrays import ArrayLike, FloatArray
from cmab.confidence import LogRadius
from cmab.doors import Kernel
from cmab.policy import IndexPolicy
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False)
class CUCB(IndexPolicy):
    """Combinatorial upper confidence bounds, exactly Algorithm 1 unless a parameter says otherwise.

    In round t the oracle is given ``min(mean + sqrt(3 ln t / 2T), 1)`` for each base arm, where T counts
    how often the arm was *triggered*; arms never seen get 1. There is no initialisation phase. For costs
    (``oracle.sense == "min"``) it is the mirror image: ``max(mean - radius, 0)`` and 0.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    radius : LogRadius
        Numerator of the radius; see section 3.2 for `LogRadius.wide` and `LogRadius.tight`.
    scale : float
        Factor on the radius. Below 1 the regret bounds no longer hold, and it is what practitioners run.
    prior_mean : float or array_like of shape (n_arms,), optional
        Mean of the pseudo-outcomes that every arm starts with.
    prior_weight : float or array_like of shape (n_arms,)
        Their number; 0, the default, is Algorithm 1. With a prior, the regret bounds no longer hold.
    support : tuple of float
        Interval of the outcomes: indices are capped to it, and the radius scales with its length.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or `prior_mean` is given without a weight.

    Examples
    --------
    >>> from cmab import CUCB, Session, Feedback
    >>> from oracles import TopK
    >>> session = Session(CUCB(TopK(n_arms=4, k=2)), rng=0)
    >>> session.ask().super_arm
    array([0, 1])
    >>> session.tell(Feedback(arms=[0, 1], outcomes=[0.0, 1.0], reward=1.0))
    >>> session.state.means
    array([0., 1., 0., 0.])

    References
    ----------
    Chen et al. (JMLR 2016), Algorithm 1, Theorems 1 and 2.
    """

    radius: LogRadius = field(default_factory=LogRadius)
    scale: float = 1.0
    prior_mean: ArrayLike | None = None
    prior_weight: ArrayLike = 0.0
    support: tuple[float, float] = (0.0, 1.0)
    _packed: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        low, high = (real("support", end) for end in self.support)
        if not low < high:
            raise ValueError(f"support must be an interval (low, high) with low < high, got {self.support}")
        real("scale", self.scale, 0.0)
        _per_arm("prior_weight", self.prior_weight, self.oracle.n_arms, 0.0, np.inf)
        if self.prior_mean is not None:
            _per_arm("prior_mean", self.prior_mean, self.oracle.n_arms, low, high)
        if (self.prior_mean is None) != (not np.any(np.asarray(self.prior_weight))):
            raise ValueError(
                "prior_mean and a positive prior_weight must be given together,"
                f" got prior_mean={self.prior_mean!r}, prior_weight={self.prior_weight!r}"
            )
        object.__setattr__(self, "_packed", self._pack())

    def kernel(self) -> Kernel:
        """Return the compiled index rule."""
        from cmab._kernels_policies import cucb_indices

        return Kernel(cucb_indices, reals=self._packed)

    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        """Return the optimistic means, shape (n_arms,)."""
        from cmab._kernels_policies import cucb_indices

        out = np.empty(stats.n_arms)
        cucb_indices(stats.counts, stats.means, stats.rounds + 1, self._packed, out)
        return out

    def _pack(self) -> FloatArray:
        """Return the kernel's parameters: six numbers, then weights and means of the prior."""
        low, high = self.support
        sign = 1.0 if self.oracle.sense == "max" else -1.0
        numbers = [self.radius.coefficient, self.radius.loglog, self.scale * (high - low), sign, low, high]
        if self.prior_mean is None:
            return np.array(numbers, dtype=np.float64)
        prior = [
            np.broadcast_to(np.asarray(part, np.float64), self.oracle.n_arms)
            for part in (self.prior_weight, self.prior_mean)
        ]
        return np.concatenate([numbers, *prior])


def _per_arm(name: str, value: ArrayLike, n_arms: int, low: float, high: float) -> None:
    """Raise unless `value` is one number, or one for each base arm, within ``[low, high]``."""
    if np.ndim(value) == 0:
        real(name, value, low, high)
    else:
        vector(name, value, n_arms, low, high)
