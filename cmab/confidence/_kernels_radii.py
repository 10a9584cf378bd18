"""The formulas of the confidence radii."""

import math

import numpy as np

from cmab.compiled import kernel, lean_kernel

#: Number of entries of `reals` before the table of radii: epsilon, sigma and the levels of the two sides.
PARAMETERS = 4
#: Size of the table of radii: two sides of 65,536 counts. The system allocates the megabyte only when used.
RADII = 2 * 65_536


@lean_kernel
def lil_radius(count, level, epsilon, sigma):
    """Return the radius by the law of the iterated logarithm after `count` outcomes, with the "+2"."""
    if count == 0:
        return np.inf
    # Jiang, Li and Qiao (2017), U(T, w) of Lemma 2.1 with the change of section 5, where + 2 keeps all
    # logarithms positive: (1 + sqrt e) sqrt(2 sigma^2 (1 + e) / T ln(ln((1 + e) T + 2) / w)).
    inner = math.log((1.0 + epsilon) * count + 2.0)
    scale = (1.0 + math.sqrt(epsilon)) * math.sqrt(2.0 * (1.0 + epsilon)) * sigma
    return scale * math.sqrt(math.log(inner / level) / count)


@lean_kernel
def radius_at(count, is_high, reals):
    """Return the radius of an arm on one side after `count` outcomes.

    `reals` begins with epsilon, sigma and the levels of the high and the low side. The rest is a table of
    computed radii, in which 0 marks an unknown radius.
    """
    place = PARAMETERS + 2 * count + (0 if is_high else 1)
    # The two calls are separate because LLVM would merge them into one that runs every time.
    if place >= reals.shape[0]:
        return lil_radius(count, reals[2] if is_high else reals[3], reals[0], reals[1])
    if reals[place] == 0.0:
        reals[place] = lil_radius(count, reals[2] if is_high else reals[3], reals[0], reals[1])
    return float(reals[place])


@lean_kernel
def lil_radii_of(counts, levels, epsilon, sigma, out):
    """Write `lil_radius` of every arm to `out`."""
    for i in range(counts.shape[0]):
        out[i] = lil_radius(counts[i], levels[i], epsilon, sigma)


@kernel
def lucb1_rate(n_arms, t, delta):
    """Return LUCB1's exploration rate in round `t`, by Kalyanakrishnan et al. (ICML 2012) with k_1 = 5/4."""
    # Section 3.3: beta_1(u, t) = sqrt(ln(k_1 N t^4 / delta) / 2u), which is Hoeffding's radius with this rate
    # and sigma = 1/2. Our copy of the paper lacks the formula, but its proofs (Lemma 3) imply it.
    return exploration_rate(n_arms, t, delta, 1.25, 4.0)


@lean_kernel
def anytime_rate(n_arms, t, delta):
    """Return the rate of UGapEc (Gabillon et al. 2012) and CLUCB (Chen et al. 2014) at sample `t`."""
    # Equation 4 of Gabillon et al. with c = 1/2: b sqrt(ln(4 N (t - 1)^3 / delta) / 2T). Their t is the
    # number of the next sample, our t is the number of samples so far. CLUCB's radius (from memory) is the
    # same with sigma for b / 2.
    return exploration_rate(n_arms, t, delta, 4.0, 3.0)


@kernel
def bernstein_rate(n_arms, t, delta):
    """Return the rate of UGapE-V at sample `t`; the constants are ours, see `UGapEcV`."""
    # Each of the 2 N bounds fails with probability at most 2 exp(-rate) at each of t counts. The sum over t
    # is at most 4 zeta(2) delta / 7, and 4 zeta(2) = 6.58.
    return exploration_rate(n_arms, t, delta, 7.0, 3.0)


@lean_kernel
def exploration_rate(n_arms, t, delta, factor, power):
    """Return ``ln(factor n_arms t^power / delta)``, the exploration rate of a radius that depends on t."""
    # The logarithm is the sum of two parts because the product may overflow if delta is tiny.
    return math.log(factor * n_arms / delta) + power * math.log(t)


@lean_kernel
def scaled_radii(counts, log, out):
    """Write ``sqrt(log / count)`` of every arm to `out`, or infinity for an arm without outcomes."""
    for i in range(counts.shape[0]):
        out[i] = math.sqrt(log / counts[i]) if counts[i] > 0 else np.inf


@lean_kernel
def hoeffding_radii(counts, log, sigma, out):
    """Write ``sigma sqrt(2 log / count)`` of every arm to `out`, or infinity for an arm without outcomes."""
    # Hoeffding: the mean of T outcomes is too large by r with probability at most exp(-T r^2 / (2 sigma^2)).
    scaled_radii(counts, 2.0 * sigma * sigma * log, out)


@lean_kernel
def bernstein_radii(counts, deviations, log, length, out):
    """Write Maurer and Pontil's radius for a support of `length`, or infinity below two outcomes."""
    for i in range(counts.shape[0]):
        count = counts[i]
        if count < 2:
            out[i] = np.inf
        else:
            # Maurer and Pontil (COLT 2009), Theorem 4: sqrt(2 V l / T) + 7 b l / (3 (T - 1)), where V is the
            # unbiased variance.
            variance = deviations[i] / (count - 1)
            out[i] = math.sqrt(2.0 * variance * log / count) + 7.0 * length * log / (3.0 * (count - 1))


@lean_kernel
def log_term(t, coefficient, loglog):
    """Return the numerator of CUCB's squared radius in round `t` = 1, 2, ...; see ``LogRadius``."""
    log = math.log(t)
    term = coefficient * log
    # Chen et al. (JMLR 2016), section 3.2. Up to t = 2, ln ln t is negative, and 0 replaces it.
    if loglog > 0.0 and t >= 3:
        term += loglog * math.log(log)
    return term
