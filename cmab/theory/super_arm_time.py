"""The characteristic time of identifying the best super arm of a list, by cutting planes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.oracle import Sense
from cmab.theory.best_k_time import largest_least
from cmab.validation import arm_indices, listed, one_of, real, vector

_TOLERANCE, _CUTS, _WORST, _FARTHEST = 1e-3, 300, 20, 1e50


def super_arm_time(
    means: ArrayLike, super_arms: Sequence[ArrayLike], *, sigma: float = 0.5, sense: Sense = "max"
) -> tuple[FloatArray, float]:
    """Return nearly optimal proportions w of samples and T*, for the best super arm with Gaussian arms.

    ``1 / T*`` is the largest least evidence of a sample that tells the best super arm from another one, with
    ``gap^2 / (2 sigma^2 sum 1 / w_i)`` over the arms that only one of the two has.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        True means.
    super_arms : sequence of array_like of int
        All super arms, the best of them unique.
    sigma : float
        Standard deviation of the outcomes.
    sense : {"max", "min"}
        Whether the best super arm has the largest sum or the smallest.

    Returns
    -------
    FloatArray, shape (n_arms,)
        Proportions, at which a sample's evidence is within 0.1 % of ``1 / T*``.
    float
        T* from below, within 0.1 %: any rule that errs with probability at most delta takes at least
        ``T* kl(delta, 1 - delta)`` samples on average.

    Raises
    ------
    ValueError
        If the best super arm is not unique, a parameter is out of its range, or `sigma` so far from the gaps
        that T* is no number.
    RuntimeError
        If 300 rounds of tangents were not enough.

    Examples
    --------
    >>> from cmab.theory.super_arm_time import super_arm_time
    >>> proportions, time = super_arm_time([0.5, 0.5, 0.4, 0.4], [(0, 1), (2, 3)])
    >>> proportions.round(2), round(time)
    (array([0.25, 0.25, 0.25, 0.25]), 200)

    References
    ----------
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016, Theorem 1, for
    the alternatives of a family of super arms.
    """
    values, sigma = vector("means", means), real("sigma", sigma, 0.0, inside=True)
    family = listed("super_arms", super_arms, "super arms")
    inside = np.zeros((len(family), len(values)))
    for row, arms in zip(inside, family, strict=True):
        row[arm_indices("super_arms", arms, len(values))] = 1.0
    sums = inside @ values * (1.0 if one_of("sense", sense, ("max", "min")) == "max" else -1.0)
    best = int(np.argmax(sums)) if len(sums) else 0
    others = np.abs(inside - inside[best : best + 1]).any(axis=1)
    if not others.any() or not (sums[others] < sums[best]).all():
        raise ValueError("super_arms must have a unique best of at least two, got sums " + str(sums.tolist()))
    involved = np.abs(inside[others] - inside[best])
    gaps = sums[best] - sums[others]
    # In units of the smallest gap, that squares stay finite; what is as far as the largest binds nowhere.
    worth = np.minimum(gaps / gaps.min(), _FARTHEST) ** 2
    with np.errstate(over="ignore", under="ignore"):
        unit = 2.0 * float(np.square(np.float64(sigma) / gaps.min()))
    if not 0.0 < unit < math.inf:
        raise ValueError(
            f"sigma must be within a factor of 1e150 of the smallest gap, {gaps.min():g}, got {sigma:g}"
        )
    # Arms that all super arms or none have need no sample.
    free = involved.any(axis=0)
    involved = involved[:, free]

    def tangents(w: FloatArray) -> FloatArray:
        """The gradients of the least evidences at `w`, each its evidence when multiplied with `w`."""
        spread = involved @ (1.0 / w)
        weakest = np.argsort(worth / spread, kind="stable")[:_WORST]
        slopes: FloatArray = worth[weakest, None] * involved[weakest] / (spread[weakest, None] * w) ** 2
        return slopes

    best_w = trial = np.full(int(free.sum()), 1.0 / free.sum())
    cuts, least = np.empty((0, len(trial))), 0.0
    for _ in range(_CUTS):
        slopes = tangents(trial)
        evidence = float((slopes @ trial).min())
        if evidence > least:
            best_w, least = trial, evidence
        cuts = np.vstack([cuts, slopes])
        corner, most = largest_least(cuts, least)
        if most <= least * (1.0 + _TOLERANCE):
            proportions = np.zeros(len(values))
            proportions[free] = best_w
            return proportions, unit / most
        trial = (best_w + corner) / 2.0  # inside: tangents at corners zigzag
    raise RuntimeError(f"no proportions within {_TOLERANCE:g} of the optimum after {_CUTS} rounds")
