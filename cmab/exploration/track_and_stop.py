"""Track-and-Stop: sampling in the proportions that are optimal for the empirical means."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cmab.bounds.kl import divergence
from cmab.compiled import SAMPLES, Rule, decide_kernel, kernel, lean_kernel
from cmab.exploration.base import GROWTH, K
from cmab.exploration.likelihood_ratio import (
    OWN,
    SIGMA,
    TOLERANCE,
    LikelihoodStop,
    coin_evidence,
    least_separated_pair,
    pair_evidence,
)
from cmab.selection import mark_best_again

# Bernoulli means are kept at least this far from 0 and 1, where a single outcome would be infinite evidence.
_EDGE = 1e-9
# Relative tolerance of a plan for the k best, and maximum number of steps. After the last step the plan is
# close to optimal even if the tolerance is not certified.
_CLOSE, _STEPS = 0.02, 20_000


@kernel
def _share_equally(means, out, apart):
    """Give all samples to the arms that are at most `apart` from the best."""
    top = means.max()
    for i in range(means.shape[0]):
        out[i] = 1.0 if means[i] >= top - apart else 0.0
    out /= out.sum()


@kernel
def gaussian_proportions(means, epsilon, out):
    """Write the optimal proportions of samples to find the best Gaussian arm; tied best arms share all.

    Garivier and Kaufmann (COLT 2016), Theorem 5, for Gaussian arms. Let z be 2y / (least gap)^2, and r_a the
    squared gap of arm a divided by the least squared gap. The ratio of the samples of arm a to those of the
    best arm is ``x_a = z / (r_a - z)``. The optimality condition is ``sum x_a^2 = 1``. A tolerance is added
    to each gap.
    """
    leader, least = int(np.argmax(means)), np.inf
    top = means[leader] + epsilon
    for i in range(means.shape[0]):
        if i != leader:
            least = min(least, (top - means[i]) ** 2)
    if least == 0.0:
        _share_equally(means, out, 0.0)
        return
    z = 0.5  # here the ratio of the closest arm is 1, so z is at or to the right of the root
    for _ in range(60):
        # Newton's method from the right of the root. The function is convex, so the iterates decrease to it.
        total, slope = -1.0, 0.0
        for i in range(means.shape[0]):
            if i != leader:
                ratio = (top - means[i]) ** 2 / least
                total += (z / (ratio - z)) ** 2
                slope += 2.0 * z * ratio / (ratio - z) ** 3
        if total <= 1e-14:
            break
        z -= total / slope
    for i in range(means.shape[0]):
        ratio = (top - means[i]) ** 2 / least
        out[i] = 1.0 if i == leader else z / (ratio - z)
    out /= out.sum()


@kernel
def _cost_at(x, top, mean, epsilon):
    """Return the ratio r of rival samples to best-arm samples at which x is the nearest mean, and two costs.

    At this r, the derivative of ``kl(top, x) + r kl(mean, x + epsilon)`` is 0. The costs are these two
    divergences.
    """
    y = min(x + epsilon, 1.0)
    ratio = (top - x) / (x * (1.0 - x)) * (y * (1.0 - y)) / (y - mean)
    return ratio, divergence(top, x), divergence(mean, y)


@kernel
def _mean_of_cost(cost, top, mean, epsilon):
    """Return the x at which the evidence against a rival is `cost`; the evidence decreases in x."""
    left, right = max(0.0, mean - epsilon), min(top, 1.0 - epsilon)
    x = 0.5 * (left + right)
    for _ in range(60):
        ratio, own, other = _cost_at(x, top, mean, epsilon)
        missing = own + ratio * other - cost
        left, right = (x, right) if missing > 0.0 else (left, x)
        # A Newton step if it stays inside the interval. By the envelope theorem, the evidence grows by
        # `other` per sample of the rival, and `slope` is the derivative of ln(ratio).
        y = min(x + epsilon, 1.0)
        slope = 1.0 / (1.0 - x) - 1.0 / x - 1.0 / (top - x) + 1.0 / y - 1.0 / (1.0 - y) - 1.0 / (y - mean)
        step = missing / (ratio * other * slope) if ratio * other > 0.0 else np.inf
        if abs(step) <= 1e-9 * x:  # the next step would be of the order of the square of this step
            return x - step
        x = x - step if left < x - step < right else 0.5 * (left + right)
    return x


@kernel
def coin_proportions(means, epsilon, out):
    """Write the optimal proportions of samples to find the best Bernoulli arm; tied best arms share all.

    Garivier and Kaufmann (COLT 2016), Theorem 5: at the optimum, the evidence against every rival is the same
    y, and the sum of ``kl(top, x_a) / kl(m_a, x_a + epsilon)`` is 1. This sum increases in y.
    """
    leader, n = int(np.argmax(means)), means.shape[0]
    top, rival = min(max(means[leader], _EDGE), 1.0 - _EDGE), -np.inf
    for i in range(n):
        if i != leader:
            rival = max(rival, min(max(means[i], _EDGE), 1.0 - _EDGE))
    if rival - epsilon >= top or epsilon >= 1.0:
        _share_equally(means, out, 0.0)
        return
    # For any number of samples of a rival, the evidence is at most kl(top, m_a - epsilon).
    low, high = 0.0, divergence(top, rival - epsilon) if rival > epsilon else divergence(top, _EDGE)
    for _ in range(60):
        cost, total = 0.5 * (low + high), 0.0
        for i in range(n):
            if i != leader:
                mean = min(max(means[i], _EDGE), 1.0 - _EDGE)
                _, own, other = _cost_at(_mean_of_cost(cost, top, mean, epsilon), top, mean, epsilon)
                total += own / other if other > 0.0 else np.inf
        low, high = (cost, high) if total < 1.0 else (low, cost)
    for i in range(n):
        mean = min(max(means[i], _EDGE), 1.0 - _EDGE)
        x = _mean_of_cost(0.5 * (low + high), top, mean, epsilon)
        out[i] = 1.0 if i == leader else max(0.0, _cost_at(x, top, mean, epsilon)[0])
    total = out.sum()
    if total < np.inf:
        out /= total
    else:  # Means that differ only by rounding give 0 / 0.
        _share_equally(means, out, 1e-7)


@kernel
def _weakest_pair(means, is_high, weights, reals):
    """Return the pair of a high and a low arm with the least evidence at these weights, and its evidence."""
    high, low, least, n = -1, -1, np.inf, means.shape[0]
    for i in range(n):
        if not is_high[i]:
            continue
        for j in range(n):
            if not is_high[j]:
                spread = 1.0 / weights[i] + 1.0 / weights[j]
                own = pair_evidence(means[i], means[j], weights[i], weights[j], spread, reals)
                if own < least or high < 0:
                    high, low, least = i, j, own
    return high, low, least


@kernel
def _share(high, low, means, weights, reals):
    """Return the share of the better arm in the evidence of a pair."""
    if reals[SIGMA] == 0.0:
        whole, own = coin_evidence(means[high], means[low], weights[high], weights[low], reals[TOLERANCE])
        return own / whole
    return float(weights[low] / (weights[high] + weights[low]))


@kernel
def best_k_proportions(means, is_high, reals, out):
    """Write proportions with a least evidence of a pair, per sample, within 2 % of the maximum.

    The algorithm is information-directed selection (You, Qin, Wang and Yang, COLT 2023) for known means. Each
    step gives one sample to the pair with the least evidence and divides it by the arms' shares of the
    evidence. The least evidence is a concave function of the weights, so its tangents lie above it. The
    largest slope of an average of tangents therefore bounds the maximum and certifies the result. If a high
    and a low arm are tied and the tolerance is 0, these two arms share all samples.
    """
    n, best, bound = means.shape[0], 0.0, np.inf
    weights, slopes = np.full(n, 1.0 / n), np.zeros(n)
    for step in range(_STEPS):
        high, low, least = _weakest_pair(means, is_high, weights, reals)
        if not 0.0 < least < np.inf:
            out[:] = 0.0
            out[high] = out[low] = 0.5
            return
        if least > best:
            best = least
            out[:] = weights
        share = _share(high, low, means, weights, reals)
        # By the envelope theorem, the slope in the weight of an arm is its part of the evidence divided by
        # the weight.
        slopes *= step / (step + 2.0)
        slopes[high] += 2.0 / (step + 2.0) * share * least / weights[high]
        slopes[low] += 2.0 / (step + 2.0) * (1.0 - share) * least / weights[low]
        bound = min(bound, slopes.max())
        if bound <= best * (1.0 + _CLOSE):
            return
        rate = 1.0 / (step + n + 1.0)
        weights *= 1.0 - rate
        weights[high] += rate * share
        weights[low] += rate * (1.0 - share)


@kernel
def refresh_plan(means, best, samples, growth, plan, reals):
    """Recompute the proportions ``plan[1:]`` if `samples` has reached ``plan[0]``, and set the next time."""
    if samples >= plan[0]:
        if best.shape[0] > 1:
            is_high = np.empty(means.shape[0], np.bool_)
            mark_best_again(means, best, is_high)
            best_k_proportions(means, is_high, reals, plan[1:])
        elif reals[SIGMA] == 0.0:
            coin_proportions(means, reals[TOLERANCE], plan[1:])
        else:
            gaussian_proportions(means, reals[TOLERANCE], plan[1:])
        # With geometric times, Track-and-Stop is still asymptotically optimal (Jedra and Proutiere 2020, from
        # memory).
        plan[0] = max(math.ceil((1.0 + growth) * samples), samples + 1)


@lean_kernel
def tracked_arm(counts, samples, proportions):
    """Return the least sampled arm if its count is below ``sqrt(t) - N / 2``, otherwise the arm most behind.

    This is D-tracking by Garivier and Kaufmann (COLT 2016).
    """
    n = counts.shape[0]
    rarest = int(np.argmin(counts))
    if counts[rarest] < math.sqrt(samples) - n / 2.0:
        return rarest
    arm, most = 0, -np.inf
    for i in range(n):
        lack = samples * proportions[i] - counts[i]
        if lack > most:
            arm, most = i, lack
    return arm


@decide_kernel
def decide_track(seen, coin, integers, reals, chosen):
    """Track the proportions that are optimal for the empirical means."""
    # `integers` holds the k best arms of the last step. The memory holds the time of the next plan and the
    # plan.
    samples, growth, plan = seen.clock[SAMPLES], reals[OWN], reals[OWN + 1 :]
    refresh_plan(seen.means, integers, samples, growth, plan, reals)
    chosen[0] = tracked_arm(seen.counts, samples, plan[1:])
    return -1 if least_separated_pair(seen.means, seen.counts, integers, reals, np.empty(0))[2] else 1


@dataclass(frozen=True, eq=False, kw_only=True)
class TrackAndStop(LikelihoodStop):
    """Lazy Track-and-Stop (Garivier and Kaufmann 2016) for the best arm or the k best, with D-tracking.

    Use this explorer if the error probability is tiny, because its number of samples is then the least
    possible. For usual probabilities, `BestKGLR` needs about as many.

    The explorer computes the optimal proportions of samples for the empirical means
    (`cmab.bounds.characteristic_time`, and for k > 1 `cmab.bounds.best_k_time`, within 2 %). It recomputes
    these proportions, the plan, whenever the number of samples t has grown by the share `growth` (Jedra and
    Proutiere 2020). If an arm has fewer than ``sqrt(t) - N / 2`` samples, the explorer samples the least
    sampled arm; otherwise, the arm that is farthest below its proportion. It needs no randomness.

    As `delta` tends to 0, the mean number of samples divided by ``ln(1 / delta)`` tends to the characteristic
    time, the least value of all rules. The stopping rule is that of `BestKGLR`. It errs with probability at
    most `delta` (constants from memory of the paper).

    Parameters
    ----------
    n_arms, k, delta, sigma, epsilon, family, mode
        As for `BestKGLR`.
    growth : float
        Share by which the number of samples grows between two plans, in [0, 1]. With 0, the explorer
        recomputes the plan at every sample, as published. On the instances of the paper, this takes 5 to 10 %
        fewer samples than 0.1, the default, and many times the computation.

    Examples
    --------
    >>> from cmab import TrackAndStop, identify
    >>> from instances import GaussianArms
    >>> identify(TrackAndStop(3, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016.
    Y. Jedra, A. Proutiere: Optimal Best-Arm Identification in Linear Bandits, NeurIPS 2020 (lazy updates,
    from memory).
    """

    k: int = field(default=1, metadata=K)
    growth: float = field(default=0.1, metadata=GROWTH)

    def rule(self) -> Rule:
        """Return the compiled rule, with the plan and the time of the next plan as memory."""
        reals = [*self._stop, self.growth]
        return Rule(decide_track, [*range(self.k)], reals, np.zeros(1 + self.n_arms))
