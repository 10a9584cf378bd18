"""Explorers with a fixed budget that take one sample at a time: GapE, UCB-E and Continuous Rejects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import numpy as np

from cmab.arrays import IntArray
from cmab.bounds.samples import gaps_of_best
from cmab.compiled import SAMPLES, Rule, decide_kernel, kernel
from cmab.exploration.base import N_ARMS, POSITIVE, POSITIVE_OR_NONE, SUPPORT, RuledExplorer, budget, length
from cmab.explorer import ExploreEach, Goal, bandit_sizes, best_k, best_of_each
from cmab.parameters import checked, one_of
from cmab.selection import descending_order
from cmab.statistics import ArmStatistics

#: A number of samples that is greater than the number of arms.
BUDGET = budget(lambda explorer: sum(bandit_sizes(explorer.arms_per_bandit)) + 1)


class FixedBudgetRule(RuledExplorer):
    """Base class of rules with a fixed budget, for one bandit or several.

    A subclass sets `budget`, `arms_per_bandit` and `k`, and defines `rule`. The arms are numbered one bandit
    after the other.
    """

    budget: int
    arms_per_bandit: Sequence[int]
    k: int
    is_proven = False
    is_bounded = True

    @property
    def goal(self) -> Goal:
        """The goal: the k best arms of each bandit, up to `epsilon` if the rule has a tolerance."""
        return ExploreEach(self.arms_per_bandit, self.k, epsilon=self.epsilon)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arms with the k largest means of each bandit."""
        return best_of_each(state.means, self.arms_per_bandit, k=self.k)


@kernel
def gaps_of_bandits(means, sizes, k, out):
    """Write the gap of each arm for the `k` best arms of its own bandit."""
    first = 0
    for size in sizes:
        gaps_of_best(means[first : first + size], k, out[first : first + size])
        first += size


@decide_kernel
def decide_gape(seen, coin, integers, reals, chosen):
    """Sample the arm with the largest ``-gap + b sqrt(a / T)``.

    Gabillon et al. (NIPS 2011), Figure 1 (from memory).
    """
    # `integers` holds the budget and the number of arms of each bandit.
    index, a, length = np.empty(seen.means.shape[0]), reals[0], reals[1]
    gaps_of_bandits(seen.means, integers[1:], 1, index)
    for i in range(index.shape[0]):
        index[i] = length * math.sqrt(a / seen.counts[i]) - index[i]
    chosen[0] = np.argmax(index)
    return -1 if seen.clock[SAMPLES] >= integers[0] else 1


@dataclass(frozen=True, eq=False)
class GapE(FixedBudgetRule):
    """GapE (Gabillon et al. 2011): the best arm of each of several bandits, with a fixed budget.

    Use this explorer to compare with its paper.

    The explorer samples the arm with the largest ``-gap + b sqrt(a / T)``, where T is the number of its
    samples. Its gap is the distance of its mean from the best mean of its bandit, or for the best arm from
    the second best mean. No answer is certified.

    Parameters
    ----------
    arms_per_bandit : sequence of int
        Number of arms of each bandit, at least 2.
    support : tuple of float
        Interval that contains the outcomes. Its length is b.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    a : float
        Exploration parameter, positive.

    Examples
    --------
    >>> from cmab.exploration.budget import GapE
    >>> GapE(arms_per_bandit=(3, 4), budget=100, a=2.0).n_arms
    7

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric, S. Bubeck: Multi-Bandit Best Arm Identification, NIPS 2011.
    """

    arms_per_bandit: Sequence[int] = field(metadata=checked(lambda _, sizes: tuple(bandit_sizes(sizes))))
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    budget: int = field(metadata=BUDGET)
    a: float = field(metadata=POSITIVE)

    k = 1

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of arms of all bandits."""
        return sum(self.arms_per_bandit)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms."""
        return Rule(decide_gape, [self.budget, *self.arms_per_bandit], [self.a, length(self.support)])


class _OneBandit(FixedBudgetRule):
    """Base class of rules for the best arm of one bandit."""

    k = 1

    @property
    def arms_per_bandit(self) -> Sequence[int]:  # type: ignore[override]
        """The number of arms of the one bandit."""
        return (self.n_arms,)


@kernel
def refresh_complexity(means, samples, ends, memory):
    """Estimate UCB-E's H2 again if `samples` is at the end of a phase; `memory` holds H2 and the phase.

    In phase p, H2 is the largest ``i / gap^2`` over the p largest gaps, where i is the rank of the gap in
    increasing order.
    """
    phase = int(memory[1])
    while phase < ends.shape[0] and ends[phase] <= samples:
        phase += 1
    if phase > memory[1]:
        n, top = means.shape[0], means.max()
        order, scratch = np.empty(n, np.int64), np.empty(n, np.int64)
        descending_order(-means, order, scratch)
        memory[0], memory[1] = 0.0, phase
        # Audibert et al. (COLT 2010), Figure 4 (from memory): after phase k the complexity is the largest i /
        # gap_i^2 for i = N - k + 1, ..., N, with gaps in increasing order. `order` starts with the largest
        # gap.
        for place in range(phase):
            gap = top - means[order[place]]
            memory[0] = max(memory[0], (n - place) / (gap * gap))


