"""Characteristic times of identification: lower bounds on the samples of every rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.bounds.kl import bernoulli_divergence
from cmab.validation import integer, real, vector

Divergence = Callable[[float, float], float]


def gaussian_divergence(p: float, q: float) -> float:
    """Return the relative entropy of Normal(p, 1) and Normal(q, 1); divide by sigma^2 for other variances.

    Examples
    --------
    >>> from cmab.bounds.times import gaussian_divergence
    >>> gaussian_divergence(1.0, 0.0)
    0.5
    """
    return (p - q) ** 2 / 2.0


def evidence(delta: float) -> float:
    """Return ``kl(delta, 1 - delta)``, and 0 if delta is 1/2 or more, because no evidence is then needed."""
    delta = real("delta", delta, 0.0, 1.0, inside=True)
    # For delta below 1e-16, 1 - delta is rounded to 1, so the divergence itself would be infinite.
    return (1.0 - 2.0 * delta) * (math.log1p(-delta) - math.log(delta)) if delta < 0.5 else 0.0


_TOLERANCE = 1e-4
_CUTS = 200
_STEEPEST = 1e8


def best_k_time(
    means: ArrayLike, k: int, *, divergence: Divergence = bernoulli_divergence
) -> tuple[FloatArray, float]:
    """Return nearly optimal proportions w of samples and the characteristic time T* of the best k arms.

    ``1 / T*`` is the maximum over proportions w of the least evidence per sample, over all pairs of one of
    the k best arms and one of the others. The evidence of a pair is concave in w and is below its tangents,
    so a linear program over tangents is an upper bound. Tangents are added until the bound is attained.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        True means; the k-th largest and the next one must differ.
    k : int
        Number of the best arms, in ``[1, n_arms - 1]``.
    divergence : callable
        Relative entropy of the distributions with two given means, in an exponential family.

    Returns
    -------
    FloatArray, shape (n_arms,)
        Proportions with an evidence per sample within 0.01 % of ``1 / T*``.
    float
        A lower bound on T*, within 0.01 %. Any rule that errs with probability at most delta needs at least
        ``T* kl(delta, 1 - delta)`` samples on average.

    Raises
    ------
    ValueError
        If the k-th largest mean and the next one are equal, or if a parameter is out of its range.
    RuntimeError
        If 200 iterations are not enough.

    Examples
    --------
    >>> from cmab.bounds.times import best_k_time
    >>> proportions, time = best_k_time([0.5, 0.45, 0.43, 0.4], k=2)
    >>> proportions.round(2), round(time)
    (array([0.02, 0.47, 0.47, 0.04]), 5246)

    References
    ----------
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016, Theorem 1,
    with the alternatives of the best k arms.
    """
    values = vector("means", means)
    k = integer("k", k, 1, len(values) - 1)
    order = np.argsort(-values, kind="stable")
    if values[order[k - 1]] == values[order[k]]:
        raise ValueError(f"means must have a k-th largest above the next one, got {values.tolist()}")
    pairs = [(int(i), int(j)) for i in order[:k] for j in order[k:]]

    def tangents(w: FloatArray) -> FloatArray:
        """Return the gradient of each pair's evidence at `w`; its product with `w` is the evidence."""
        slopes = np.zeros((len(pairs), len(values)))
        for row, (i, j) in zip(slopes, pairs, strict=True):
            # The closest alternative gives both arms their pooled mean. By the envelope theorem, the gradient
            # does not need the derivative of the pooled mean.
            mid = (w[i] * values[i] + w[j] * values[j]) / (w[i] + w[j])
            row[i], row[j] = divergence(float(values[i]), mid), divergence(float(values[j]), mid)
        return slopes

    best = trial = np.full(len(values), 1.0 / len(values))
    cuts, least = np.empty((0, len(values))), 0.0
    for _ in range(_CUTS):
        slopes = tangents(trial)
        evidence = float((slopes @ trial).min())
        if evidence > least:
            best, least = trial, evidence
        cuts = np.vstack([cuts, slopes])
        corner, most = largest_least(cuts, least)
        if most <= least * (1.0 + _TOLERANCE):
            return best, 1.0 / most
        trial = (best + corner) / 2.0  # an interior point, because tangents at corners zigzag
    raise RuntimeError(f"no proportions within {_TOLERANCE:g} of the optimum after {_CUTS} rounds")


def largest_least(cuts: FloatArray, scale: float) -> tuple[FloatArray, float]:
    """Return the proportions that maximise the minimum over `cuts`, and this minimum, of order `scale`."""
    from scipy.optimize import linprog

    n_cuts, n_arms = cuts.shape
    # Solvers treat coefficients above 1e15 as infinite. Cuts as steep as the limit bind only at shares below
    # 1e-8, so the optimum changes by much less than the tolerance.
    slopes = np.minimum(cuts / scale, _STEEPEST)
    result: Any = linprog(
        # Variables are the proportions and the minimum t: maximise t with t at most each cut.
        c=np.append(np.zeros(n_arms), -1.0),
        A_ub=np.hstack([-slopes, np.ones((n_cuts, 1))]),
        b_ub=np.zeros(n_cuts),
        A_eq=np.append(np.ones(n_arms), 0.0)[None, :],
        b_eq=[1.0],
    )
    return np.asarray(result.x[:-1], np.float64), -float(result.fun) * scale
