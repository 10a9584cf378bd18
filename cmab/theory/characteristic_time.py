"""The characteristic time of best-arm identification: a lower bound on samples."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.confidence.kl import bernoulli_divergence
from cmab.validation import real, vector

Divergence = Callable[[float, float], float]


def gaussian_divergence(p: float, q: float) -> float:
    """Return the relative entropy of Normal(p, 1) and Normal(q, 1); divide by sigma^2 for other variances.

    Examples
    --------
    >>> from cmab.theory.characteristic_time import gaussian_divergence
    >>> gaussian_divergence(1.0, 0.0)
    0.5
    """
    return (p - q) ** 2 / 2.0


def characteristic_time(
    means: ArrayLike, *, divergence: Divergence = bernoulli_divergence, beta: float | None = None
) -> tuple[FloatArray, float]:
    """Return the optimal proportions w* of samples and the characteristic time T* for the best arm.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        True means, at least two; the largest one must be unique.
    divergence : callable
        Relative entropy of the distributions with two given means.
    beta : float, optional
        Share of the samples for the best arm, in (0, 1), for rules that fix it, such as top-two rules. If
        omitted, the optimal share. With 1/2, the time is at most twice the optimal one.

    Returns
    -------
    FloatArray, shape (n_arms,)
        The proportions of samples.
    float
        The characteristic time T*. Any rule that errs with probability at most delta needs at least
        ``T* kl(delta, 1 - delta)`` samples on average.

    Raises
    ------
    ValueError
        If the largest mean is not unique, or if `beta` is out of its range.

    Examples
    --------
    >>> from cmab.theory.characteristic_time import characteristic_time
    >>> proportions, time = characteristic_time([0.5, 0.45, 0.43, 0.4])
    >>> proportions.round(3), round(time, 2)
    (array([0.417, 0.39 , 0.136, 0.057]), 989.79)

    References
    ----------
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016, Theorem 5.
    """
    values = vector("means", means)
    if beta is not None:
        real("beta", beta, 0.0, 1.0, inside=True)
    best = int(np.argmax(values)) if len(values) else 0
    others = np.delete(values, best)
    if not (len(others) and others.max() < values[best]):
        raise ValueError(f"means must be at least two with a unique largest one, got {values.tolist()}")
    top = float(values[best])

    def weights(y: float) -> FloatArray:
        return np.array([_inverse(top, float(value), y, divergence) for value in others])

    def excess(y: float) -> float:
        if beta is not None:
            # The other arms share 1 - beta, in units of the best arm's beta.
            return float(weights(y).sum()) - (1.0 - beta) / beta
        # F(y) = sum over a of d(m_1, mid_a) / d(m_a, mid_a), and F(y*) = 1 at the optimum.
        mids = [(top + x * value) / (1 + x) for x, value in zip(weights(y), others, strict=True)]
        pairs = zip(others, mids, strict=True)  # for large x, an arm's own divergence rounds to 0
        ratios = [divergence(top, mid) / max(divergence(float(value), mid), 1e-300) for value, mid in pairs]
        return sum(ratios) - 1.0

    # g_a increases to d(m_1, m_a), so y is below this limit for the closest arm.
    y = _root(excess, 0.0, min(divergence(top, float(others.max())), 1e3))
    ratios = np.insert(weights(y), best, 1.0)
    total = float(ratios.sum())
    return ratios / total, total / y


def least_samples(means: ArrayLike, *, delta: float, divergence: Divergence = bernoulli_divergence) -> float:
    """Return ``T* kl(delta, 1 - delta)``, a lower bound on the mean samples of every delta-correct rule.

    For delta of 1/2 or more the bound is 0, because a guess without samples may be correct this often.

    Examples
    --------
    >>> from cmab.theory.characteristic_time import least_samples
    >>> round(least_samples([0.5, 0.45, 0.43, 0.4], delta=0.1))
    1740
    """
    return evidence(delta) * characteristic_time(means, divergence=divergence)[1]


def evidence(delta: float) -> float:
    """Return ``kl(delta, 1 - delta)``, and 0 if delta is 1/2 or more, because no evidence is then needed."""
    delta = real("delta", delta, 0.0, 1.0, inside=True)
    # For delta below 1e-16, 1 - delta is rounded to 1, so the divergence itself would be infinite.
    return (1.0 - 2.0 * delta) * (math.log1p(-delta) - math.log(delta)) if delta < 0.5 else 0.0


def _inverse(top: float, value: float, y: float, divergence: Divergence) -> float:
    """Return the x at which g(x), the evidence against equal means from 1 and x samples, equals `y`."""

    def cost(x: float) -> float:
        mid = (top + x * value) / (1.0 + x)
        return divergence(top, mid) + x * divergence(value, mid) - y

    high = 1.0
    while cost(high) < 0.0 and high < 1e12:
        high *= 2.0
    return _root(cost, 0.0, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of an increasing function, by bisection to full precision."""
    for _ in range(70):
        middle = (low + high) / 2.0
        if function(middle) < 0.0:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
