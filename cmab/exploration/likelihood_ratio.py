"""`BestKGLR`: the k best arms, with a stopping rule on likelihood ratios.

The likelihood ratio of two arms is the evidence that one is better than the other less a tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from cmab.arrays import IntArray
from cmab.bounds.beta import log_gamma
from cmab.bounds.kl import divergence
from cmab.bounds.radii import pair_threshold
from cmab.compiled import Rule, decide_kernel, kernel, lean_kernel
from cmab.exploration.base import EPSILON, POSITIVE, BestK, RuledExplorer
from cmab.exploration.lucb import choose_critical
from cmab.parameters import one_of
from cmab.selection import mark_best_again
from cmab.statistics import ArmStatistics

#: Places in `reals`: sigma of Gaussian arms (0 for Bernoulli arms), the constant part of the threshold, the
#: tolerance, and the table of `_log`.
SIGMA, THRESHOLD, TOLERANCE, TABLE = range(4)
# The sub-Gaussian scale of outcomes in [0, 1] by Hoeffding's lemma, and the default of all explorers.
_UNIT = 0.5
Family = Literal["gaussian", "bernoulli"]


@lean_kernel
def evidence(gap, spread, sigma):
    """Return the likelihood ratio of two Gaussian arms; `spread` is the sum of their ``1 / T``.

    Z_ab(t) of Garivier and Kaufmann (COLT 2016), for Gaussian arms with the same variance.
    """
    return gap * gap / (2.0 * sigma * sigma * spread)


@lean_kernel
def nearest_mean(high, low, own, other, epsilon):
    """Return the x that minimises ``own kl(high, x) + other kl(low, x + epsilon)``, a convex function.

    The minimum is between ``low - epsilon`` and `high`. The function bisects on the sign of the derivative,
    multiplied by its positive denominators.
    """
    if epsilon == 0.0:
        return (own * high + other * low) / (own + other)
    left, right = max(0.0, low - epsilon), min(high, 1.0 - epsilon)
    for _ in range(60):
        x = 0.5 * (left + right)
        # d/dx kl(p, x) = (x - p) / (x (1 - x)).
        y = x + epsilon
        slope = own * (x - high) * y * (1.0 - y) + other * (y - low) * x * (1.0 - x)
        left, right = (x, right) if slope < 0.0 else (left, x)
    return 0.5 * (left + right)


@lean_kernel
def coin_evidence(high, low, own, other, epsilon):
    """Return the likelihood ratio of two Bernoulli arms, and the part of the better arm in it.

    Z_ab(t) of Garivier and Kaufmann (COLT 2016): the least ``T_a kl(m_a, x) + T_b kl(m_b, y)`` over all means
    with ``x <= y - epsilon``. It is infinite if there are no such means.
    """
    if low - epsilon >= high:
        return 0.0, 0.0
    if epsilon >= 1.0:
        return np.inf, np.inf
    x = nearest_mean(high, low, own, other, epsilon)
    first = own * divergence(high, x)
    return first + other * divergence(low, min(x + epsilon, 1.0)), first


@kernel
def mixture_penalty(mean, count):
    """Return the logarithm of the maximum Bernoulli likelihood of the outcomes over its average.

    The average is over the Beta(1/2, 1/2) prior (Krichevsky and Trofimov 1981): ``B(S + 1/2, T - S + 1/2) /
    pi``.
    """
    wins = mean * count
    losses = count - wins
    largest = 0.0
    if wins > 0.0:
        largest += wins * math.log(wins / count)
    if losses > 0.0:
        largest += losses * math.log(losses / count)
    averaged = log_gamma(wins + 0.5) + log_gamma(losses + 0.5) - log_gamma(count + 1.0)
    return largest - averaged + math.log(math.pi)


@kernel
def penalty(mean, count, reals):
    """Return the part of the threshold of a pair that depends on one of its arms."""
    if reals[SIGMA] == 0.0:
        return mixture_penalty(mean, count)
    # Kaufmann and Koolen (JMLR 2021): 2 ln(4 + ln T) for each arm of the pair.
    return 2.0 * math.log(4.0 + math.log(count))


@lean_kernel
def pair_evidence(high, low, own, other, spread, reals):
    """Return the evidence that the mean of an arm is at least that of another arm minus the tolerance."""
    if reals[SIGMA] == 0.0:
        return coin_evidence(high, low, own, other, reals[TOLERANCE])[0]
    return evidence(max(0.0, high - low + reals[TOLERANCE]), spread, reals[SIGMA])


@lean_kernel
def _log(count, table):
    """Return ``ln count``; `table` stores the logarithms of small counts, with 0 for unknown ones."""
    if count >= table.shape[0]:
        return math.log(count)
    if table[count] == 0.0:
        table[count] = math.log(count)
    return float(table[count])


@kernel
def _enough(means, counts, is_high, reals):
    """Return whether the evidence of every pair exceeds its threshold."""
    n, base = means.shape[0], reals[THRESHOLD]
    penalties = np.empty(n)
    for i in range(n):
        penalties[i] = penalty(means[i], counts[i], reals)
    for i in range(n):
        if not is_high[i]:
            continue
        for j in range(n):
            spread = 1.0 / counts[i] + 1.0 / counts[j]
            own = base + penalties[i] + penalties[j]
            if not is_high[j] and not (
                pair_evidence(means[i], means[j], counts[i], counts[j], spread, reals) > own
            ):
                return False
    return True


@kernel
def least_separated_pair(means, counts, best, reals):
    """Return the pair with the least evidence plus ``ln T_i + ln T_j``, and whether all pairs have enough.

    A pair has enough evidence if its evidence exceeds its threshold. Ties go to the lower index. `best` holds
    the k best arms of the last step, and after the call those of this step.
    """
    n, table = means.shape[0], reals[TABLE:]
    is_high, inverse, logs = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    mark_best_again(means, best, is_high)
    for i in range(n):
        inverse[i], logs[i] = 1.0 / counts[i], _log(counts[i], table)
    least, high, low = np.inf, -1, -1
    for i in range(n):
        if not is_high[i]:
            continue
        for j in range(n):
            if is_high[j]:
                continue
            # The index of EB-TCI (Jourdan et al. 2022, from memory). Without the logarithms, an arm with few
            # outcomes may seem well separated and never be sampled again.
            own = pair_evidence(means[i], means[j], counts[i], counts[j], inverse[i] + inverse[j], reals)
            weight = own + logs[i] + logs[j]
            if weight < least or high < 0:
                least, high, low = weight, i, j
    # In most steps this pair lacks evidence, and then the other pairs need not be checked.
    needs = (
        reals[THRESHOLD] + penalty(means[high], counts[high], reals) + penalty(means[low], counts[low], reals)
    )
    spread = inverse[high] + inverse[low]
    sure = pair_evidence(means[high], means[low], counts[high], counts[low], spread, reals) > needs
    return high, low, sure and _enough(means, counts, is_high, reals)


@decide_kernel
def decide_mixture(seen, coin, integers, reals, chosen):
    """Sample one arm of the least separated pair; stop when every pair has enough evidence.

    The random choice is information-directed selection (You, Qin, Wang and Yang, COLT 2023): the probability
    of an arm is its share of the pair's evidence.
    """
    # `integers` holds the k best arms of the last step.
    means, counts = seen.means, seen.counts
    high, low, enough = least_separated_pair(means, counts, integers, reals)
    size = choose_critical(high, low, True, counts, coin, chosen)
    if reals[SIGMA] == 0.0:  # for Gaussian arms, the share of the high arm is T_l / (T_h + T_l)
        whole, own = coin_evidence(means[high], means[low], counts[high], counts[low], reals[TOLERANCE])
        if 0.0 < whole < np.inf:
            chosen[0] = high if coin * whole < own else low
    return -size if enough else size


@dataclass(frozen=True, eq=False, kw_only=True)
class BestKGLR(RuledExplorer, BestK):
    """The k best arms, with a stopping rule on the likelihood ratios of all pairs of arms.

    Use this explorer first for the k best arms. It needs the fewest samples unless variances are small, where
    `BernsteinLUCB` needs fewer. Set a maximum number of samples, because it is not proven to stop.

    Let ``m_i`` be the empirical mean of arm i and ``T_i`` its number of samples. The explorer computes, for
    each of the k best arms i and each other arm j, the evidence that i is better than j less `epsilon`. For
    Gaussian arms, the evidence is ``(m_i - m_j + epsilon)^2 / (2 sigma^2 (1 / T_i + 1 / T_j))``. The run
    stops when the evidence of every pair exceeds its threshold.

    The critical pair has the least sum of its evidence and the penalty ``ln T_i + ln T_j``. The penalty
    ensures that every arm is sampled again and again. The explorer samples one arm of the critical pair, with
    probability equal to the share of the arm in the evidence. For k = 1, this is the information-directed
    selection of You et al. (2023). The explorer needs about half the samples of `LilRandLUCB` and its kind.

    Parameters
    ----------
    n_arms, k : int
        The number of arms, at least 2, and the number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Standard deviation of Gaussian outcomes, or sub-Gaussian scale. Omit it if `family` is
        ``"bernoulli"``.
    epsilon : float
        Tolerance. With 0, the default, the answer must be the k best arms. With a positive tolerance, runs
        also end if arms are tied.
    family : {"gaussian", "bernoulli"}
        Distribution in the likelihoods. ``"bernoulli"`` is valid for all outcomes in [0, 1], and takes fewer
        samples if means are close to 0 or 1.

    Notes
    -----
    Let i be an arm outside the true k best, and j an arm of the true k best that is better than i by more
    than `epsilon`. With probability at least ``1 - delta``, the evidence that i is better than j less
    `epsilon` never exceeds its threshold for any such pair. This holds for every way of sampling.

    For Gaussian outcomes, the constants of the threshold are those of Kaufmann and Koolen, from memory: a
    number plus ``2 ln(4 + ln T)`` for each arm of the pair. For outcomes in [0, 1], the threshold is
    ``ln(pairs / delta)`` plus one term for each arm. This term is the logarithm of the maximum of the
    likelihood divided by the average of the likelihood under the Beta(1/2, 1/2) prior, about ``ln(T) / 2 +
    0.6`` at most. The ratio of this average to the true likelihood is a nonnegative supermartingale of mean
    at most 1 (for outcomes between 0 and 1 by convexity), and Ville's inequality bounds its maximum.

    There is no proof that every run ends, so limit the number of samples.

    Examples
    --------
    >>> from cmab import BestKGLR, identify
    >>> from instances import GaussianArms
    >>> identify(BestKGLR(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021).
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016, section 4 (the
    stopping rule for Bernoulli outcomes).
    W. You, C. Qin, Z. Wang, S. Yang: Information-Directed Selection for Top-Two Algorithms, COLT 2023.
    M. Jourdan, R. Degenne, E. Kaufmann: An epsilon-Best-Arm Identification Algorithm for Fixed-Confidence and
    Beyond, NeurIPS 2023 (the evidence with a tolerance).
    """

    sigma: float = field(default=_UNIT, metadata=POSITIVE)
    epsilon: float = field(default=0.0, metadata=EPSILON)
    family: Family = field(default="gaussian", metadata=one_of("gaussian", "bernoulli"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family == "bernoulli":
            if self.sigma != _UNIT:
                raise ValueError(f"sigma must be omitted if family is 'bernoulli', got {self.sigma:g}")
            object.__setattr__(self, "support", (0.0, 1.0))

    def witness(self, state: ArmStatistics, named: IntArray) -> tuple[int, int] | None:
        """Return the pair with the least difference between its evidence and its threshold."""
        reals, counts, means = np.array(self._stop), state.counts, state.means
        if len(self.unseen(state)):
            return None
        penalties = [penalty(mean, count, reals) for mean, count in zip(means, counts, strict=True)]

        def excess(pair: tuple[int, int]) -> float:
            i, j = pair
            spread = 1.0 / counts[i] + 1.0 / counts[j]
            own = pair_evidence(means[i], means[j], counts[i], counts[j], spread, reals)
            return float(own - penalties[i] - penalties[j])

        others = np.setdiff1d(np.arange(self.n_arms), named)
        return min(((int(i), int(j)) for i in named for j in others), key=excess)

    @cached_property
    def _stop(self) -> list[float]:
        """The first parameters of the compiled rule, among them the constant part of the threshold of a pair.

        A wrong answer needs a wrong pair, and each pair is wrong with probability at most delta / pairs.
        """
        pairs = self.k * (self.n_arms - self.k)
        if self.family == "bernoulli":
            return [0.0, math.log(pairs / self.delta), self.epsilon]
        return [self.sigma, pair_threshold(pairs, delta=self.delta), self.epsilon]

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all pairs of one of the k best arms and another arm."""
        return Rule(decide_mixture, [*range(self.k)], self._stop, is_random=True, room=65_536)
