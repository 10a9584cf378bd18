"""LUCB: explorers that compare the k best arms with the others by confidence bounds; KL-LUCB and lil'UCB.

The critical arms are the one of the k best arms with the least lower bound and the one of the others with the
largest upper bound. The rules differ in the radius for each side, in the choice of the critical arms to
sample, and in the stopping rule.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.bounds.kl import kl_bounds, kl_bounds_of, kl_lucb_rate, kl_rate
from cmab.bounds.radii import (
    MODE,
    RADII,
    Mode,
    around,
    c_epsilon,
    hoeffding_radii,
    lil_parameters,
    lil_radii,
    lucb1_rate,
    radius_at,
)
from cmab.compiled import (
    EXPLORE_TREES,
    MOST_SAMPLES,
    ROUNDS,
    SAMPLES,
    STEPS,
    ExplorerKernel,
    Rule,
    decide_kernel,
    kernel,
    lean_kernel,
    loop_kernel,
)
from cmab.exploration.base import EPSILON, POSITIVE, BestK, RuledExplorer
from cmab.parameters import one_of
from cmab.selection import mark_best, mark_best_again, plant, put, tree_size
from cmab.statistics import ArmStatistics, observe_outcome


def best_mask(means: FloatArray, k: int) -> BoolArray:
    """Return a mask of the `k` largest means; ties go to the lower index."""
    is_high = np.empty(len(means), np.bool_)
    mark_best(means, k, is_high)
    return is_high


@lean_kernel
def critical_pair(lower, upper, is_high):
    """Return the high arm with the least lower bound, the low arm with the largest upper bound, the overlap.

    The arms are h* and l* of Kalyanakrishnan et al. (ICML 2012), section 3. Ties go to the lower index.
    """
    high, low = -1, -1
    for i in range(lower.shape[0]):
        if is_high[i]:
            if high < 0 or lower[i] < lower[high]:
                high = i
        elif low < 0 or upper[i] > upper[low]:
            low = i
    return high, low, upper[low] - lower[high]


@lean_kernel
def choose_critical(high, low, one_arm, counts, coin, chosen):
    """Write the arms of the pair that are sampled, in increasing order; return their number.

    `one_arm` is 0 for both arms, 1 for one at random, and 2 for the one with fewer samples.
    """
    if one_arm == 2:
        chosen[0] = high if counts[high] < counts[low] else low
        return 1
    if one_arm == 1:
        # lil'RandLUCB, Algorithm 1 of Jiang, Li and Qiao (2017): the odds of the high arm are T_low : T_high.
        chosen[0] = high if coin * (counts[high] + counts[low]) < counts[low] else low
        return 1
    chosen[0], chosen[1] = min(high, low), max(high, low)
    return 2


class LUCBRule(BestK):
    """Base class for your own LUCB rules.

    A subclass defines `bounds`, and declares `sigma` or `support`. It may set `one_arm` to True, so that each
    round samples one critical arm at random instead of both.

    Examples
    --------
    >>> from cmab import LUCBRule, identify
    >>> from cmab.bounds import kl_bounds, kl_rate
    >>> from instances import BernoulliArms
    >>> class Entropy(LUCBRule):
    ...     support = (0.0, 1.0)
    ...     def bounds(self, state, is_high):
    ...         rate = kl_rate(self.n_arms, state.rounds, delta=self.delta)
    ...         return kl_bounds(state.means, state.counts, rate=rate)
    >>> identify(Entropy(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]
    """

    one_arm: ClassVar[bool] = False

    @abstractmethod
    def bounds(self, state: ArmStatistics, is_high: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper bound of each arm; `is_high` marks the k largest means."""

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return both critical arms, or one of them at random if `one_arm` is True.

        The odds of the high arm against the low arm are ``T_low : T_high``.
        """
        (high, low, _), chosen = self._pair(state), np.empty(2, np.int64)
        coin = rng.random() if self.one_arm else 0.0
        return chosen[: choose_critical(high, low, int(self.one_arm), state.counts, coin, chosen)]

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        return self.bounds(state, best_mask(state.means, self.k))

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the intervals of the two sides do not overlap."""
        return bool(self._pair(state)[2] <= 0.0)

    def _pair(self, state: ArmStatistics) -> tuple[int, int, float]:
        is_high = best_mask(state.means, self.k)
        found: tuple[int, int, float] = critical_pair(*self.bounds(state, is_high), is_high)
        return found


@decide_kernel
def decide_lucb1(seen, coin, integers, reals, chosen):
    """Sample both critical arms; stop when the overlap is strictly below epsilon.

    Kalyanakrishnan et al. (ICML 2012), section 3. The radius is their beta.
    """
    # `integers` holds the k best arms of the last step.
    counts, means, delta, sigma, epsilon = seen.counts, seen.means, reals[0], reals[1], reals[2]
    n = means.shape[0]
    is_high, radii = np.empty(n, np.bool_), np.empty(n)
    mark_best_again(means, integers, is_high)
    # t counts rounds, with two samples each. That is enough for the proof, and makes the radius smaller.
    rate = lucb1_rate(n, seen.clock[ROUNDS], delta)
    hoeffding_radii(counts, rate, sigma, radii)
    high, low, gap = critical_pair(means - radii, means + radii, is_high)
    size = choose_critical(high, low, False, counts, coin, chosen)
    return -size if gap < epsilon else size


@dataclass(frozen=True, eq=False, kw_only=True)
class LUCB1(RuledExplorer, BestK):
    """LUCB1 (Kalyanakrishnan et al. 2012): the k best arms, with radii that grow with the round.

    Use this explorer if a proof of the number of samples is required and a tolerance is accepted.
    `LUCBPlusPlus` and `BestKGLR` need fewer samples.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    minus `epsilon`. Each round samples the two critical arms: the arm of the k best with the least lower
    bound, and the arm of the others with the largest upper bound.

    Parameters
    ----------
    n_arms, k : int
        The number of arms, at least 2, and the number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance. With 0, the default, the answer must be the k best arms.
    sigma : float
        Sub-Gaussian scale of the outcomes. Half the length of their support is always valid.

    Examples
    --------
    >>> from cmab import LUCB1, identify
    >>> from instances import BernoulliArms
    >>> identify(LUCB1(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    S. Kalyanakrishnan, A. Tewari, P. Auer, P. Stone: PAC Subset Selection in Stochastic Multi-armed
    Bandits, ICML 2012, section 3.
    """

    epsilon: float = field(default=0.0, metadata=EPSILON)
    sigma: float = field(default=0.5, metadata=POSITIVE)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms because every radius changes with time."""
        return Rule(decide_lucb1, [*range(self.k)], [self.delta, self.sigma, self.epsilon])

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii of this round."""
        radii = np.empty(self.n_arms)
        counts, rate = self.seen(state).counts, lucb1_rate(self.n_arms, state.rounds, self.delta)
        hoeffding_radii(counts, rate, self.sigma, radii)
        return around(state.means, radii)


@decide_kernel
def decide_kl_lucb(seen, coin, integers, reals, chosen):
    """Decide as LUCB1 does, with bounds by relative entropy (Kaufmann and Kalyanakrishnan, COLT 2013)."""
    # `integers` holds the k best arms of the last step.
    counts, means, delta, epsilon = seen.counts, seen.means, reals[0], reals[1]
    n = means.shape[0]
    is_high, lower, upper = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    mark_best_again(means, integers, is_high)
    rate = kl_lucb_rate(n, seen.clock[ROUNDS], delta)
    kl_bounds_of(means, counts, rate, lower, upper)
    high, low, gap = critical_pair(lower, upper, is_high)
    size = choose_critical(high, low, False, counts, coin, chosen)
    return -size if gap < epsilon else size


@dataclass(frozen=True, eq=False, kw_only=True)
class KLLUCB(RuledExplorer, BestK):
    """KL-LUCB (Kaufmann and Kalyanakrishnan 2013): LUCB with Bernoulli confidence bounds.

    Use this explorer only to compare with its paper. `BernsteinLUCB` needs fewer samples and less time, also
    for means near 0 or 1 and with a tolerance.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    minus `epsilon`. This holds for all outcomes in [0, 1], because by convexity the bounds for Bernoulli
    outcomes hold for every distribution on [0, 1] with the same mean.

    Each round samples both critical arms, and the exploration rate grows with the number of rounds. If means
    are close to 0 or 1, the explorer needs far fewer samples than `LUCB1`.

    Parameters
    ----------
    n_arms, k, delta, epsilon
        As for `LUCB1`.

    Examples
    --------
    >>> from cmab import identify
    >>> from cmab.exploration.lucb import KLLUCB
    >>> from instances import BernoulliArms
    >>> identify(KLLUCB(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    E. Kaufmann, S. Kalyanakrishnan: Information Complexity in Bandit Subset Selection, COLT 2013. The rate is
    that of Theorem 1 with alpha = 1.1 (from memory, confirmed by the constant in public code).
    """

    epsilon: float = field(default=0.0, metadata=EPSILON)

    support = (0.0, 1.0)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms because every bound changes with time."""
        return Rule(decide_kl_lucb, [*range(self.k)], [self.delta, self.epsilon])

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the confidence bounds by relative entropy."""
        rate = kl_rate(self.n_arms, state.rounds, delta=self.delta)
        return kl_bounds(state.means, state.counts, rate=rate)


@decide_kernel
def decide_lil(seen, coin, integers, reals, chosen):
    """Sample the critical pair by lil radii, or one of the two arms; stop when the sides do not overlap."""
    # `integers` holds `one_arm`, then the k best arms of the last step, where the search starts. `reals`
    # holds the parameters of `radius_at`.
    counts, means = seen.counts, seen.means
    n = means.shape[0]
    is_high, radii = np.empty(n, np.bool_), np.empty(n)
    mark_best_again(means, integers[1:], is_high)
    for i in range(n):
        radii[i] = radius_at(counts[i], is_high[i], reals)
    high, low, gap = critical_pair(means - radii, means + radii, is_high)
    size = choose_critical(high, low, integers[0], counts, coin, chosen)
    # Algorithm 1: m_h - r_h >= m_l + r_l. `chosen` holds the pair at the stop as well, for callers that
    # continue.
    return -size if gap <= 0.0 else size


# The trees: lower bounds of the k best arms (negated), upper bounds of the others, means of the k best arms
# (negated), means of the others.
_LOWER, _UPPER, _WORST, _BEST = 0, 1, 2, 3
_OUT = -np.inf


@lean_kernel
def _enter(keys, winners, arm, mean, radius, is_high):
    """Put the keys of `arm` into the trees of its side."""
    if is_high:
        put(keys, winners, _LOWER, arm, -(mean - radius), False)
        put(keys, winners, _WORST, arm, -mean, True)
    else:
        put(keys, winners, _UPPER, arm, mean + radius, False)
        put(keys, winners, _BEST, arm, mean, False)


@lean_kernel
def _leave(keys, winners, arm, was_high):
    """Remove `arm` from the trees of a side."""
    put(keys, winners, _LOWER if was_high else _UPPER, arm, _OUT, False)
    put(keys, winners, _WORST if was_high else _BEST, arm, _OUT, was_high)


@loop_kernel(EXPLORE_TREES)
def explore_lil_trees(rule, draw, arms, seen, streams):
    """Take the same samples as `explore` with `decide_lil`, with the same parameters."""
    (counts, means, deviations, clock), reals = seen, rule.reals
    (draw_integers, draw_reals), (learner, coins) = arms, streams
    n, one_arm, k = means.shape[0], rule.integers[0], rule.integers.shape[0] - 1
    chosen = np.empty(2, np.int64)
    keys, winners = plant(4, tree_size(n))
    is_high = np.empty(n, np.bool_)
    mark_best(means, k, is_high)
    for i in range(n):
        _enter(keys, winners, i, means[i], radius_at(counts[i], is_high[i], reals), is_high[i])
    for _ in range(clock[STEPS]):
        coin = learner.random() if one_arm == 1 else 0.0
        high, low = winners[_LOWER, 1], winners[_UPPER, 1]
        size = choose_critical(high, low, one_arm, counts, coin, chosen)
        # The tree holds negated lower bounds, so the sum is bitwise the overlap in `decide_lil`.
        if keys[_UPPER, 1] + keys[_LOWER, 1] <= 0.0 or clock[SAMPLES] + size > clock[MOST_SAMPLES]:
            return True
        for j in range(size):
            arm = chosen[j]
            observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
            side = is_high[arm]
            _enter(keys, winners, arm, means[arm], radius_at(counts[arm], side, reals), side)
            # Only one mean changed, so at most one pair of arms changes sides.
            worst, best = winners[_WORST, 1], winners[_BEST, 1]
            if means[best] > means[worst] or (means[best] == means[worst] and best < worst):
                for moved in (worst, best):
                    side = is_high[moved]
                    _leave(keys, winners, moved, side)
                    is_high[moved] = not side
                    radius = radius_at(counts[moved], not side, reals)
                    _enter(keys, winners, moved, means[moved], radius, not side)
        clock[ROUNDS] += 1
        clock[SAMPLES] += size
    return False


@dataclass(frozen=True, eq=False, kw_only=True)
class LilLUCB(RuledExplorer, BestK):
    """lil'LUCB (Jamieson and Nowak 2014): LUCB with radii by the law of the iterated logarithm (lil).

    Use this explorer to compare with its paper. `LUCBPlusPlus` has smaller radii.

    All arms have the same formula of the radius, and each round samples both critical arms.

    Parameters
    ----------
    n_arms, k : int
        The number of arms, at least 2, and the number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "paper", "heuristic"}
        The constants of the radius. With "faithful" and "paper", the probability of error is at most `delta`;
        "paper" uses the cruder constant of the theorem. "heuristic" takes far fewer samples but has no proof:
        no answer is certified, and a run may never stop.

    Examples
    --------
    >>> from cmab import identify
    >>> from cmab.exploration.lucb import LilLUCB
    >>> from instances import GaussianArms
    >>> identify(LilLUCB(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    K. Jamieson, R. Nowak: Best-arm identification algorithms for multi-armed bandits in the fixed
    confidence setting, CISS 2014.
    """

    sigma: float = field(default=0.5, metadata=POSITIVE)
    mode: Mode = field(default="faithful", metadata=MODE)

    #: 0 if a round samples both critical arms, 1 for one at random, 2 for the one with fewer samples.
    one_arm: ClassVar[int] = 0
    _in_kernel = (*RuledExplorer._in_kernel, "rule")

    @property
    def is_proven(self) -> bool:
        return self.mode != "heuristic"

    @cached_property
    def _levels(self) -> tuple[float, float, float]:
        """The epsilon of the lil radius, the level of the k best arms, and the level of the others."""
        epsilon, level = lil_parameters(self.mode, delta=self.delta, sides=(self.n_arms,), n_sides=1.0)
        return epsilon, level / self.n_arms, level / self.n_arms

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms and takes the same samples as the trees."""
        epsilon, high, low = self._levels
        integers, reals = [self.one_arm, *range(self.k)], [epsilon, self.sigma, high, low]
        return Rule(decide_lil, integers, reals, is_random=self.one_arm == 1, room=RADII)

    def kernel(self) -> ExplorerKernel:
        """Return the compiled loop with tournament trees, which takes O(log n_arms) time per sample."""
        return ExplorerKernel(explore_lil_trees, (self.arguments(),))

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii, which differ between the two sides."""
        epsilon, high, low = self._levels
        levels = np.where(best_mask(state.means, self.k), high, low)
        return around(state.means, lil_radii(state.counts, levels, epsilon=epsilon, sigma=self.sigma))


@dataclass(frozen=True, eq=False)
class LUCBPlusPlus(LilLUCB):
    """LUCB++ (Simchowitz et al. 2017): lil'LUCB with smaller radii.

    Use this explorer for the k best arms if a choice may take little time, and a deterministic rule is
    preferred. `LilRandLUCB` needs slightly fewer samples, and `BestKGLR` far fewer.

    The union bound for an arm counts only the arms on the *other* side: the n - k others for one of the k
    best, and the k best for one of the others. Each round samples both critical arms.

    Parameters
    ----------
    n_arms, k, delta, sigma, mode
        As for `LilLUCB`.

    Examples
    --------
    >>> from cmab import LUCBPlusPlus, identify
    >>> from instances import GaussianArms
    >>> identify(LUCBPlusPlus(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    M. Simchowitz, K. Jamieson, B. Recht: The Simulator, COLT 2017.
    """

    @cached_property
    def _levels(self) -> tuple[float, float, float]:
        n_low = self.n_arms - self.k
        epsilon, level = lil_parameters(self.mode, delta=self.delta, sides=(self.k, n_low), n_sides=2.0)
        # Algorithm 1 of Jiang et al. (2017): U(T, delta / [2 (N - K)]) for the high arms, and U(T, delta /
        # 2K) for the low arms.
        return epsilon, level / (2.0 * n_low), level / (2.0 * self.k)


@dataclass(frozen=True, eq=False)
class LilRandLUCB(LUCBPlusPlus):
    """lil'RandLUCB: the radii of LUCB++ and one critical arm at random in each round.

    Use this explorer for the k best of very many arms, because a choice takes O(log n) time. `BestKGLR` needs
    fewer samples, but compares all pairs of arms.

    The explorer draws each critical arm with probability proportional to the number of samples of the other
    arm, so it prefers the less sampled arm.

    Parameters
    ----------
    n_arms, k, delta, sigma, mode
        As for `LilLUCB`.

    Examples
    --------
    >>> from cmab import LilRandLUCB, identify
    >>> from instances import GaussianArms
    >>> identify(LilRandLUCB(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits, 2017,
    Algorithm 1 and Theorem 3.1.
    """

    one_arm = 1


@kernel
def dominates(most, samples, ratio):
    """Return whether an arm with `most` of all `samples` has `ratio` times as many as the others together."""
    # Figure 1 (from memory): T_i >= 1 + lambda sum over j != i of T_j.
    return bool(most >= 1.0 + ratio * (samples - most))


@decide_kernel
def decide_lil_ucb(seen, coin, integers, reals, chosen):
    """Sample the arm with the largest upper bound (ties: the lower index); stop when one arm dominates."""
    # `reals` holds the factor and the ratio, then the parameters and the table of `radius_at`.
    counts, means, factor, ratio, table = seen.counts, seen.means, reals[0], reals[1], reals[2:]
    largest = -np.inf
    for i in range(means.shape[0]):
        # Figure 1 (from memory): mean + (1 + beta) U(T, w), where the factor is 1 + beta.
        bound = means[i] + factor * radius_at(counts[i], True, table)
        if bound > largest:
            chosen[0], largest = i, bound
    return -1 if dominates(int(counts.max()), seen.clock[SAMPLES], ratio) else 1


@loop_kernel(EXPLORE_TREES)
def explore_lil_ucb(rule, draw, arms, seen, streams):
    """Take the same samples as `explore` with `decide_lil_ucb`, in O(log n) time per sample."""
    (counts, means, deviations, clock), reals = seen, rule.reals
    (draw_integers, draw_reals), coins = arms, streams.coins
    n, factor, ratio, table = means.shape[0], reals[0], reals[1], reals[2:]
    keys, winners = plant(1, tree_size(n))
    most = 0
    for i in range(n):
        put(keys, winners, 0, i, means[i] + factor * radius_at(counts[i], True, table), False)
        most = max(most, counts[i])
    for _ in range(clock[STEPS]):
        if dominates(most, clock[SAMPLES], ratio) or clock[SAMPLES] + 1 > clock[MOST_SAMPLES]:
            return True
        arm = winners[0, 1]
        observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
        most = max(most, counts[arm])
        put(keys, winners, 0, arm, means[arm] + factor * radius_at(counts[arm], True, table), False)
        clock[ROUNDS] += 1
        clock[SAMPLES] += 1
    return False


@dataclass(frozen=True, eq=False, kw_only=True)
class LilUCB(RuledExplorer, BestK):
    """lil'UCB (Jamieson et al. 2014): sample the largest upper bound, and return the most sampled arm.

    Use this explorer only to compare with its paper. For the best arm, `BestKGLR` needs fewer samples.

    The run stops when one arm has been sampled far more often than all others together. This stopping rule is
    valid only for samples that the explorer selected itself, one at a time.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "heuristic"}
        The parameters of the paper's experiments. The paper proves only that some ratio for the stopping rule
        exists, so no answer is certified. In mode "heuristic", a run may never stop.

    Examples
    --------
    >>> from cmab import identify
    >>> from cmab.exploration.lucb import LilUCB
    >>> from instances import GaussianArms
    >>> identify(LilUCB(3, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    K. Jamieson, M. Malloy, R. Nowak, S. Bubeck: lil' UCB: An Optimal Exploration Algorithm for Multi-Armed
    Bandits, COLT 2014.
    """

    k: int = field(default=1, init=False)
    sigma: float = field(default=0.5, metadata=POSITIVE)
    mode: Literal["faithful", "heuristic"] = field(
        default="faithful", metadata=one_of("faithful", "heuristic")
    )

    is_proven = False
    _in_kernel = (*RuledExplorer._in_kernel, "rule")

    @cached_property
    def _parameters(self) -> tuple[float, float, float, float]:
        """The epsilon and the level of the lil radius, its factor, and the ratio of the stopping rule."""
        if self.mode == "heuristic":
            # Jamieson et al. (2014), from memory: e = 0, beta = 1/2, lambda = 1 + 10 / N.
            return 0.0, self.delta, 1.5, 1.0 + 10.0 / self.n_arms
        # The paper bounds the error by 4 sqrt(c w) + 4 c w.
        level = (math.sqrt(1.0 + self.delta) - 1.0) ** 2 / (4.0 * c_epsilon(0.01))
        return 0.01, level, 2.0, 9.0

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms and takes the same samples as the tree."""
        epsilon, level, factor, ratio = self._parameters
        return Rule(decide_lil_ucb, [], [factor, ratio, epsilon, self.sigma, level, level], room=RADII)

    def kernel(self) -> ExplorerKernel:
        """Return the compiled loop with a tournament tree, which takes O(log n_arms) time per sample."""
        return ExplorerKernel(explore_lil_ucb, (self.arguments(),))

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the most sampled arm."""
        return np.array([np.argmax(state.counts)], np.int64)
