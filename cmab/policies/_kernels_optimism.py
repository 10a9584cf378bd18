"""Index rules of optimistic policies, called by ask and tell and by the compiled loops.

`reals` is the result of ``pack_optimism``: six numbers, then the weights and means of a prior, if any.
"""

import math

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_signatures import index_kernel
from cmab.confidence._kernels_radii import log_term

#: Positions in `reals`. FACTOR is the factor of the radius times the length of the support.
COEFFICIENT, LOGLOG, FACTOR, SIGN, LOW, HIGH, PRIOR = range(7)


@lean_kernel
def squared_radius(t, reals):
    """Return the squared radius of an arm with one observation."""
    # By Hoeffding's inequality the radius is proportional to the length of the support (in FACTOR).
    return float(log_term(t, reals[COEFFICIENT], reals[LOGLOG]) * (reals[FACTOR] * reals[FACTOR]))


@lean_kernel
def upper_bound(mean, count, term, high):
    """Return CUCB's index of an arm without a prior."""
    # Chen et al. (JMLR 2016), Algorithm 1, line 5: min(mean + sqrt(3 ln t / 2 T), 1); 1 if unobserved.
    # Division by a count of 0 gives inf or nan, as in numpy. A selection vectorises, a branch does not.
    bound = min(mean + math.sqrt(term / count), high)
    return bound if count > 0 else high


@lean_kernel
def write_bounds(counts, means, t, reals, out):
    """Write CUCB's indices in round `t`. With a factor of 0 they are the greedy indices."""
    sign, low, high, m = reals[SIGN], reals[LOW], reals[HIGH], counts.shape[0]
    term = squared_radius(t, reals)
    weights, prior = reals[PRIOR : PRIOR + m], reals[PRIOR + m :]
    # One simple loop for each case, so that the compiler vectorises it.
    if weights.shape[0] > 0:
        for i in range(m):
            # A prior is equivalent to `weights` earlier outcomes, in the mean and in the radius.
            count = counts[i] + weights[i]
            mean = (counts[i] * means[i] + weights[i] * prior[i]) / count
            radius = math.sqrt(term / count)
            bound = min(mean + radius, high) if sign > 0.0 else max(mean - radius, low)
            out[i] = bound if count > 0.0 else (high if sign > 0.0 else low)
    elif sign > 0.0:
        for i in range(m):
            out[i] = upper_bound(means[i], counts[i], term, high)
    else:
        for i in range(m):
            # For costs, the mirror image: max(mean - radius, low), and low if unobserved.
            bound = max(means[i] - math.sqrt(term / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low


@index_kernel
def optimistic_means(counts, means, deviations, memory, t, reals, rng, out):
    """Write CUCB's indices."""
    write_bounds(counts, means, t, reals, out)


@index_kernel
def known_means(counts, means, deviations, memory, t, reals, rng, out):
    """Write the known means, independent of the observations."""
    for i in range(reals.shape[0]):  # a slice assignment takes seconds to compile
        out[i] = reals[i]
