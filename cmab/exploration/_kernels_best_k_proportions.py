"""Proportions of samples that tell the k best arms from the others soonest, if the means are true."""

import numpy as np

from cmab.compiled._kernels import kernel
from cmab.exploration._kernels_evidence import EPSILON, SIGMA, coin_evidence, pair_evidence

# How far from the optimum a plan may be; after so many steps it is close, even where that is not certain yet.
_TOLERANCE, _STEPS = 0.02, 20_000


@kernel
def _weakest_pair(means, is_high, weights, reals):
    """Return the pair across the border that these samples tell apart least, and its evidence."""
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
    """Return the better arm's share of the evidence of a pair."""
    if reals[SIGMA] == 0.0:
        whole, own = coin_evidence(means[high], means[low], weights[high], weights[low], reals[EPSILON])
        return own / whole
    return float(weights[low] / (weights[high] + weights[low]))


@kernel
def best_k_proportions(means, is_high, reals, out):
    """Write proportions at which a sample's least evidence of a pair is within 2 % of the largest possible.

    Information-directed selection (You, Qin, Wang and Yang, COLT 2023) of means that are known: the pair of
    least evidence gets the next sample, its arms by their shares of the evidence. A tangent at a concave
    function lies above it, so no proportions exceed the largest slope of a mean of tangents: that is the
    certificate. Tied arms across the border, without a tolerance, share all samples.
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
        # By the envelope theorem the slope in an arm's weight is its part of the evidence over the weight.
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
