"""Intervals and tests for means, proportions and many comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cmab.arrays import ArrayLike, FloatArray


def proportion_interval(hits: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Return Clopper and Pearson's interval, whose coverage is at least `level` for every proportion."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 1 - tail))
    return low, high


def paired_p_value(differences: FloatArray) -> float:
    """Return the two-sided p-value of Student's test that paired differences have mean 0.

    It is ``nan`` where the test does not apply: below two pairs, or when all differences are equal.
    """
    from scipy.special import stdtr

    n = len(differences)
    if n < 2 or np.ptp(differences) == 0.0:
        return np.nan
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(n))
    return float(2.0 * stdtr(n - 1, -abs(t)))


def sign_p_value(ups: int, downs: int) -> float:
    """Return the two-sided p-value of the exact sign test (McNemar's, for paired failures)."""
    from scipy.special import bdtr

    n = ups + downs
    return min(1.0, float(2.0 * bdtr(min(ups, downs), n, 0.5))) if n else np.nan


def holm(p_values: Sequence[float] | ArrayLike) -> FloatArray:
    """Return Holm's adjusted p-values: rejecting those below q errs anywhere with probability at most q.

    Entries that are ``nan`` are no tests: they stay, and do not count.
    """
    p = np.asarray(p_values, np.float64)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(p.shape, np.nan)
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return adjusted
