"""Hardness of identification: gaps, and the complexity measures of the papers on pure exploration."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.oracle import LinearOracle
from cmab.validation import integer, interval, real, shown, vector


def best_k_gaps(values: ArrayLike, k: int) -> FloatArray:
    """Return the gap of each arm to the border of the `k` best arms.

    Parameters
    ----------
    values : array_like, shape (n_arms,)
        True or empirical means.
    k : int
        Number of the best arms, in ``[0, n_arms]``.

    Returns
    -------
    FloatArray, shape (n_arms,)
        For the k best arms, the value minus the (k+1)-th largest value. For the others, the k-th largest
        value minus the value. Infinite if k is 0 or n_arms, because there is nothing to decide.

    Examples
    --------
    >>> from cmab.theory.hardness import best_k_gaps
    >>> best_k_gaps([4.0, 1.0, 3.0, 0.0], k=2)
    array([3., 2., 2., 3.])

    References
    ----------
    S. Bubeck, T. Wang, N. Viswanathan: Multiple Identifications in Multi-Armed Bandits, ICML 2013.
    """
    array = vector("values", values)
    gaps = np.full(len(array), np.inf)
    if integer("k", k, 0, len(array)) not in (0, len(array)):
        from cmab.theory._kernels_gaps import gaps_of_best

        gaps_of_best(np.ascontiguousarray(array), k, gaps)
    return gaps


def constrained_gaps(oracle: LinearOracle, means: ArrayLike) -> FloatArray:
    """Return the gaps of combinatorial pure exploration: the least loss from including or excluding each arm.

    If an arm is in the best super arm, the loss is that of the best super arm without it, otherwise of the
    best one with it. It is infinite for arms that are in no or in every super arm. The oracle must define
    ``solve_constrained``.

    Examples
    --------
    >>> from cmab.theory.hardness import constrained_gaps
    >>> from oracles import TopK
    >>> constrained_gaps(TopK(4, k=2), [4.0, 1.0, 3.0, 0.0])
    array([3., 2., 2., 3.])
    """
    array = vector("means", means, oracle.n_arms)
    return oracle.gaps(array, [], [], np.random.default_rng(0))[1]


def hardness(gaps: ArrayLike, floor: float = 0.0) -> float:
    """Return ``H = sum of max(gap, floor)^-2``, infinite if both a gap and `floor` are 0.

    With ``floor = epsilon / 2`` it is the H^(eps/2) of LUCB1 (Kalyanakrishnan et al. 2012).

    Examples
    --------
    >>> from cmab.theory.hardness import hardness
    >>> hardness([0.5, 0.5, 1.0])
    9.0
    """
    widths = np.maximum(gap_array(gaps), real("floor", floor, 0.0))
    return math.inf if (widths == 0.0).any() else float((widths**-2.0).sum())


def ugape_hardness(
    gaps: ArrayLike, *, epsilon: float = 0.0, support: tuple[float, float] = (0.0, 1.0)
) -> float:
    """Return UGapE's ``sum of b^2 / max((gap + epsilon) / 2, epsilon)^2`` (Gabillon et al. 2012, eq. 6).

    The b of the paper is the length of `support`. If ``epsilon = 0`` and ``b = 1`` it is four times
    `hardness`.

    Examples
    --------
    >>> from cmab.theory.hardness import ugape_hardness
    >>> ugape_hardness([0.5, 0.5, 1.0])
    36.0
    """
    epsilon = real("epsilon", epsilon, 0.0)
    interval("support", support)
    low, high = support
    return (high - low) ** 2 * hardness((gap_array(gaps) + epsilon) / 2.0, epsilon)


def hardness_h2(gaps: ArrayLike) -> float:
    """Return ``H2 = max over i of i / gap_(i)^2`` with gaps in increasing order (Audibert et al. 2010).

    Examples
    --------
    >>> from cmab.theory.hardness import hardness_h2
    >>> hardness_h2([0.5, 0.5, 1.0])
    8.0
    """
    ordered = np.sort(gap_array(gaps))
    with np.errstate(divide="ignore"):
        return float((np.arange(1, len(ordered) + 1) / ordered**2.0).max(initial=0.0))


def aggregate_hardness(means: ArrayLike, k: int, *, epsilon: float) -> tuple[int, float, float]:
    """Return t, Psi and H^(t,eps) of AdaptiveTopK.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        True means.
    k : int
        Number of the best arms, in ``[1, n_arms - 1]``.
    epsilon : float
        Tolerated average loss, positive.

    Returns
    -------
    t : int
        Largest number of arms on each side of the border that may be exchanged.
    psi : float
        ``max(epsilon, min(gap_(k-t), gap_(k+t+1)))``.
    hardness : float
        ``sum of min(gap^-2, psi^-2)``.

    Examples
    --------
    >>> from cmab.theory.hardness import aggregate_hardness
    >>> t, psi, h = aggregate_hardness([0.7] * 100 + [0.3] * 900, k=100, epsilon=0.01)
    >>> t, round(psi, 6), round(h)
    (2, 0.4, 6250)

    References
    ----------
    J. Chen, X. Chen, Q. Zhang, Y. Zhou: Adaptive Multiple-Arm Identification, ICML 2017, equations 3 to 6.
    """
    values = np.sort(vector("means", means))[::-1]
    k = integer("k", k, 1, len(values) - 1)
    epsilon = real("epsilon", epsilon, 0.0, inside=True)
    gaps = best_k_gaps(values, k)
    t = max(t for t in range(min(k, len(values) - k)) if t * max(gaps[k - t - 1], gaps[k + t]) <= k * epsilon)
    # Equations 4 and 5, with gaps in the order of the means and indices from 0.
    psi = max(epsilon, min(gaps[k - t - 1], gaps[k + t]))
    return t, float(psi), hardness(gaps, psi)


def ugapec_samples(gaps: ArrayLike, *, delta: float, epsilon: float = 0.0, sigma: float = 0.5) -> float:
    """Return UGapEc's bound on samples: the largest n with ``n <= 2 H_eps ln(4 N n^3 / delta) + N``.

    Examples
    --------
    >>> from cmab.theory.hardness import ugapec_samples
    >>> round(ugapec_samples([0.5, 0.5], epsilon=0.0, delta=0.1))
    1712

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification, NIPS 2012, Theorem 2.
    """
    h = ugape_hardness(gaps, epsilon=epsilon, support=(-sigma, sigma))
    return anytime_samples(h, len(gap_array(gaps)), delta=delta)


def anytime_samples(h: float, n_arms: int, *, delta: float) -> float:
    """Return the largest n with ``n <= 2 h ln(4 N n^3 / delta) + N``, for radii in the number of samples.

    Examples
    --------
    >>> from cmab.theory.hardness import anytime_samples
    >>> round(anytime_samples(32.0, n_arms=2, delta=0.1))
    1712
    """
    # Gabillon et al. (2012), proof of Theorem 2, step 2.
    log_delta = math.log(4 * n_arms / real("delta", delta, 0.0, 1.0, inside=True))
    if math.isinf(h):
        return math.inf
    n = 1e3 * (h + n_arms + log_delta) ** 2  # above the largest solution, to which the iteration decreases
    for _ in range(200):
        n = 2 * h * (log_delta + 3 * math.log(n)) + n_arms
    return n


def ugapeb_error(
    gaps: ArrayLike, *, epsilon: float = 0.0, support: tuple[float, float] = (0.0, 1.0), budget: int
) -> float:
    """Return UGapEb's error bound ``2 N n exp(-2a)`` for N arms with the best ``a = (n - N) / (4 H_eps)``.

    Examples
    --------
    >>> from cmab.theory.hardness import ugapeb_error
    >>> round(ugapeb_error([0.5, 0.5], budget=1000), 6)
    0.000676
    """
    n_arms = len(gap_array(gaps))
    # Gabillon et al. (2012), Theorem 1.
    a = (budget - n_arms) / (4 * ugape_hardness(gaps, epsilon=epsilon, support=support))
    return min(1.0, 2 * n_arms * budget * math.exp(-2 * a))


def rejects_error(gaps: ArrayLike, *, budget: int) -> float:
    """Return the error bound of SAR, ``2 N^2 exp(-(n - N) / (8 logbar H2))``, at most 1.

    Examples
    --------
    >>> from cmab.theory.hardness import rejects_error
    >>> rejects_error([0.5, 0.5], budget=10)
    1.0

    References
    ----------
    S. Bubeck, T. Wang, N. Viswanathan: Multiple Identifications in Multi-Armed Bandits, ICML 2013.
    """
    n_arms = len(gap_array(gaps))
    log_bar = 0.5 + sum(1 / i for i in range(2, n_arms + 1))
    return min(1.0, 2 * n_arms**2 * math.exp(-(budget - n_arms) / (8 * log_bar * hardness_h2(gaps))))


def halving_samples(n_arms: int, k: int, *, delta: float, epsilon: float) -> int:
    """Return the exact number of samples of `Halving`, which is the same on every instance.

    Examples
    --------
    >>> from cmab.theory.hardness import halving_samples
    >>> halving_samples(100, 5, epsilon=0.1, delta=0.1)
    9153374
    """
    return sum(size * pulls for size, pulls in halving_schedule(n_arms, k, epsilon=epsilon, delta=delta))


def halving_schedule(n_arms: int, k: int, *, delta: float, epsilon: float) -> list[tuple[int, int]]:
    """Return the number of arms and the samples of each arm in every round of Halving.

    Examples
    --------
    >>> from cmab.theory.hardness import halving_schedule
    >>> halving_schedule(4, 2, epsilon=1.0, delta=0.5)
    [(4, 102)]

    References
    ----------
    S. Kalyanakrishnan, P. Stone: Efficient Selection of Multiple Bandit Arms, ICML 2010.
    """
    rounds, size, e, d = [], n_arms, epsilon / 4, delta / 2
    for _ in range(math.ceil(math.log2(n_arms / k))):
        # From memory. Hoeffding's inequality at e / 2 fails with probability d / 3k. The e sum to epsilon and
        # the d to delta.
        rounds.append((size, math.ceil(2 / e**2 * math.log(3 * k / d))))
        size, e, d = max(-(-size // 2), k), 0.75 * e, d / 2
    return rounds


def gap_array(gaps: ArrayLike) -> FloatArray:
    """Return `gaps` as an array of nonnegative numbers, which may be infinite."""
    array = np.asarray(gaps, np.float64)
    if array.ndim != 1 or not (array >= 0.0).all():
        raise ValueError(f"gaps must be a 1-D array of nonnegative numbers, got {shown(gaps)}")
    return array
