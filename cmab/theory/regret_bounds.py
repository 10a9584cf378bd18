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
    """Return the distribution-dependent bound on the regret of `CUCB`: logarithmic in the rounds.

    For outcomes in [0, 1]. Arms of one cluster share a counter and enter the leading term once.

    Parameters
    ----------
    gaps : RewardGaps
        The instance.
    smoothness : Smoothness
        Of its reward: ``oracle.smoothness()``, refused where that is None.
    rounds : array_like of int
        Numbers of rounds n, at least 1.
    radius : LogRadius, optional
        That of the policy; Algorithm 1's if left out. Others have bounds where all arms are triggered with
        certainty: `LogRadius.wide`, and `LogRadius.tight` from 3 rounds on (as printed, for it sums
        ``1 / (t ln t)`` from some t > e; for fewer rounds the value is ``nan``).

    Returns
    -------
    FloatArray, shape of `rounds`

    Raises
    ------
    ValueError
        If `smoothness` is None or `radius` has no bound for these gaps.
    TypeError
        If `gaps` are no `RewardGaps`.

    Examples
    --------
    >>> from cmab.theory import Smoothness, reward_gaps, gap_dependent_bound
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(2, k=1), [0.75, 0.25], super_arms=[[0], [1]])
    >>> float(gap_dependent_bound(gaps, Smoothness(1.0), rounds=1000).round(2))
    87.18

    References
    ----------
    Chen et al. (JMLR 2016), Theorem 1 and section 3.2; section 4.1 with Chen et al. (ICML 2013) for clusters.
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
        else:  # 12 ln n where 6 ln n stood, and never less than 24 ln n / p
            weight, floor = 2.0 * per_log / chance, 2.0
        # Theorem 1: l_n(Delta_min) Delta_min and the integral of l_n(x) from Delta_min to Delta_max, l_n
        # being weight times `_pulls`.
        leading += weight * (
            bottom * _pulls(smoothness, bottom, floor) + _integral(smoothness, bottom, top, floor)
        )
    return leading + constant * len(gaps.n_bad) * gaps.overall


def gap_free_bound(gaps: RewardGaps, smoothness: Smoothness | None, *, rounds: ArrayLike) -> FloatArray:
    """Return the bound on the regret of `CUCB` that depends on no gap but the largest.

    For outcomes in [0, 1] and Algorithm 1's radius; of the order of ``sqrt(n log n)`` when omega is 1.

    Parameters
    ----------
    gaps, smoothness, rounds
        As for `gap_dependent_bound`.

    Returns
    -------
    FloatArray, shape of `rounds`

    Raises
    ------
    ValueError
        If `smoothness` is None.
    TypeError
        If `gaps` are no `RewardGaps`.

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
    # Theorem 2: 2 gamma / (2 - omega) (6 m ln n)^(omega / 2) n^(1 - omega / 2), 12 / p* for 6 if p* < 1.
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
        raise ValueError(
            f"smoothness must be a Smoothness, got {smoothness!r}: without one the theorems say nothing"
        )
    return smoothness


def _counters(gaps: RewardGaps) -> IntArray:
    """Return the arms that enter the leading term: those with bad super arms, one for each cluster."""
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
            "radius must be Algorithm 1's, or LogRadius.wide or .tight with arms triggered with certainty,"
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
    # Above the gap f(sqrt(1/floor)) the floor takes over.
    turn = top if floor == 0.0 else min(max(smoothness(floor**-0.5), bottom), top)
    power = 2.0 / smoothness.omega
    area = smoothness.gamma**power * (bottom ** (1.0 - power) - turn ** (1.0 - power)) / (power - 1.0)
    return float(area + floor * (top - turn))
