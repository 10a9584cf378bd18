"""Gap-based exploration of one bandit or of several: GapE, and UGapE with fixed confidence or budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.radii import (
    anytime_rate,
    around,
    bernstein_rate,
    hoeffding_radii,
    write_bernstein_radii,
)
from cmab.bounds.samples import gaps_of_best
from cmab.compiled import SAMPLES, Rule, decide_kernel, kernel
from cmab.exploration.base import (
    DELTA,
    EPSILON,
    MORE_THAN_ARMS,
    N_ARMS,
    POSITIVE,
    SUPPORT,
    K,
    RuledExplorer,
    length,
)
from cmab.explorer import ExploreEach, ExploreM, Goal, bandit_sizes, best_of_each
from cmab.selection import mark_best
from cmab.statistics import ArmStatistics


@kernel
def gap_indices(lower, upper, k, out):
    """Write the gap index of each arm.

    The gap index is the k-th largest upper bound of the other arms minus the lower bound of the arm: B_k(t)
    of Gabillon et al. (NIPS 2012), section 3.
    """
    n, is_top = upper.shape[0], np.empty(upper.shape[0], np.bool_)
    mark_best(upper, k, is_top)
    kth, following = np.inf, -np.inf
    for i in range(n):
        if is_top[i]:
            kth = min(kth, upper[i])
        else:
            following = max(following, upper[i])
    for i in range(n):
        # The k-th largest of the others. If arm i is among the k largest, it is the (k+1)-th largest of all.
        out[i] = (following if is_top[i] else kth) - lower[i]


@kernel
def _before(bound, other, wider):
    """Return whether `bound` exceeds `other`, or equals it with a wider interval."""
    return bool(bound > other or (bound == other and wider > 0.0))


@kernel
def least_gaps(means, radii, k, is_chosen):
    """Mark the `k` arms with the least gap indices; return the arm to sample and the largest of the indices.

    Gabillon et al. (NIPS 2012), Figure 2. The critical arms are the marked arm with the least lower bound and
    the unmarked arm with the largest upper bound. Ties go to the larger radius, then to the lower index. The
    arm to sample is the critical arm with the larger radius.
    """
    n, lower, upper = means.shape[0], means - radii, means + radii
    gaps = np.empty(n)
    gap_indices(lower, upper, k, gaps)
    mark_best(-gaps, k, is_chosen)
    inside, outside, gap = -1, -1, -np.inf
    for i in range(n):
        if is_chosen[i]:
            gap = max(gap, gaps[i])
            if inside < 0 or _before(-lower[i], -lower[inside], radii[i] - radii[inside]):
                inside = i
        elif outside < 0 or _before(upper[i], upper[outside], radii[i] - radii[outside]):
            outside = i
    return (outside if radii[outside] >= radii[inside] else inside), gap


@kernel
def least_certain_bandit(means, radii, sizes, k, is_chosen, bounds):
    """Mark the answer of each bandit, write its gap index to `bounds`, and return the arm to sample.

    The arm belongs to the bandit with the largest index; ties go to the first bandit. `sizes` holds the
    number of arms of each bandit. The arms are numbered one bandit after the other.
    """
    pull, worst, first = -1, -np.inf, 0
    for bandit in range(sizes.shape[0]):
        stop = first + sizes[bandit]
        arm, bounds[bandit] = least_gaps(means[first:stop], radii[first:stop], k, is_chosen[first:stop])
        if bounds[bandit] > worst:
            pull, worst = first + arm, bounds[bandit]
        first = stop
    return pull


@dataclass(frozen=True, eq=False)
class SeveralBandits(RuledExplorer):
    """Base class of rules for the k best arms of one bandit or of each of several.

    If `n_arms` is a sequence, the sizes of the bandits, the constructor stores it as `bandits` and its sum as
    `n_arms`. The arms are numbered one bandit after the other.
    """

    n_arms: int | Sequence[int] = field(metadata=N_ARMS)  # type: ignore[assignment]
    k: int = field(metadata=K)
    _: KW_ONLY
    epsilon: float = field(default=0.0, metadata=EPSILON)
    bandits: Sequence[int] | None = None

    def __post_init__(self) -> None:
        given: Any = self.n_arms
        sizes: Any = self.bandits
        if sizes is None and isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes):
            sizes = given
        if sizes is not None:
            name = "n_arms" if sizes is given else "bandits"
            object.__setattr__(self, "bandits", tuple(bandit_sizes(sizes, name)))
            object.__setattr__(self, "n_arms", sum(self.arms_per_bandit))
            if sizes is not given and given != self.n_arms:
                raise ValueError(f"n_arms must be {self.n_arms}, the sum of bandits, got {given!r}")
        super().__post_init__()

    @property
    def arms_per_bandit(self) -> Sequence[int]:
        """The number of arms of each bandit."""
        sizes: Any = (self.n_arms,) if self.bandits is None else self.bandits
        return sizes  # type: ignore[no-any-return]

    @property
    def goal(self) -> Goal:
        """The goal that every returned arm is within `epsilon` of the k-th best of its bandit."""
        if self.bandits is None:
            return ExploreM(self.k, self.epsilon)
        return ExploreEach(self.bandits, self.k, epsilon=self.epsilon)

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
class GapE(SeveralBandits):
    """GapE (Gabillon et al. 2011): the best arm of each of several bandits, with a fixed budget.

    Use this explorer to compare with its paper.

    The explorer samples the arm with the largest ``-gap + b sqrt(a / T)``, where T is the number of its
    samples. Its gap is the distance of its mean from the best mean of its bandit, or for the best arm from
    the second best mean. No answer is certified.

    Parameters
    ----------
    n_arms, bandits
        As for `UGapEc`.
    support : tuple of float
        Interval that contains the outcomes. Its length is b.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    a : float
        Exploration parameter, positive.

    Examples
    --------
    >>> from cmab.exploration.ugape import GapE
    >>> GapE((3, 4), budget=100, a=2.0).n_arms
    7

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric, S. Bubeck: Multi-Bandit Best Arm Identification, NIPS 2011.
    """

    k: int = field(default=1, init=False)
    epsilon: float = field(default=0.0, init=False)
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    budget: int = field(metadata=MORE_THAN_ARMS)
    a: float = field(metadata=POSITIVE)

    is_proven = False
    is_bounded = True

    def rule(self) -> Rule:
        return Rule(decide_gape, [self.budget, *self.arms_per_bandit], [self.a, length(self.support)])


@kernel
def write_radii(seen, by_variance, delta, length, out):
    """Write the radii after the present number of samples."""
    n, samples = seen.means.shape[0], seen.clock[SAMPLES]
    if by_variance:
        write_bernstein_radii(seen.counts, seen.deviations, bernstein_rate(n, samples, delta), length, out)
    else:
        hoeffding_radii(seen.counts, anytime_rate(n, samples, delta), length / 2.0, out)


@kernel
def present_answer(seen, integers, reals, is_chosen):
    """Mark the arms with the least gap indices; return the arm to sample and the largest of the indices.

    `integers` holds k, 1 if the radii use variances, and the number of arms of each bandit. `reals` holds
    delta, the length of the support and the tolerance.
    """
    k, sizes = integers[0], integers[2:]
    radii, bounds = np.empty(seen.means.shape[0]), np.empty(sizes.shape[0])
    write_radii(seen, integers[1], reals[0], reals[1], radii)
    pull = least_certain_bandit(seen.means, radii, sizes, k, is_chosen, bounds)
    return pull, bounds.max()


@decide_kernel
def decide_ugape(seen, coin, integers, reals, chosen):
    """Sample the less certain critical arm; stop when every gap index is below epsilon (Figures 1 and 2)."""
    is_chosen = np.empty(seen.means.shape[0], np.bool_)
    chosen[0], bound = present_answer(seen, integers, reals, is_chosen)
    return -1 if bound < reals[2] else 1


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapERule(SeveralBandits):
    """Base class of the rules with fixed confidence, which return the arms with the least gap indices."""

    delta: float = field(metadata=DELTA)
    _by_variance = False

    @property
    def _length(self) -> float:
        """The length b of the support, or ``2 sigma``."""
        # Outcomes in an interval of length b are b / 2 sub-Gaussian (Hoeffding), so sigma replaces b / 2.
        return 2.0 * (self.sigma or 0.0) if self.support is None else length(self.support)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms because every radius changes with time."""
        integers = [self.k, self._by_variance, *self.arms_per_bandit]
        return Rule(decide_ugape, integers, [self.delta, self._length, self.epsilon])

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii at the present number of samples."""
        radii = np.empty(self.n_arms)
        write_radii(self.seen(state), self._by_variance, self.delta, self._length, radii)
        return around(state.means, radii)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arms with the least gap indices, or the best means if an arm has too few outcomes."""
        # The index needs a finite radius for every arm.
        if len(self.unseen(state)):
            return super().recommend(state)
        is_chosen = np.empty(self.n_arms, np.bool_)
        present_answer(self.seen(state), *self.parameters, is_chosen)
        return np.flatnonzero(is_chosen)


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapEc(UGapERule):
    """UGapEc (Gabillon et al. 2012): the k best arms of one bandit or of several, with fixed confidence.

    Use this explorer if several bandits share one error probability. For one bandit, `BestKGLR` and
    `LUCBPlusPlus` need fewer samples.

    The gap index of an arm is the k-th largest upper bound of the other arms minus the lower bound of the
    arm. The answer is the set of the k arms with the least gap indices. The critical arms are the arm in the
    answer with the least lower bound and the other arm with the largest upper bound. The explorer samples the
    less sampled of the two.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    of its bandit minus `epsilon`. The paper's b is ``2 sigma``, its c is 1/2, and ties go to the lower index.

    With several bandits, the explorer samples the bandit with the least certain answer, until all answers
    are certain enough. The radii of all arms of all bandits hold at once, so the proof is otherwise the same.

    Parameters
    ----------
    n_arms : int or sequence of int
        Number of arms, at least 2. For several bandits, the number of arms of each bandit; the arms are
        numbered one bandit after the other.
    k : int
        Number of arms to return from each bandit, at least 1 and less than the size of every bandit.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance. With 0, the default, the answer must be the k best arms.
    sigma : float
        Sub-Gaussian scale of the outcomes. Half the length of their support is always valid.
    bandits : sequence of int, optional
        The number of arms of each bandit. If `n_arms` is a sequence, the constructor sets this field.

    Examples
    --------
    >>> from cmab import UGapEc, identify
    >>> from instances import BernoulliArms
    >>> identify(UGapEc(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]
    >>> explorer = UGapEc((2, 3), k=1, delta=0.1)
    >>> identify(explorer, BernoulliArms([0.9, 0.1, 0.2, 0.1, 0.8]), rng=0).arms
    [array([0, 4])]

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification: A Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, Figures 1 and 2. The paper leaves several bandits to its technical
    report. The rule for several bandits here is the analogue of `UGapEb`.
    """

    sigma: float = field(default=0.5, metadata=POSITIVE)


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapEcV(UGapERule):
    """UGapEc with empirical-Bernstein radii, for arms with small variances.

    Use this explorer to compare with its paper.

    The explorer first samples every arm twice. The radius is ``sqrt(2 V l / T) + 7 b l / (3 (T - 1))`` with
    ``l = ln(7 N t^3 / delta)`` and the unbiased variance V. The probability that Maurer and Pontil's
    inequality fails for any arm, time and side is then at most `delta`. The paper leaves the constants to its
    technical report; these constants are ours.

    Parameters
    ----------
    n_arms, k, delta, epsilon, bandits
        As for `UGapEc`.
    support : tuple of float
        Interval that contains the outcomes.

    Examples
    --------
    >>> from cmab import identify
    >>> from cmab.exploration.ugape import UGapEcV
    >>> from instances import BernoulliArms
    >>> identify(UGapEcV(3, k=1, delta=0.1), BernoulliArms([0.9, 0.01, 0.01]), rng=0).arms
    [array([0])]

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification: A Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, section 5. A. Maurer, M. Pontil: Empirical Bernstein Bounds and
    Sample-Variance Penalization, COLT 2009, Theorem 4.
    """

    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)

    # The unbiased variance divides by T - 1.
    initial_pulls = 2
    _by_variance = True


