"""Hybrid CUCB: optimism that starts from a log with a bounded bias of the means."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.rules import compiled_rule
from cmab.statistics import ArmStatistics
from cmab.validation import per_arm, shown

#: Positions in `reals`. The counts, means and biases of the log begin at LOGGED, one of each for every arm.
SIGN, LOGGED = range(2)


@compiled_rule("index")
def hybrid_bounds(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    memory: FloatArray,
    t: int,
    reals: FloatArray,
    rng: np.random.Generator,
    out: FloatArray,
) -> None:
    """Write the tighter of two bounds on each mean: from this campaign alone, and including the log."""
    sign, m = reals[SIGN], counts.shape[0]
    numerator = 1.5 * math.log(t)
    best = 0.5 + 0.5 * sign
    for arm in range(m):
        n, logged = float(counts[arm]), reals[LOGGED + arm]
        bound = best
        if n > 0.0:
            bound = min(max(means[arm] + sign * math.sqrt(numerator / n), 0.0), 1.0)
        if logged > 0.0:
            both = n + logged
            mean = (n * means[arm] + logged * reals[LOGGED + m + arm]) / both
            # The bias of the pooled mean is at most the bias of the log times its weight.
            gap = math.sqrt(numerator / both) + logged * reals[LOGGED + 2 * m + arm] / both
            pooled = min(max(mean + sign * gap, 0.0), 1.0)
            bound = min(bound, pooled) if sign > 0.0 else max(bound, pooled)
        out[arm] = bound


@dataclass(frozen=True, eq=False)
class OfflineCUCB(CompiledIndexPolicy):
    """CUCB that also uses a log from other circumstances, with means that differ by at most a known bias.

    Use this policy if a log exists whose means may differ from the present ones by a known bias. If the bias
    is 0, merge the log into the statistics instead.

    In round t the oracle receives the smaller of two bounds for each base arm. The first is CUCB's bound
    ``min(mean + sqrt(3 ln t / 2T), 1)`` for the T outcomes of this campaign. The second is the bound ``mean +
    sqrt(3 ln t / 2(T + N)) + bias N / (T + N)`` for these outcomes and the N outcomes of the log. A log with
    bias 0 counts like rounds of this campaign. A log with bias 1 has no effect. The bounds are never larger
    than those of CUCB. For costs (``oracle.sense == "min"``) the rule is the mirror image.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms. Outcomes must be in [0, 1].
    offline : ArmStatistics
        Statistics of the log, for instance from `Log.statistics`.
    bias : float or array_like of shape (n_arms,)
        Upper bound, at least 0, on the difference between an arm's mean in the log and its mean here. The
        confidence bounds are valid only if it holds. If the bias is unknown, pass 1, which is CUCB.

    Raises
    ------
    ValueError
        If `offline` has another number of arms, one of its means is outside [0, 1], or a bias is negative.

    Examples
    --------
    An item that sold badly in another shop is not tried first here, unless the shops may differ by much:

    >>> from cmab import ArmStatistics, Feedback, OfflineCUCB, Session
    >>> from oracles import TopK
    >>> seen = ArmStatistics.empty(3)
    >>> for sold in (0, 0, 1, 0) * 25:
    ...     seen.update(Feedback([0], [float(sold)]))
    >>> Session(OfflineCUCB(TopK(3, k=1), seen, bias=0.1), rng=0).ask().super_arm
    array([1])
    >>> Session(OfflineCUCB(TopK(3, k=1), seen, bias=1.0), rng=0).ask().super_arm
    array([0])

    References
    ----------
    Zhou, Zhang, Chen, Kong: hybrid offline-online CUCB, 2025 (arXiv 2512.21925), based on MIN-UCB of W. C.
    Cheung and L. Lyu (ICML 2024). The setting was read; the formula is from memory.
    """

    offline: ArmStatistics
    _: KW_ONLY
    bias: ArrayLike
    support: tuple[float, float] = field(default=(0.0, 1.0), init=False, repr=False)

    def rule(self) -> Any:
        return hybrid_bounds()

    def parameters(self) -> FloatArray:
        """Return the checked parameters of the rule, with the counts and means of the log."""
        m, given = self.oracle.n_arms, self.offline
        known: object = given
        if not isinstance(known, ArmStatistics) or known.n_arms != m:
            raise ValueError(f"offline must be ArmStatistics of {m} arms, got {shown(known)}")
        counts = given.counts.astype(np.float64)
        means = np.where(counts > 0, given.means, 0.0)
        if ((means < -1e-9) | (means > 1.0 + 1e-9)).any():
            raise ValueError(f"means of offline must lie in [0, 1], got {shown(means.tolist())}")
        biases = per_arm("bias", self.bias, m, 0.0)
        return np.concatenate([[self.oracle.sign], counts, means, biases])
