"""Confidence radii: small frozen objects over pure functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cmab._validation import real
from cmab.arrays import FloatArray, IntArray


def scaled_radius(counts: FloatArray | IntArray, log_term: float) -> FloatArray:
    """Return ``sqrt(log_term / counts)``, infinite where `counts` is 0."""
    counts = np.asarray(counts, dtype=np.float64)
    radii = np.full(counts.shape, np.inf)
    seen = counts > 0
    np.divide(log_term, counts, out=radii, where=seen)
    return np.sqrt(radii, out=radii)


@dataclass(frozen=True)
class LogRadius:
    """The radius ``sqrt((coefficient ln t + loglog ln ln t) / T)`` of CUCB, for outcomes in [0, 1].

    Parameters
    ----------
    coefficient : float
        Factor of ln t; 3/2 in Algorithm 1.
    loglog : float
        Factor of ln ln t, which counts as 0 in rounds 1 and 2.

    Raises
    ------
    ValueError
        If a factor is negative or not finite.

    Examples
    --------
    >>> from cmab.confidence import LogRadius
    >>> LogRadius().log_term(1), LogRadius.wide(c=3.0).coefficient, LogRadius.tight().loglog
    (0.0, 2.0, 0.5)

    References
    ----------
    Chen et al. (JMLR 2016), Algorithm 1 and section 3.2.
    """

    coefficient: float = 1.5
    loglog: float = 0.0

    def __post_init__(self) -> None:
        real("coefficient", self.coefficient, 0.0)
        real("loglog", self.loglog, 0.0)

    @classmethod
    def wide(cls, c: float) -> LogRadius:
        """Return section 3.2's ``sqrt((1 + c) ln t / 2T)``, c > 1, for triggering probabilities of 1."""
        return cls(coefficient=(1.0 + real("c", c, 1.0, inside=True)) / 2.0)

    @classmethod
    def tight(cls) -> LogRadius:
        """Return section 3.2's ``sqrt((2 ln t + ln ln t) / 2T)``, for triggering probabilities of 1."""
        return cls(coefficient=1.0, loglog=0.5)

    def log_term(self, t: int) -> float:
        """Return the numerator in round `t` = 1, 2, ..."""
        log = math.log(t)
        return self.coefficient * log + (self.loglog * math.log(log) if self.loglog and t >= 3 else 0.0)


def c_epsilon(epsilon: float) -> float:
    """Return the constant of the lil lemma, ``(2 + e) / e (1 / ln(1 + e))^(1 + e)``.

    Examples
    --------
    >>> from cmab.confidence import c_epsilon
    >>> round(c_epsilon(0.01), 1)
    21153.4
    """
    return (2.0 + epsilon) / epsilon * math.pow(math.log1p(epsilon), -(1.0 + epsilon))


def lil_radii(
    counts: FloatArray | IntArray, omega: FloatArray | float, epsilon: float, sigma: float
) -> FloatArray:
    """Return the law-of-the-iterated-logarithm radius of lil-rand-lucb, section 5 (with "+2").

    The mean of a ``sigma``-sub-Gaussian arm ever exceeds its expectation by the radius with probability
    at most ``c_epsilon(epsilon) * omega ** (1 + epsilon)``; with ``epsilon=0`` nothing is proven.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.confidence import lil_radii
    >>> lil_radii(np.array([1, 100]), 1e-3, epsilon=0.0, sigma=0.5).round(6)
    array([1.87107 , 0.205417])
    """
    inner = np.log((1.0 + epsilon) * np.asarray(counts) + 2.0)
    scale = (1.0 + math.sqrt(epsilon)) * math.sqrt(2.0 * (1.0 + epsilon)) * sigma
    radii: FloatArray = scale * np.sqrt(np.log(inner / omega) / counts)
    return radii


def lucb1_radii(counts: IntArray, t: int, delta: float, sigma: float) -> FloatArray:
    """Return LUCB1's radius in round `t`: ``sigma sqrt(2 ln(1.25 N t^4 / delta) / T)``."""
    log = math.log(1.25 * len(counts) / delta) + 4.0 * math.log(t)
    return scaled_radius(counts, 2.0 * sigma**2 * log)


def clock_radii(counts: IntArray, t: int, delta: float, sigma: float) -> FloatArray:
    """Return the radius of UGapEc and CLUCB after `t` samples: ``sigma sqrt(2 ln(4 N t^3 / delta) / T)``."""
    log = math.log(4.0 * len(counts) / delta) + 3.0 * math.log(t)
    return scaled_radius(counts, 2.0 * sigma**2 * log)


def mixture_threshold(x: float) -> float:
    """Return C_G(x), the Gaussian mixture threshold: the least ``(g(l) + x) / l`` over l in (1/2, 1).

    Examples
    --------
    >>> from cmab.confidence import mixture_threshold
    >>> round(mixture_threshold(2.0), 3)
    3.583

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021).
    """
    from scipy.special import zeta

    # Any l gives a valid threshold, so a grid is safe; this one is within 1e-6 of the least value.
    grid = 0.5 + 0.5 * np.linspace(0.0, 1.0, 4002)[1:-1]
    g = 2.0 * grid * (1.0 - np.log(4.0 * grid)) + np.log(zeta(2.0 * grid)) - 0.5 * np.log1p(-grid)
    return float(((g + x) / grid).min())


def largest_level(error: Callable[[float], float], delta: float) -> float:
    """Return a level w in (0, 1) with ``error(w) <= delta``, nearly the largest; `error` increases."""
    low, high = -700.0, 0.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if error(math.exp(middle)) <= delta else (low, middle)
    return math.exp(low)