@decide_kernel
def decide_ugapeb(seen, coin, integers, reals, chosen):
    """Decide as UGapEb does (Figures 1 and 2 of its paper).

    The minimum in the paper is over t = 1, ..., n and does not include the answer after the last sample.
    """
    # The memory holds the least bound of each bandit, then for each arm 1 if it was in the answer with this
    # bound.
    n, budget, k, sizes = seen.means.shape[0], integers[0], integers[1], integers[2:]
    a, b, bounds, answer = reals[0], reals[1], reals[2:], reals[2 + sizes.shape[0] :]
    radii, is_chosen, present = np.empty(n), np.empty(n, np.bool_), np.empty(sizes.shape[0])
    for i in range(n):
        # Equation 4: b sqrt(a / T).
        radii[i] = b * math.sqrt(a / seen.counts[i])
    chosen[0] = least_certain_bandit(seen.means, radii, sizes, k, is_chosen, present)
    # Round t of the paper uses t - 1 outcomes, so its minimum does not include the answer after n outcomes.
    if seen.clock[SAMPLES] >= budget:
        return -1
    first = 0
    for bandit in range(sizes.shape[0]):
        stop = first + sizes[bandit]
        # Omega(n) = argmin over t of B_J(t)(t). The answer with the least bound so far is stored.
        if present[bandit] < bounds[bandit]:
            bounds[bandit] = present[bandit]
            for i in range(first, stop):
                answer[i] = 1.0 if is_chosen[i] else 0.0
        first = stop
    return 1