@decide_kernel
def decide_ucbe(seen, coin, integers, reals, chosen):
    """Sample the arm with the largest ``mean + sqrt(a / T)``.

    Audibert et al. (COLT 2010), Figures 2 and 4 (from memory).
    """
    # `integers` holds the budget and the ends of the phases. The memory is that of `refresh_complexity`.
    counts, means, samples = seen.counts, seen.means, seen.clock[SAMPLES]
    a, c, memory, largest = reals[0], reals[1], reals[2:], -np.inf
    if a == 0.0:
        refresh_complexity(means, samples, integers[1:], memory)
        # Figure 4 (from memory): a = c n / H.
        a = c * integers[0] / memory[0]
    for i in range(means.shape[0]):
        index = means[i] + math.sqrt(a / counts[i])
        if index > largest:
            chosen[0], largest = i, index
    return -1 if samples >= integers[0] else 1


@dataclass(frozen=True, eq=False)
class UCBE(_OneBandit):
    """UCB-E (Audibert et al. 2010): the best arm, with a fixed budget.

    Use this explorer if the number of samples is fixed and the hardness of the problem is known or can be
    estimated. Without such knowledge, use `ContinuousRejects`.

    The explorer samples the arm with the largest ``mean + sqrt(a / T)``, where T is the number of its
    samples, and returns the arm with the largest mean. No answer is certified. The analysis assumes outcomes
    in [0, 1]. For other outcomes, which the explorer accepts as well, multiply `a` by the square of the
    length of their range.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    a : float, optional
        Exploration parameter, positive. The analysis allows values up to ``25 (budget - n_arms) / (36 H)``.
        If it is omitted, the adaptive version estimates the complexity H2 in the phases of Successive
        Rejects.
    c : float
        Factor of the adaptive version, which uses ``a = c budget / H2``.

    Examples
    --------
    >>> from cmab import UCBE
    >>> UCBE(20, budget=2000, a=10.0).arms_per_bandit
    (20,)

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010.
    """

    n_arms: int = field(metadata=N_ARMS)
    _: KW_ONLY
    budget: int = field(metadata=BUDGET)
    a: float | None = field(default=None, metadata=POSITIVE_OR_NONE)
    c: float = field(default=1.0, metadata=POSITIVE)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms."""
        # H = N in phase 0, as in the paper.
        memory = np.array([float(self.n_arms), 0.0])
        return Rule(decide_ucbe, [self.budget, *self._phase_ends()], [self.a or 0.0, self.c], memory)

    def _phase_ends(self) -> list[int]:
        """Return the numbers of samples after which Successive Rejects has dropped 1, 2, ... arms."""
        n_arms = self.n_arms
        log_sum = 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))
        # n_k of Successive Rejects, ceil((n - N) / (logbar (N + 1 - k))), which also defines the phases of
        # adaptive UCB-E.
        totals = [math.ceil((self.budget - n_arms) / (log_sum * left)) for left in range(n_arms, 1, -1)]
        return [sum(totals[:phase]) + (n_arms - phase) * totals[phase] for phase in range(n_arms - 1)]


@decide_kernel
def decide_continuous_rejects(seen, coin, integers, reals, chosen):
    """Reject the worst arm if its gap exceeds G, then sample the active arm with the fewest samples."""
    # The memory holds 1 for each arm that is not rejected, then the largest count of a rejected arm and the
    # number of samples at the last test.
    counts, means, samples, budget = seen.counts, seen.means, seen.counts.sum(), integers[0]
    n, length, to_closest, memory = counts.shape[0], reals[0], reals[1], reals[2:]
    if samples < budget and memory[n + 1] != samples:  # not again in a second call without a new sample
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
            other = closest if to_closest > 0.0 else (total - means[worst]) / (left - 1)
            # beta = logbar(j) sum of N_k over active arms / (T - sum of N_k over rejected arms), and
            # G(beta) = 1 / sqrt(beta) - 1. All samples are of active or of rejected arms.
            share = log_sum * spent / (budget - (samples - spent))
            if (other - means[worst]) / length > 1.0 / math.sqrt(share) - 1.0:
                memory[worst] = 0.0
                memory[n] = float(counts[worst])  # larger than that of each rejected arm
    chosen[0] = -1
    for i in range(n):
        if memory[i] > 0.0 and (chosen[0] < 0 or counts[i] < counts[chosen[0]]):
            chosen[0] = i
    return -1 if samples >= budget else 1


@dataclass(frozen=True, eq=False)
class ContinuousRejects(_OneBandit):
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

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms."""
        memory = np.concatenate((np.ones(self.n_arms), np.zeros(2)))
        parameters = [length(self.support), float(self.variant == "C")]
        return Rule(decide_continuous_rejects, [self.budget], parameters, memory)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arm with the largest mean that is not rejected; ties go to the lower index."""
        active = np.flatnonzero(state.memory[: self.n_arms])
        return active[best_k(state.means[active], 1)]
