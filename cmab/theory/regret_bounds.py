"""Bounds on the regret of CUCB as functions of the horizon."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.confidence.radii import LogRadius
from cmab.smoothness import Smoothness
from cmab.theory.gaps import RewardGaps, check_gaps, numbers_of_rounds


def gap_dependent_bound(
    gaps: RewardGaps, smoothness: Smoothness | None, *, rounds: ArrayLike, radius: LogRadius | None = None
) -> FloatArray:
    """Return the distribution-dependent bound on the regret of `CUCB`, which is logarithmic in the rounds.

    Outcomes must be in [0, 1]. Arms of one cluster share a counter and enter the leading term once.

    Parameters
    ----------
    gaps : RewardGaps
        The gaps of the instance.
    smoothness : Smoothness
        The smoothness of the reward, ``smoothness_of(oracle)``; None raises an error.
    rounds : array_like of int
        Numbers of rounds n, at least 1.
    radius : LogRadius, optional
        The radius of the policy. If omitted, that of Algorithm 1. Two other radii have bounds if all arms are
        triggered with certainty: `LogRadius.wide`, and `LogRadius.tight` from 3 rounds on. The latter bound
        is as printed and sums ``1 / (t ln t)`` from some t > e; for fewer than 3 rounds the value is ``nan``.

    Returns
    -------
    FloatArray, shape of `rounds`
        The bound for each number of rounds.

    Raises
    ------
    ValueError
        If `smoothness` is None, or if `radius` has no bound for these gaps.
    TypeError
        If `gaps` is not a `RewardGaps`.

    Examples
    --------
    >>> from cmab.theory import Smoothness, reward_gaps, gap_dependent_bound
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(2, k=1), [0.75, 0.25], super_arms=[[0], [1]])
    >>> float(gap_dependent_bound(gaps, Smoothness(1.0), rounds=1000).round(2))
    87.18

    References
    ----------
    Chen et al. (JMLR 2016), Theorem 1 and section 3.2; section 4.1 and Chen et al. (ICML 2013) for clusters.
    """
    n, smoothness = numbers_of_rounds(rounds), _known(gaps, smoothness)
    is_certain = bool((gaps.probabilities == 1.0).all())
    per_log, constant = _terms(radius or LogRadius(), n, is_certain)
    leading = np.zeros(n.shape)
    for arm in _counters(gaps):
        chance = float(gaps.probabilities[arm])
        bottom, top = float(gaps.smallest[arm]), float(gaps.largest[arm])
        if chance == 1.0:
            weight, floor = per_log, 0.0
        else:  # 12 ln n instead of 6 ln n, and at least 24 ln n / p
            weight, floor = 2.0 * per_log / chance, 2.0
        # Theorem 1: l_n(Delta_min) Delta_min plus the integral of l_n(x) from Delta_min to Delta_max, where
        # l_n is weight times `_pulls`.
        leading += weight * (
            bottom * _pulls(smoothness, bottom, floor) + _integral(smoothness, bottom, top, floor)
        )
    return leading + constant * len(gaps.n_bad) * gaps.overall


def gap_free_bound(gaps: RewardGaps, smoothness: Smoothness | None, *, rounds: ArrayLike) -> FloatArray:
    """Return the bound on the regret of `CUCB` that depends on the largest gap only.

    Outcomes must be in [0, 1], and the radius is that of Algorithm 1. If omega is 1, the order is ``sqrt(n
    log n)``.

    Parameters
    ----------
    gaps, smoothness, rounds
        As for `gap_dependent_bound`.

    Returns
    -------
    FloatArray, shape of `rounds`
        The bound for each number of rounds.

    Raises
    ------
    ValueError
        If `smoothness` is None.
    TypeError
        If `gaps` is not a `RewardGaps`.

    Examples
    --------
    >>> from cmab.theory import Smoothness, reward_gaps, gap_free_bound
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(2, k=1), [0.75, 0.25], super_arms=[[0], [1]])
    >>> float(gap_free_bound(gaps, Smoothness(1.0), rounds=1000).round(2))
    580.11

    References
    ----------
    Chen et al. (JMLR 2016), Theorem 2.
    """
    n, smoothness = numbers_of_rounds(rounds), _known(gaps, smoothness)
    m, omega, lowest = len(gaps.n_bad), smoothness.omega, float(gaps.probabilities.min())
    is_certain = lowest == 1.0
    # Theorem 2: 2 gamma / (2 - omega) (6 m ln n)^(omega / 2) n^(1 - omega / 2), with 12 / p* for 6 if p* < 1.
    samples = (6.0 if is_certain else 12.0 / lowest) * m * np.log(n)
    leading: FloatArray = (
        2.0 * smoothness.gamma / (2.0 - omega) * samples ** (omega / 2) * n ** (1.0 - omega / 2)
    )
    if is_certain:
        return leading + (math.pi**2 / 3 + 1) * m * gaps.overall
    rare = (24.0 * np.log(n)[..., None] / gaps.probabilities).sum(axis=-1)
    bound: FloatArray = leading + ((math.pi**2 / 2 + 1) * m + rare) * gaps.overall
    return bound


def _known(gaps: RewardGaps, smoothness: Smoothness | None) -> Smoothness:
    check_gaps(gaps)
    if not isinstance(smoothness, Smoothness):
        raise ValueError(f"smoothness must be a Smoothness, which the theorems require, got {smoothness!r}")
    return smoothness


def _counters(gaps: RewardGaps) -> IntArray:
    """Return the arms in the leading term: arms with bad super arms, one arm per cluster."""
    arms = np.flatnonzero(gaps.n_bad)
    if gaps.clusters is None:
        return arms
    _, first = np.unique(gaps.clusters[arms], return_index=True)
    return arms[first]


def _terms(radius: LogRadius, n: FloatArray, is_certain: bool) -> tuple[FloatArray, FloatArray | float]:
    """Return twice the exponent y (the factor of ``f**-1(x)**-2``), and the factor of ``m Delta_max``."""
    log = np.log(n)
    if radius == LogRadius():
        # Equation 2 with its sampling threshold: y = 3 ln n, and (2 + 1{p* < 1}) pi^2 / 6 + 1.
        return 6.0 * log, (2.0 if is_certain else 3.0) * math.pi**2 / 6 + 1.0
    c = 2.0 * radius.coefficient - 1.0
    if not is_certain or (radius != LogRadius.tight() and (radius.loglog or c <= 1.0)):
        raise ValueError(
            "radius must be that of Algorithm 1, or LogRadius.wide or .tight if all triggering is certain,"
            f" got {radius} for {'certain' if is_certain else 'uncertain'} triggering"
        )
    if radius.loglog == 0.0:
        from scipy.special import zeta

        # Section 3.2: y = (1 + c) ln n, and the sum of 2 t exp(-y) is 2 zeta(c).
        return 2.0 * (1.0 + c) * log, 2.0 * float(zeta(c)) + 1.0
    loglog = np.log(log, out=np.full(n.shape, np.nan), where=n >= 3.0)
    # Section 3.2: y = 2 ln n + ln ln n, and the sum is at most 2 ln ln n.
    return 2.0 * (2.0 * log + loglog), 1.0 + 2.0 * loglog


def _pulls(smoothness: Smoothness, gap: float, floor: float) -> float:
    """Return ``max(f**-1(gap)**-2, floor)``."""
    return max(1.0 / smoothness.inverse(gap) ** 2, floor)


def _integral(smoothness: Smoothness, bottom: float, top: float, floor: float) -> float:
    """Return the integral of `_pulls` between two gaps, in closed form."""
    # Above the gap f(sqrt(1/floor)), `_pulls` equals the floor.
    turn = top if floor == 0.0 else min(max(smoothness(floor**-0.5), bottom), top)
    power = 2.0 / smoothness.omega
    area = smoothness.gamma**power * (bottom ** (1.0 - power) - turn ** (1.0 - power)) / (power - 1.0)
    return float(area + floor * (top - turn))
