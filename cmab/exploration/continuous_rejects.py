"""Continuous Rejects: an explorer with a fixed budget that may reject an arm after any sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import Rule, Seen, decide_kernel
from cmab.declared import one_of
from cmab.exploration.gap_based import BUDGET, FixedBudgetRule
from cmab.exploration.parameters import N_ARMS, SUPPORT, length
from cmab.goals import best_k
from cmab.statistics import ArmStatistics

#: Positions in `reals`. The memory, from ACTIVE on, holds 1 for each arm that is not rejected, then the
#: largest count of a rejected arm, and the number of samples at the last test.
LENGTH, TO_CLOSEST, ACTIVE = range(3)


@decide_kernel
def decide_continuous_rejects(
    seen: Seen, coin: float, integers: IntArray, reals: FloatArray, chosen: IntArray
) -> int:
    """Reject the worst arm if its gap exceeds G, then sample the active arm with the fewest samples."""
    counts, means, samples = seen.counts, seen.means, seen.counts.sum()
    n, memory = counts.shape[0], reals[ACTIVE:]
    if samples < integers[0] and memory[n + 1] != samples:  # not again in a second call without a new sample
        memory[n + 1] = samples
        left, spent, worst, total = 0, 0, -1, 0.0
        for i in range(n):
            if memory[i] > 0.0:
                left += 1
                spent += counts[i]
                total += means[i]
                if worst < 0 or means[i] < means[worst]:
                    worst = i
        if left > 2 and counts[worst] > memory[n]:
            closest, log_sum = math.inf, 0.5
            for i in range(n):
                if memory[i] > 0.0 and i != worst:
                    closest = min(closest, means[i])
            for i in range(2, left + 1):
                log_sum += 1.0 / i
            other = closest if reals[TO_CLOSEST] > 0.0 else (total - means[worst]) / (left - 1)
            # beta = logbar(j) sum of N_k over active arms / (T - sum of N_k over rejected arms), and
            # G(beta) = 1 / sqrt(beta) - 1. All samples are of active or of rejected arms.
            share = log_sum * spent / (integers[0] - (samples - spent))
            if (other - means[worst]) / reals[LENGTH] > 1.0 / math.sqrt(share) - 1.0:
                memory[worst] = 0.0
                memory[n] = float(counts[worst])  # larger than that of each rejected arm
    chosen[0] = -1
    for i in range(n):
        if memory[i] > 0.0 and (chosen[0] < 0 or counts[i] < counts[chosen[0]]):
            chosen[0] = i
    return -1 if samples >= integers[0] else 1


@dataclass(frozen=True, eq=False)
class ContinuousRejects(FixedBudgetRule):
    """Continuous Rejects (Wang et al. 2023): the best arm, with a fixed budget.

    Use this explorer for the best arm if the number of samples is fixed and samples come one at a time. The
    budget should exceed ``n_arms^2 / 2``, because the active arms are sampled in turn, and each rejected arm
    needs more samples than the one before. With a smaller budget, few arms are rejected, and `SAR` errs less.

    The explorer samples the active arms in turn. After each sample, it rejects the active arm with the
    smallest mean if the arm has more samples than each rejected arm and its gap exceeds ``1 / sqrt(beta) -
    1``. Here beta is the spent share of the budget that is left for the active arms, times ``1/2 + 1/2 +
    1/3 + ... + 1/j`` for j active arms. An arm with a large gap is therefore rejected earlier than by
    Successive Rejects. The last two arms are sampled until the end. No answer is certified. Of equal means,
    the arm with the lower index is rejected first, so the order of the arms matters if successes are rare.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    support : tuple of float
        Interval that contains the outcomes. Gaps are divided by its length.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    variant : {"A", "C"}
        The gap of an arm: the distance of its mean to the average of the other active means ("A", the CR-A of
        the paper), or to the closest of them ("C", the conservative CR-C).

    Examples
    --------
    >>> from cmab import ContinuousRejects, identify
    >>> from instances import BernoulliArms
    >>> identify(ContinuousRejects(3, budget=100), BernoulliArms([0.1, 0.9, 0.1]), rng=0).arms
    [array([1])]

    References
    ----------
    P.-A. Wang, R.-C. Tzeng, A. Proutiere: Best Arm Identification with Fixed Budget: A Large Deviation
    Perspective, NeurIPS 2023, by the code of the authors.
    """

    n_arms: int = field(metadata=N_ARMS)
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    budget: int = field(metadata=BUDGET)
    variant: Literal["A", "C"] = field(default="A", metadata=one_of("A", "C"))

    k = 1

    @property
    def arms_per_bandit(self) -> Sequence[int]:  # type: ignore[override]
        """The number of arms of the one bandit."""
        return (self.n_arms,)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms."""
        memory = np.concatenate((np.ones(self.n_arms), np.zeros(2)))
        parameters = [length(self.support), float(self.variant == "C")]
        return Rule(decide_continuous_rejects, [self.budget], parameters, memory)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arm with the largest mean that is not rejected; ties go to the lower index."""
        active = np.flatnonzero(state.memory[: self.n_arms])
        return active[best_k(state.means[active], 1)]
