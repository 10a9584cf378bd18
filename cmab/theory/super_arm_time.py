"""The characteristic time of identifying the best super arm of a list, by its dual problem."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.oracle import Sense
from cmab.validation import arm_indices, listed, one_of, real, vector

_TOLERANCE, _STEPS, _FARTHEST = 1e-3, 20_000, 1e50
# Relative differences of sums that may be due to rounding.
ROUNDING = 1e-12
# The least weight of a rival, so that a rival can become important again.
_LEAST = 1e-200


def super_arm_time(
    means: ArrayLike, super_arms: Sequence[ArrayLike], *, sigma: float = 0.5, sense: Sense = "max"
) -> tuple[FloatArray, float]:
    """Return nearly optimal proportions w of samples and T* for the best super arm, with Gaussian arms.

    ``1 / T*`` is the maximum over w of the least evidence per sample that the best super arm is better than
    another one. This evidence is ``gap^2 / (2 sigma^2 sum 1 / w_i)``, with the sum over the arms in exactly
    one of the two.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        True means.
    super_arms : sequence of array_like of int
        All super arms. The best one must be unique. Sums that differ by less than ``1e-12`` times the sum of
        the absolute means are equal, because the difference may be due to rounding.
    sigma : float
        Standard deviation of the outcomes, positive.
    sense : {"max", "min"}
        Whether the best super arm has the largest or the smallest sum.

    Returns
    -------
    FloatArray, shape (n_arms,)
        Proportions with an evidence per sample within 0.1 % of ``1 / T*``.
    float
        A lower bound on T*, within 0.1 %. Any rule that errs with probability at most delta needs at least
        ``T* kl(delta, 1 - delta)`` samples on average.

    Raises
    ------
    ValueError
        If the best super arm is not unique, if a parameter is out of its range, or if `sigma` differs so much
        from the gaps that T* overflows.
    RuntimeError
        If 20,000 iterations are not enough.

    Examples
    --------
    >>> from cmab.theory.super_arm_time import super_arm_time
    >>> proportions, time = super_arm_time([0.5, 0.5, 0.4, 0.4], [(0, 1), (2, 3)])
    >>> proportions.round(2), round(time)
    (array([0.25, 0.25, 0.25, 0.25]), 200)

    References
    ----------
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016, Theorem 1,
    with the alternatives of a family of super arms.
    """
    values, sigma = vector("means", means), real("sigma", sigma, 0.0, inside=True)
    family = listed("super_arms", super_arms, "super arms")
    inside = np.zeros((len(family), len(values)))
    for row, arms in zip(inside, family, strict=True):
        row[arm_indices("super_arms", arms, len(values))] = 1.0
    sums = inside @ values * (1.0 if one_of("sense", sense, ("max", "min")) == "max" else -1.0)
    best = int(np.argmax(sums)) if len(sums) else 0
    others = np.abs(inside - inside[best : best + 1]).any(axis=1)
    sizes = inside @ np.abs(values)
    noise = ROUNDING * np.maximum(sizes[others], sizes[best : best + 1])
    if not others.any() or not (sums[best] - sums[others] > noise).all():
        raise ValueError("super_arms must be two or more with a unique best, got sums " + str(sums.tolist()))
    involved = np.abs(inside[others] - inside[best])
    gaps = sums[best] - sums[others]
    # In units of the smallest gap, so that squares stay finite. Gaps as large as the limit have no effect.
    worth = np.minimum(gaps / gaps.min(), _FARTHEST) ** 2
    with np.errstate(over="ignore", under="ignore"):
        unit = 2.0 * float(np.square(np.float64(sigma) / gaps.min()))
    if not 0.0 < unit < math.inf:
        raise ValueError(
            f"sigma must be within a factor of 1e150 of the smallest gap, {gaps.min():g}, got {sigma:g}"
        )
    # Arms that are in all super arms or in none need no samples.
    free = involved.any(axis=0)
    involved = involved[:, free]

    weights, time = _largest_time(involved / worth[:, None])
    proportions = np.zeros(len(values))
    proportions[free] = weights
    return proportions, unit * time


def _largest_time(shares: FloatArray) -> tuple[FloatArray, float]:
    """Return nearly optimal proportions w and a lower bound on the least possible ``max sum s / w``.

    `shares` has a row s for each rival. For weights p of the rivals, the minimum over w of ``sum (p s) / w``
    is ``(sum sqrt(p s))^2`` and is attained at w proportional to ``sqrt(p s)``. By duality, the largest such
    value over all p is the result. The square root is concave in p, and each step maximises a minorant of it,
    by Jensen's inequality, so the values increase.
    """
    rivals = np.full(len(shares), 1.0 / len(shares))
    for _ in range(_STEPS):
        roots = np.sqrt(rivals @ shares)
        total = float(roots.sum())
        pulls = shares @ (1.0 / roots)
        if pulls.max() <= total * (1.0 + _TOLERANCE):
            return roots / total, total**2
        rivals = np.maximum(rivals * (pulls / total) ** 2, _LEAST)
        rivals /= rivals.sum()
    raise RuntimeError(f"no proportions within {_TOLERANCE:g} of the optimum after {_STEPS} steps")
