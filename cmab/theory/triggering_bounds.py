"""Regret bounds of CUCB without the smallest triggering probability; the proofs are in the documentation."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.smoothness import Smoothness
from cmab.theory.gaps import RewardGaps, check_gaps, numbers_of_rounds
from cmab.validation import integer, real


def sum_of_widths(n_arms: int, n_triggered: float, *, rounds: ArrayLike) -> FloatArray:
    """Return ``m + sqrt(24 m K n ln n)``, an upper bound on the sum of widths over n rounds for any policy.

    The width of an arm is that of Algorithm 1's interval, ``min(2 sqrt(3 ln t / 2T), 1)``, and 1 for an arm
    without observations. The bounded sum, over rounds and arms, is of the probability that the arm is
    triggered times its width. Its expectation is at most this number for any choice of super arms.

    Parameters
    ----------
    n_arms : int
        Number of base arms m.
    n_triggered : float
        K, the largest expected number of arms that a super arm triggers.
    rounds : array_like of int
        Numbers of rounds n, at least 1.

    Returns
    -------
    FloatArray, shape of `rounds`
        The bound for each number of rounds.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from cmab.theory import sum_of_widths
    >>> float(sum_of_widths(4, n_triggered=2.0, rounds=1000).round(2))
    1155.65

    References
    ----------
    Ours: the lemma of docs/explanation/theory.md. Q. Wang, W. Chen (NIPS 2017) bound the same sum by groups
    of arms with similar triggering probabilities.
    """
    n = numbers_of_rounds(rounds)
    m, k = integer("n_arms", n_arms, 1), real("n_triggered", n_triggered, 0.0)
    total: FloatArray = m + np.sqrt(24.0 * m * k * n * np.log(n))
    return total


def modulated_gap_free_bound(
    gaps: RewardGaps, smoothness: Smoothness | None, *, rounds: ArrayLike
) -> FloatArray:
    """Return a bound on the regret of `CUCB` without ``1 / p*`` and without gaps except the largest.

    The bound is ``B (m + sqrt(24 m K n ln n)) + pi^2 / 3 m Delta_max``, where B is ``smoothness.modulated``.
    Outcomes must be in [0, 1], rewards monotone and nonnegative, and the radius that of Algorithm 1. The
    oracle may be approximate and may have a failure probability.

    Parameters
    ----------
    gaps : RewardGaps
        The gaps of the instance, with m, K and Delta_max.
    smoothness : Smoothness
        The smoothness of the reward, ``smoothness_of(oracle)``.
    rounds : array_like of int
        Numbers of rounds n, at least 1.

    Returns
    -------
    FloatArray, shape of `rounds`
        The bound for each number of rounds.

    Raises
    ------
    ValueError
        If `smoothness` is None or has no modulated constant, or if `gaps` does not contain K.
    TypeError
        If `gaps` is not a `RewardGaps`.

    Examples
    --------
    >>> from cmab.theory import Smoothness, modulated_gap_free_bound, reward_gaps
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(2, k=1), [0.75, 0.25], super_arms=[[0], [1]])
    >>> float(modulated_gap_free_bound(gaps, Smoothness.linear(1), rounds=1000).round(2))
    581.11

    References
    ----------
    Ours: Theorem 1 of docs/explanation/theory.md, after Q. Wang, W. Chen (NIPS 2017), with a shorter proof.
    """
    constant = _constant(gaps, smoothness)
    m = len(gaps.n_bad)
    failing = math.pi**2 / 3 * m * gaps.overall
    bound: FloatArray = constant * sum_of_widths(m, gaps.n_triggered, rounds=rounds) + failing
    return bound


def modulated_bound(gaps: RewardGaps, smoothness: Smoothness | None, *, rounds: ArrayLike) -> FloatArray:
    """Return a logarithmic bound on the regret of `CUCB` without ``1 / p*``.

    The bound is ``24 B^2 m K ln n / Delta_min + 2 B m + pi^2 / 3 m Delta_max``. It holds under the
    assumptions of `modulated_gap_free_bound`, for oracles without failure probability. Delta_min is the
    smallest gap of all. The bound is 0 without bad super arms.

    Parameters
    ----------
    gaps, smoothness, rounds
        As for `modulated_gap_free_bound`.

    Returns
    -------
    FloatArray, shape of `rounds`
        The bound for each number of rounds.

    Raises
    ------
    ValueError
        As for `modulated_gap_free_bound`.

    Examples
    --------
    >>> from cmab.theory import Smoothness, modulated_bound, reward_gaps
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(2, k=1), [0.75, 0.25], super_arms=[[0], [1]])
    >>> float(modulated_bound(gaps, Smoothness.linear(1), rounds=1000).round(2))
    670.43

    References
    ----------
    Ours: Theorem 2 of docs/explanation/theory.md.
    """
    constant, m = _constant(gaps, smoothness), len(gaps.n_bad)
    n = numbers_of_rounds(rounds)
    if not gaps.n_bad.any():
        return np.zeros(n.shape)
    leading: FloatArray = (
        24.0 * constant**2 * m * gaps.n_triggered * np.log(n) / float(np.nanmin(gaps.smallest))
    )
    return leading + 2.0 * constant * m + math.pi**2 / 3 * m * gaps.overall


def _constant(gaps: RewardGaps, smoothness: Smoothness | None) -> float:
    check_gaps(gaps)
    if smoothness is None or smoothness.modulated is None:
        raise ValueError(f"smoothness must have a modulated constant, got {smoothness!r}")
    if math.isnan(gaps.n_triggered):
        raise ValueError("gaps must have a known n_triggered, as the result of reward_gaps has, got nan")
    return smoothness.modulated
