"""Confidence radii of sums and means, their thresholds and their parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from cmab import parameters as declared
from cmab.arrays import FloatArray, IntArray
from cmab.compiled import kernel, lean_kernel
from cmab.validation import integer, listed, one_of, per_arm, real, vector

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
def hoeffding_radii(counts, log, sigma, out):
    """Write ``sigma sqrt(2 log / count)`` of every arm to `out`, or infinity for an arm without outcomes."""
    # Hoeffding: the mean of T outcomes is too large by r with probability at most exp(-T r^2 / (2 sigma^2)).
    scaled = 2.0 * sigma * sigma * log
    for i in range(counts.shape[0]):
        out[i] = math.sqrt(scaled / counts[i]) if counts[i] > 0 else np.inf


@lean_kernel
def write_bernstein_radii(counts, deviations, log, length, out):
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


Mode = Literal["faithful", "paper", "heuristic"]
_MODES: tuple[Mode, ...] = ("faithful", "paper", "heuristic")
MODE = declared.one_of(*_MODES)


@dataclass(frozen=True)
class LogRadius(declared.Declared):
    """The radius ``sqrt((coefficient ln t + loglog ln ln t) / T)`` of CUCB, for outcomes in [0, 1].

    Parameters
    ----------
    coefficient : float
        Factor of ln t, at least 0; 3/2 in Algorithm 1.
    loglog : float
        Factor of ln ln t, at least 0. In rounds 1 and 2, ln ln t is replaced by 0.

    Examples
    --------
    >>> from cmab.bounds.radii import LogRadius
    >>> LogRadius().log_term(1), LogRadius.wide(c=3.0).coefficient, LogRadius.tight().loglog
    (0.0, 2.0, 0.5)

    References
    ----------
    W. Chen, Y. Wang, Y. Yuan, Q. Wang: Combinatorial Multi-Armed Bandit and Its Extension to
    Probabilistically Triggered Arms, JMLR 17 (2016), Algorithm 1 and section 3.2.
    """

    coefficient: float = field(default=1.5, metadata=declared.real(0.0))
    loglog: float = field(default=0.0, metadata=declared.real(0.0))

    @classmethod
    def wide(cls, c: float) -> LogRadius:
        """Return the radius ``sqrt((1 + c) ln t / 2T)``, c > 1, for triggering probabilities of 1."""
        return cls(coefficient=(1.0 + real("c", c, 1.0, inside=True)) / 2.0)

    @classmethod
    def tight(cls) -> LogRadius:
        """Return the radius ``sqrt((2 ln t + ln ln t) / 2T)`` for triggering probabilities of 1."""
        return cls(coefficient=1.0, loglog=0.5)

    def log_term(self, t: int) -> float:
        """Return the numerator of the squared radius in round `t` = 1, 2, ..."""
        return float(log_term(t, self.coefficient, self.loglog))


def c_epsilon(epsilon: float) -> float:
    """Return ``(2 + e) / e (1 / ln(1 + e))^(1 + e)``, the constant of the law of the iterated logarithm.

    Examples
    --------
    >>> from cmab.bounds.radii import c_epsilon
    >>> round(c_epsilon(0.01), 1)
    21153.4
    """
    epsilon = real("epsilon", epsilon, 1e-150)  # the constant grows like 1 / epsilon^2, and must not overflow
    # Jiang, Li and Qiao (2017), Lemma 2.1.
    return (2.0 + epsilon) / epsilon * math.pow(math.log1p(epsilon), -(1.0 + epsilon))


def lil_radii(
    counts: FloatArray | IntArray, level: FloatArray | float, *, epsilon: float, sigma: float
) -> FloatArray:
    """Return the radius of `LilRandLUCB` for each arm, by the law of the iterated logarithm (lil).

    The probability that the mean of a ``sigma``-sub-Gaussian arm ever exceeds its expectation by more than
    the radius is at most ``c_epsilon(epsilon) * level ** (1 + epsilon)``. With ``epsilon=0`` nothing is
    proven. The formula is that of Jiang, Li and Qiao (2017), section 5, with "+2" in the logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.bounds.radii import lil_radii
    >>> lil_radii(np.array([1, 100]), 1e-3, epsilon=0.0, sigma=0.5).round(6)
    array([1.87107 , 0.205417])
    """
    whole = vector("counts", counts, low=0.0, high=2.0**62).astype(np.int64)
    levels = per_arm("level", level, len(whole), 0.0)
    radii = np.empty(whole.shape)
    lil_radii_of(whole, levels, real("epsilon", epsilon, 0.0), real("sigma", sigma, 0.0), radii)
    return radii


def around(means: FloatArray, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the means minus the radii, and the means plus the radii."""
    return means - radii, means + radii


