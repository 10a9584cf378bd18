"""Index rules: the functions that ask/tell and the compiled loops both call.

`reals` is what ``pack_optimism`` returns: six numbers, then weights and means of a prior, if there is one.
"""

import math

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_signatures import index_kernel
from cmab.confidence._kernels_radii import log_term

#: Places in `reals`. The factor is that on the radius, times the length of the support.
COEFFICIENT, LOGLOG, FACTOR, SIGN, LOW, HIGH, PRIOR = range(7)


@lean_kernel
def squared_radius(t, reals):
    """Return the square of the radius of an arm that was seen once."""
    # As long as the support for outcomes of any length: Hoeffding's inequality scales with it.
    return float(log_term(t, reals[COEFFICIENT], reals[LOGLOG]) * (reals[FACTOR] * reals[FACTOR]))


@lean_kernel
def upper_bound(mean, count, term, high):
    """Return CUCB's index of an arm without a prior."""
    # Chen et al. (JMLR 2016), Algorithm 1, line 5: min(mean + sqrt(3 ln t / 2 T), 1); 1 if never seen.
    # A quotient by a count of 0 is inf or nan, as in numpy. A choice afterwards vectorises, unlike a branch.
    bound = min(mean + math.sqrt(term / count), high)
    return bound if count > 0 else high


@lean_kernel
def write_bounds(counts, means, t, reals, out):
    """Write CUCB's indices in round `t`; with a factor of 0 they are greedy."""
    sign, low, high, m = reals[SIGN], reals[LOW], reals[HIGH], counts.shape[0]
    term = squared_radius(t, reals)
    weights, prior = reals[PRIOR : PRIOR + m], reals[PRIOR + m :]
    # One plain loop for each case: that is what lets the compiler vectorise them.
    if weights.shape[0] > 0:
        for i in range(m):
            # A prior is `weights` outcomes seen beforehand: they enter the mean and the radius alike.
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
            # Costs, the mirror image: max(mean - radius, 0), and 0 if never seen.
            bound = max(means[i] - math.sqrt(term / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low


@index_kernel
def optimistic_means(counts, means, deviations, memory, t, reals, rng, out):
    """CUCB's indices."""
    write_bounds(counts, means, t, reals, out)


@index_kernel
def known_means(counts, means, deviations, memory, t, reals, rng, out):
    """Return what is known beforehand, whatever was observed."""
    for i in range(reals.shape[0]):  # a slice assignment takes seconds to compile
        out[i] = reals[i]
