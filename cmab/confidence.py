"""Confidence radii: small frozen objects over pure functions."""

from __future__ import annotations

import math
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