def mixture_threshold(x: float) -> float:
    """Return the Gaussian mixture threshold C_G(x), the minimum of ``(g(l) + x) / l`` over l in (1/2, 1).

    Raises
    ------
    ValueError
        If `x` is not a finite number.

    Examples
    --------
    >>> from cmab.bounds.radii import mixture_threshold
    >>> round(mixture_threshold(2.0), 3)
    3.583

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021).
    """
    from scipy.special import zeta

    x = real("x", x)
    # Every l gives a valid threshold, so the minimum over a grid is valid. It is within 1e-6 of the infimum.
    grid = 0.5 + 0.5 * np.linspace(0.0, 1.0, 4002)[1:-1]
    # g(l) = 2l - 2l ln(4l) + ln zeta(2l) - ln(1 - l) / 2, from memory.
    g = 2.0 * grid * (1.0 - np.log(4.0 * grid)) + np.log(zeta(2.0 * grid)) - 0.5 * np.log1p(-grid)
    return float(((g + x) / grid).min())


def pair_threshold(n_pairs: int, *, delta: float) -> float:
    """Return the constant part of the threshold for the evidence of `n_pairs` pairs of Gaussian arms.

    The threshold for the pair i, j is this number plus ``2 ln(4 + ln T_i) + 2 ln(4 + ln T_j)``. With
    probability at least ``1 - delta``, the evidence for a wrong order of a pair never exceeds the threshold
    of the pair, for any of the `n_pairs` pairs.

    Examples
    --------
    >>> from cmab.bounds.radii import pair_threshold
    >>> round(pair_threshold(9, delta=0.01), 3)
    10.147

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021).
    """
    # For a set A of two arms: |A| C_G(ln(1 / w) / |A|) with |A| = 2 and w = delta / n_pairs, from memory.
    n_pairs, delta = integer("n_pairs", n_pairs, 1), real("delta", delta, 1e-301, 1.0, inside=True)
    return 2.0 * mixture_threshold(math.log(n_pairs / delta) / 2.0)


def lil_parameters(
    mode: Mode, sides: tuple[int, ...], *, delta: float, n_sides: float
) -> tuple[float, float]:
    """Return the parameters (e, w) of lil radii with a probability of error of at most `delta`.

    `sides` holds the number of arms on each side, and an arm on a side of `size` arms has the radius ``U(T, w
    / (n_sides size))``. Only deviations in one direction per arm can cause an error. Mode "faithful" takes
    nearly the largest w for which the union bound over these deviations is at most `delta`. Mode "paper"
    solves the cruder ``c_e w = delta``. Mode "heuristic" returns ``e = 0, w = delta``, which is not proven.

    Examples
    --------
    >>> from cmab.bounds.radii import lil_parameters
    >>> lil_parameters("heuristic", (2, 3), delta=0.1, n_sides=2.0)
    (0.0, 0.1)
    """
    one_of("mode", mode, _MODES)
    sizes = [integer("sides", size, 1) for size in listed("sides", sides, "numbers of arms")]
    delta, n_sides = real("delta", delta, 0.0, 1.0, inside=True), real("n_sides", n_sides, 0.0, inside=True)
    if mode == "heuristic":
        return 0.0, delta
    epsilon = 0.01  # the bounds on the number of samples in Theorem 3.1 hardly change around this value
    # Theorem 3.1 bounds the error by c_e w. It does not use the exponent 1 + e, nor the sizes of the sides.
    constant = c_epsilon(epsilon)
    if mode == "paper":
        return epsilon, delta / constant
    # The one-sided bound of Lemma 2.1 is c_e U^(1 + e) for each of the `size` arms of a side, at their level
    # U = w / (n_sides size). The sum is delta at this w, which is reduced by more than its rounding error.
    total = constant * sum(size**-epsilon for size in sizes)
    level = n_sides * math.exp((math.log(delta) - math.log(total)) / (1.0 + epsilon))
    return epsilon, min(level, 1.0) * (1.0 - 1e-12)
