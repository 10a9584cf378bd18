"""CMOSS: optimism with a radius that depends on the horizon, and is 0 for arms with their share of rounds."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.declared import integer, interval, real
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.rules import compiled_rule

#: Positions in `reals`. SHARE is the number of outcomes of an arm after which its radius is 0.
SHARE, FACTOR, SIGN, LOW, HIGH = range(5)


@compiled_rule("index")
def minimax_indices(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    memory: FloatArray,
    t: int,
    reals: FloatArray,
    rng: np.random.Generator,
    out: FloatArray,
) -> None:
    """Write the means plus or minus ``sqrt(max(ln(share / T), 0) / T)`` for arms with T outcomes."""
    sign, low, high = reals[SIGN], reals[LOW], reals[HIGH]
    for i in range(counts.shape[0]):
        out[i] = high if sign > 0.0 else low
        if counts[i] > 0:
            log = max(math.log(reals[SHARE] / counts[i]), 0.0)
            radius = reals[FACTOR] * (high - low) * math.sqrt(log / counts[i])
            out[i] = min(max(means[i] + sign * radius, low), high)


@dataclass(frozen=True, eq=False)
class CMOSS(CompiledIndexPolicy):
    """The minimax index ``mean + sqrt(max(ln(k T / (m N)), 0) / N)`` for N outcomes of an arm in T rounds.

    Use this policy if the horizon is known, outcomes are stochastic, and the least favourable gaps matter.
    Its radius is much smaller than that of `CUCB`: it does not grow with the round, and it is 0 for arms that
    have been observed in more than a share of k / m of the rounds. `CTS` often has less regret, without
    knowledge of the horizon. The regret for the worst means is ``O(ln(k) sqrt(k m T))`` for k up to m / 2, as
    stated in the paper, where CUCB has another factor ``sqrt(ln T)``.

    Indices are clipped to `support`, and unobserved arms get its best end. For costs, the index is the mirror
    image. After the horizon, the policy may be continued; its radius stays as it is.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    horizon : int
        The number T of rounds.
    max_super_arm_size : int, optional
        The size k of the largest super arm. If omitted, the oracle declares it if rewards
        are sums, and it is the number of arms otherwise.
    radius_factor : float
        Factor of the radius.
    support : tuple of float
        Interval of the outcomes. The radius is proportional to its length.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import CMOSS, ArmStatistics, Feedback
    >>> from oracles import TopK
    >>> stats = ArmStatistics.empty(3)
    >>> for _ in range(30):
    ...     stats.update(Feedback([0, 1], [0.25, 0.5]))
    >>> CMOSS(TopK(n_arms=3, k=2), 100).indices(stats, rng=None).round(3)
    array([0.413, 0.663, 1.   ])

    References
    ----------
    Z. Ye, R. Wang, X. Liu, S. Li: Near-Optimal Regret for Efficient Stochastic Combinatorial Semi-Bandits,
    arXiv:2508.06247 (abstract and settings of its figures). The index is reconstructed: it is that of J.-Y.
    Audibert, S. Bubeck: Minimax Policies for Adversarial and Stochastic Bandits, COLT 2009 (MOSS), with the
    k T / m outcomes of an arm for equal shares in place of T / m.
    """

    horizon: int = field(metadata=integer(1))
    _: KW_ONLY
    max_super_arm_size: int | None = field(default=None, metadata=integer(1, optional=True))
    radius_factor: float = field(default=1.0, metadata=real(0.0))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def __post_init__(self) -> None:
        super().__post_init__()
        size = self.max_super_arm_size
        if size is not None and size > self.oracle.n_arms:
            raise ValueError(
                f"max_super_arm_size must be at most {self.oracle.n_arms} (the number of arms), got {size}"
            )

    def rule(self) -> Any:
        """Return the compiled rule."""
        return minimax_indices()

    def parameters(self) -> FloatArray:
        oracle = self.oracle
        most = oracle.max_size if oracle.is_linear else oracle.n_arms
        size = self.max_super_arm_size or max(1, most)
        share = max(1.0, size * self.horizon / oracle.n_arms)
        return np.array([share, self.radius_factor, oracle.sign, *self.support])
