"""Confidence intervals and tests for means and proportions, and adjustment for many tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.bounds.beta import beta_quantile, log_beta_tail

# Relative to the optimum times the number of rounds: the rounding of a sum of millions of terms.
_NOISE = 1e-11


def proportion_interval(hits: int, trials: int, *, level: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval, with a coverage of at least `level` for every proportion."""
    tail = (1 - level) / 2
    # The ends are quantiles of Beta(hits, misses + 1) and Beta(hits + 1, misses).
    low = 0.0 if hits == 0 else beta_quantile(tail, float(hits), trials - hits + 1.0)
    high = 1.0 if hits == trials else beta_quantile(1 - tail, hits + 1.0, float(trials - hits))
    return low, high


def paired_p_value(differences: FloatArray) -> float:
    """Return the two-sided p-value of Student's t-test that paired differences have mean 0.

    The p-value is ``nan`` if there are fewer than two pairs or if all differences are equal.
    """
    n = len(differences)
    # Without variation, t would be infinite or 0 / 0.
    if n < 2 or np.ptp(differences) == 0.0:
        return np.nan
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    if mean == 0.0:
        return 1.0
    # 1 / (1 + t^2 / (n - 1)) has the distribution Beta((n - 1) / 2, 1 / 2).
    return math.exp(
        log_beta_tail(math.log((n - 1) * variance / n) - 2.0 * math.log(abs(mean)), (n - 1) / 2.0, 0.5)
    )


def student_quantile(degrees: int, level: float) -> float:
    """Return the t that Student's distribution exceeds in absolute value with probability ``1 - level``."""
    # t^2 / (degrees + t^2) has the distribution Beta(1 / 2, degrees / 2).
    share = beta_quantile(level, 0.5, degrees / 2.0)
    return math.sqrt(degrees * share / (1.0 - share))


def sign_p_value(ups: int, downs: int) -> float:
    """Return the two-sided p-value of the exact sign test (McNemar's test for paired failures)."""
    few, many = sorted((ups, downs))
    if few == many:
        return 1.0 if ups else np.nan
    # At most `few` of all are ups with the probability that Beta(many, few + 1) is below 1 / 2.
    return min(1.0, 2.0 * math.exp(log_beta_tail(0.0, float(many), few + 1.0)))


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
    quantiles = {degrees: student_quantile(degrees, level) for degrees in set((n - 1).tolist())}
    half[some] = [quantiles[degrees] for degrees in (n - 1).tolist()] * np.sqrt(squares[some] / (n - 1) / n)
    return mean, mean - half, mean + half


def without_noise(regret: FloatArray, optimum: float, *, rounds: int | IntArray) -> FloatArray:
    """Return the regret, with 0 for values that can be the rounding of sums of `rounds` rewards."""
    return np.where(np.abs(regret) <= _NOISE * abs(optimum) * rounds, 0.0, regret)
