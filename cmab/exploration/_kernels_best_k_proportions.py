"""Proportions of samples that identify the k best arms soonest, if the empirical means are the true means."""

import numpy as np

from cmab.compiled import kernel
from cmab.exploration._kernels_evidence import EPSILON, SIGMA, coin_evidence, pair_evidence

# Relative tolerance of a plan, and maximum number of steps. After the last step the plan is close to optimal
# even if the tolerance is not certified.
_TOLERANCE, _STEPS = 0.02, 20_000


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
        whole, own = coin_evidence(means[high], means[low], weights[high], weights[low], reals[EPSILON])
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
        if bound <= best * (1.0 + _TOLERANCE):
            return
        rate = 1.0 / (step + n + 1.0)
        weights *= 1.0 - rate
        weights[high] += rate * share
        weights[low] += rate * (1.0 - share)