@dataclass(frozen=True, eq=False)
class UGapEb(SeveralBandits):
    """UGapEb (Gabillon et al. 2012): the k best arms of one bandit or of several, with a fixed budget.

    Use this explorer for several bandits that share a number of samples, or if the hardness is known.
    Otherwise, use `SAR`.

    The explorer selects the bandit with the least certain answer, and samples the critical arm with the
    larger radius (see `UGapEc`). For each bandit, it returns the answer of the step with the smallest bound
    on the regret. No answer is certified.

    Parameters
    ----------
    n_arms, k, bandits
        As for `UGapEc`.
    epsilon : float
        Tolerance of `goal`, at least 0. The rule itself uses it only through `a`.
    support : tuple of float
        Interval that contains the outcomes. Its length is b.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    a : float
        Exploration parameter, positive. The proof needs at most ``(budget - n_arms) / (4 H)`` with H of
        `cmab.bounds.samples.ugape_hardness`. On most instances, this explores too little, and about
        ``budget / H`` errs less.

    Examples
    --------
    >>> from cmab import UGapEb
    >>> UGapEb(20, k=3, budget=2000, a=10.0).n_arms, UGapEb((3, 4), k=1, budget=100, a=2.0).n_arms
    (20, 7)

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification, a Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, Figures 1 and 2.
    """

    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    budget: int = field(metadata=MORE_THAN_ARMS)
    a: float = field(metadata=POSITIVE)
    is_proven = False
    is_bounded = True

    def rule(self) -> Rule:
        integers = [self.budget, self.k, *self.arms_per_bandit]
        memory = np.concatenate((np.full(len(self.arms_per_bandit), np.inf), np.zeros(self.n_arms)))
        return Rule(decide_ugapeb, integers, [self.a, length(self.support)], memory)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the answer with the least bound for each bandit, or the best means if an arm is unseen."""
        if len(self.unseen(state)):
            return super().recommend(state)
        # `memory` holds the least bound so far of each bandit, then for each arm 1 if the arm is in the
        # answer of that step.
        return np.flatnonzero(state.memory[len(self.arms_per_bandit) :])
