"""Confidence intervals and tests for means and proportions, and adjustment for many tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray

# Relative to the optimum times the number of rounds: the rounding of a sum of millions of terms.
_NOISE = 1e-11


def proportion_interval(hits: int, trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval, with a coverage of at least `level` for every proportion."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    # The ends are quantiles of Beta(hits, misses + 1) and Beta(hits + 1, misses).
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 1 - tail))
    return low, high


def paired_p_value(differences: FloatArray) -> float:
    """Return the two-sided p-value of Student's t-test that paired differences have mean 0.

    The p-value is ``nan`` if there are fewer than two pairs or if all differences are equal.
    """
    from scipy.special import stdtr

    n = len(differences)
    # Without variation, t would be infinite or 0 / 0.
    if n < 2 or np.ptp(differences) == 0.0:
        return np.nan
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(n))
    return float(2.0 * stdtr(n - 1, -abs(t)))


def sign_p_value(ups: int, downs: int) -> float:
    """Return the two-sided p-value of the exact sign test (McNemar's test for paired failures)."""
    from scipy.special import bdtr

    n = ups + downs
    return min(1.0, float(2.0 * bdtr(min(ups, downs), n, 0.5))) if n else np.nan


def holm(p_values: Sequence[float] | ArrayLike) -> FloatArray:
    """Return Holm's adjusted p-values.

    The probability of any false rejection is at most q if all hypotheses with adjusted p-values below q are
    rejected. Entries that are ``nan`` stay ``nan`` and do not count as tests.
    """
    p = np.asarray(p_values, np.float64)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(p.shape, np.nan)
    # Holm (1979): the i-th smallest of m p-values times m - i + 1, at least the adjusted values before it.
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return adjusted


def band(values: FloatArray, *, level: float = 0.95) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean over replications and Student's confidence interval at each checkpoint.

    Parameters
    ----------
    values : FloatArray, shape (R, C)
        One row for each replication; ``nan`` after an interruption.
    level : float
        The confidence level at each checkpoint.

    Returns
    -------
    tuple of FloatArray, shape (C,)
        The mean, and the lower and upper ends. The ends are ``nan`` if fewer than two replications have a
        value.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.intervals import band
    >>> mean, low, high = band(np.array([[1.0], [2.0], [3.0]]))
    >>> mean, (high - mean).round(3)  # t quantile 4.303 over the square root of 3
    (array([2.]), array([2.484]))
    """
    from scipy.special import stdtrit

    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be in (0, 1), got {level}")
    played = np.isfinite(values)
    counts = played.sum(axis=0)
    # Interrupted replications have no value at late checkpoints. Each mean is over those with a value.
    filled = np.where(played, values, 0.0)
    mean = np.divide(filled.sum(axis=0), counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    squares = np.where(played, (values - mean) ** 2, 0.0).sum(axis=0)
    half = np.full(counts.shape, np.nan)
    some = counts > 1
    n = counts[some]
    half[some] = stdtrit(n - 1, (1 + level) / 2) * np.sqrt(squares[some] / (n - 1) / n)
    return mean, mean - half, mean + half


def without_noise(regret: FloatArray, optimum: float, *, rounds: int | IntArray) -> FloatArray:
    """Return the regret, with 0 for values that can be the rounding of sums of `rounds` rewards."""
    return np.where(np.abs(regret) <= _NOISE * abs(optimum) * rounds, 0.0, regret)
