"""The characteristic time of identifying the best k arms, by cutting planes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.confidence.kl import bernoulli_divergence
from cmab.theory.characteristic_time import Divergence
from cmab.validation import integer, vector

_TOLERANCE = 1e-4
_CUTS = 200
_STEEPEST = 1e8


def best_k_time(
    means: ArrayLike, k: int, *, divergence: Divergence = bernoulli_divergence
) -> tuple[FloatArray, float]:
    """Return nearly optimal proportions w of samples and the characteristic time T* of the best k arms.

    ``1 / T*`` is the largest least evidence of a sample, over proportions w, that tells one of the k best
    arms from one of the others. The evidence of a pair is concave and lies below its tangents, so a linear
    programme over tangents bounds it; they are added until the bound is met.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        True means; the k-th and the next must differ.
    k : int
        Size of the best set, in ``[1, n_arms - 1]``.
    divergence : callable
        Relative entropy of the distributions with two given means, of an exponential family.

    Returns
    -------
    FloatArray, shape (n_arms,)
        Proportions, at which a sample's evidence is within 0.01 % of ``1 / T*``.
    float
        T* from below, within 0.01 %: any rule that errs with probability at most delta takes at least
        ``T* kl(delta, 1 - delta)`` samples on average.

    Raises
    ------
    ValueError
        If the k-th and the next mean are equal, or a parameter is out of its range.
    RuntimeError
        If 200 rounds of tangents were not enough.

    Examples
    --------
    >>> from cmab.theory.best_k_time import best_k_time
    >>> proportions, time = best_k_time([0.5, 0.45, 0.43, 0.4], k=2)
    >>> proportions.round(2), round(time)
    (array([0.02, 0.47, 0.47, 0.04]), 5246)

    References
    ----------
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016, Theorem 1,
    for the alternatives of the best k arms.
    """
    values = vector("means", means)
    k = integer("k", k, 1, len(values) - 1)
    order = np.argsort(-values, kind="stable")
    if values[order[k - 1]] == values[order[k]]:
        raise ValueError(f"means must have a k-th that is larger than the next, got {values.tolist()}")
    pairs = [(int(i), int(j)) for i in order[:k] for j in order[k:]]

    def tangents(w: FloatArray) -> FloatArray:
        """The gradient of each pair's evidence at `w`, which is its evidence when multiplied with `w`."""
        slopes = np.zeros((len(pairs), len(values)))
        for row, (i, j) in zip(slopes, pairs, strict=True):
            # The nearest alternative gives both arms their pooled mean; by the envelope theorem the gradient
            # needs no derivative of it.
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
        trial = (best + corner) / 2.0  # inside: tangents at corners zigzag
    raise RuntimeError(f"no proportions within {_TOLERANCE:g} of the optimum after {_CUTS} rounds")


def largest_least(cuts: FloatArray, scale: float) -> tuple[FloatArray, float]:
    """Return the proportions of largest least value of `cuts`, and that value, of the order of `scale`."""
    from scipy.optimize import linprog

    n_cuts, n_arms = cuts.shape
    # Solvers take coefficients above 1e15 for infinite ones. Cuts as steep as this bind at shares below 1e-8
    # only, so that the optimum changes by less than what is allowed by far.
    slopes = np.minimum(cuts / scale, _STEEPEST)
    result: Any = linprog(
        # Variables are the proportions and the least value t: maximise t, with t at most each cut.
        c=np.append(np.zeros(n_arms), -1.0),
        A_ub=np.hstack([-slopes, np.ones((n_cuts, 1))]),
        b_ub=np.zeros(n_cuts),
        A_eq=np.append(np.ones(n_arms), 0.0)[None, :],
        b_eq=[1.0],
    )
    return np.asarray(result.x[:-1], np.float64), -float(result.fun) * scale
