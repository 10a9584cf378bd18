"""Hardness of identification, and bounds on the number of samples of explorers and of every rule.

The upper bounds have the constants of the proofs in the papers. Each of them holds on the event that all
confidence intervals hold, or for all runs if the paper proves this. They are larger than the actual numbers
by factors of 10 and more; `identify` returns the actual numbers.
"""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.bounds.kl import bernoulli_divergence
from cmab.bounds.radii import Mode, lil_parameters, lil_radii
from cmab.bounds.times import Divergence, evidence
from cmab.compiled import kernel
from cmab.selection import mark_best
from cmab.validation import integer, interval, real, real_array, shown, vector


@kernel
def gaps_of_best(values, k, out):
    """Write the gap of each value to the border of the `k` largest; `k` is less than the number of values."""
    is_top = np.empty(values.shape[0], np.bool_)
    mark_best(values, k, is_top)
    kth, following = np.inf, -np.inf
    for i in range(values.shape[0]):
        if is_top[i]:
            kth = min(kth, values[i])
        else:
            following = max(following, values[i])
    for i in range(values.shape[0]):
        # Gabillon et al. (NIPS 2012), section 2: mu_i - mu_(k+1) inside the best set, mu_(k) - mu_i outside.
        out[i] = values[i] - following if is_top[i] else kth - values[i]


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
    >>> from cmab.bounds.samples import best_k_gaps
    >>> best_k_gaps([4.0, 1.0, 3.0, 0.0], k=2)
    array([3., 2., 2., 3.])

    References
    ----------
    S. Bubeck, T. Wang, N. Viswanathan: Multiple Identifications in Multi-Armed Bandits, ICML 2013.
    """
    array = vector("values", values)
    gaps = np.full(len(array), np.inf)
    if integer("k", k, 0, len(array)) not in (0, len(array)):
        gaps_of_best(np.ascontiguousarray(array), k, gaps)
    return gaps


def hardness(gaps: ArrayLike, floor: float = 0.0) -> float:
    """Return ``H = sum of max(gap, floor)^-2``, infinite if both a gap and `floor` are 0.

    With ``floor = epsilon / 2`` it is the H^(eps/2) of LUCB1 (Kalyanakrishnan et al. 2012).

    Parameters
    ----------
    gaps : array_like, shape (n_arms,)
        Gaps of the arms; see `best_k_gaps`.
    floor : float
        The least gap that counts, at least 0.

    Examples
    --------
    >>> from cmab.bounds import hardness
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
    >>> from cmab.bounds.samples import ugape_hardness
    >>> ugape_hardness([0.5, 0.5, 1.0])
    36.0
    """
    epsilon = real("epsilon", epsilon, 0.0)
    interval("support", support)
    low, high = support
    return (high - low) ** 2 * hardness((gap_array(gaps) + epsilon) / 2.0, epsilon)


def aggregate_hardness(means: ArrayLike, k: int, *, epsilon: float) -> tuple[int, float, float]:
    """Return t, Psi and H^(t,eps) of AdaptiveTopK.

    Parameters
    ----------
    means, k
        As for `least_best_k_samples`.
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
    >>> from cmab.bounds.samples import aggregate_hardness
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
    >>> from cmab.bounds.samples import ugapec_samples
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
    >>> from cmab.bounds.samples import anytime_samples
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
    >>> from cmab.bounds.samples import ugapeb_error
    >>> round(ugapeb_error([0.5, 0.5], budget=1000), 6)
    0.000676
    """
    n_arms = len(gap_array(gaps))
    # Gabillon et al. (2012), Theorem 1.
    a = (budget - n_arms) / (4 * ugape_hardness(gaps, epsilon=epsilon, support=support))
    return min(1.0, 2 * n_arms * budget * math.exp(-2 * a))


def halving_samples(n_arms: int, k: int, *, delta: float, epsilon: float) -> int:
    """Return the exact number of samples of `Halving`, which is the same on every instance.

    Examples
    --------
    >>> from cmab.bounds.samples import halving_samples
    >>> halving_samples(100, 5, epsilon=0.1, delta=0.1)
    9153374
    """
    return sum(size * pulls for size, pulls in halving_schedule(n_arms, k, epsilon=epsilon, delta=delta))


def halving_schedule(n_arms: int, k: int, *, delta: float, epsilon: float) -> list[tuple[int, int]]:
    """Return the number of arms and the samples of each arm in every round of Halving.

    Examples
    --------
    >>> from cmab.bounds.samples import halving_schedule
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
    array = real_array("gaps", gaps)
    if array.ndim != 1 or not (array >= 0.0).all():
        raise ValueError(f"gaps must be a 1-D array of nonnegative numbers, got {shown(gaps)}")
    return array


def least_best_k_samples(
    means: ArrayLike, k: int, *, delta: float, divergence: Divergence = bernoulli_divergence
) -> float:
    """Return a lower bound on the mean samples of every rule for the best k arms.

    The bound uses one change of measure per arm. A rule that errs with probability at most `delta` on every
    instance samples arm i at least ``kl(delta, 1 - delta) / d(m_i, m)`` times on average. Here m is the mean
    on the other side of the border: the (k+1)-th largest for the k best arms, the k-th largest for the
    others.

    The tightest bound, ``T* kl(delta, 1 - delta)``, considers all changes of measure together; see
    `cmab.bounds.best_k_time`. For k = 1 and Gaussian arms of one variance it is at most twice as large. For
    Bernoulli arms it may be several times as large: 3.5 times for means of 0.99 and 0.01.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        True means.
    k : int
        Number of the best arms, in ``[1, n_arms - 1]``.
    delta : float
        Error probability, in (0, 1).
    divergence : callable
        Relative entropy of the distributions with two given means.

    Returns
    -------
    float
        The bound; infinite if the k-th largest mean and the next one are equal.

    Examples
    --------
    >>> from cmab.bounds.samples import least_best_k_samples
    >>> round(least_best_k_samples([0.5, 0.45, 0.43, 0.4], k=1, delta=0.1))
    967

    References
    ----------
    E. Kaufmann, O. Cappe, A. Garivier: On the Complexity of Best-Arm Identification in Multi-Armed Bandit
    Models, JMLR 17 (2016), Theorem 4 (from memory).
    """
    values = vector("means", means)
    k = integer("k", k, 1, len(values) - 1)
    order = np.argsort(-values, kind="stable")
    inside, outside = float(values[order[k]]), float(values[order[k - 1]])
    costs = [divergence(float(values[arm]), inside) for arm in order[:k]]
    costs += [divergence(float(values[arm]), outside) for arm in order[k:]]
    # Theorem 4: sum of 1 / d(m_i, m_(k+1)) inside and of 1 / d(m_i, m_(k)) outside.
    return evidence(delta) * sum(1.0 / cost if cost > 0.0 else math.inf for cost in costs)


def worst_case_samples(n_arms: int, k: int, *, delta: float, epsilon: float) -> float:
    """Return ``n ln(k / (8 delta)) / (18375 epsilon^2)`` of Theorem 8 (worst instance of Explore-m).

    Consider a rule that returns k arms which, with probability at least ``1 - delta``, are all within
    `epsilon` of the k-th best. On some instance, one of those of ``cmab reproduce lucb-halving``, it needs at
    least so many samples on average.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least ``2 k``.
    k : int
        Number of returned arms, at least 6.
    delta : float
        Error probability, in (0, 1/4].
    epsilon : float
        Tolerance, in (0, sqrt(1/32)].

    Raises
    ------
    ValueError
        If a parameter is outside the range of the theorem.

    Examples
    --------
    >>> from cmab.bounds.samples import worst_case_samples
    >>> round(worst_case_samples(1000, 100, epsilon=0.01, delta=0.01), 1)
    3880.8

    References
    ----------
    S. Kalyanakrishnan, A. Tewari, P. Auer, P. Stone: PAC Subset Selection in Stochastic Multi-armed
    Bandits, ICML 2012, Theorem 8.
    """
    k = integer("k", k, 6)
    n_arms = integer("n_arms", n_arms, 2 * k)
    smallest = float(np.nextafter(0.0, 1.0))
    epsilon = real("epsilon", epsilon, smallest, math.sqrt(1 / 32))
    delta = real("delta", delta, smallest, 0.25)
    return n_arms * math.log(k / (8.0 * delta)) / (18375.0 * epsilon**2)


def lucb1_samples(gaps: ArrayLike, *, delta: float, epsilon: float = 0.0) -> float:
    """Return the bound on the mean samples of LUCB1 over all runs, including runs that err.

    For every T of at least ``T* = ceil(146 H ln(H / delta))``, a run lasts more than T rounds with
    probability at most ``4 delta / T^2``. A round takes two samples, and the first round samples all arms. H
    is `hardness` with ``floor = epsilon / 2``.

    Parameters
    ----------
    gaps, delta, epsilon
        As for `clucb_samples`, but the gaps are those of the best k, in [0, 1]; see `best_k_gaps`.

    Examples
    --------
    >>> from cmab.bounds.samples import lucb1_samples
    >>> round(lucb1_samples([0.5, 0.5], delta=0.1))
    10240

    References
    ----------
    S. Kalyanakrishnan, A. Tewari, P. Auer, P. Stone: PAC Subset Selection in Stochastic Multi-armed
    Bandits, ICML 2012, Lemma 5 and Theorem 6.
    """
    h = hardness(gaps, real("epsilon", epsilon, 0.0) / 2.0)
    if math.isinf(h):
        return math.inf
    # Lemma 5: T* = ceil(146 H ln(H / delta)). Later rounds add at most the sum of 4 delta / T^2.
    rounds = math.ceil(146.0 * h * math.log(h / _level(delta)))
    return len(gap_array(gaps)) + 2.0 * (rounds + 4.0 * delta / (rounds - 1))


def lil_rand_lucb_samples(
    gaps: ArrayLike, k: int, *, delta: float, sigma: float = 0.5, mode: Mode = "faithful"
) -> float:
    """Return Theorem 3.1's bound on the mean samples of lil'RandLUCB, on the event that its intervals hold.

    If the radius of an arm, at the level of 2 N arms, is below an eighth of its gap, the arm is no longer the
    less sampled one of a critical pair. Until then, each of its outcomes takes at most two steps on average.

    Parameters
    ----------
    gaps, delta, sigma, mode
        As for `lil_clucb_samples`.
    k : int
        Number of the best arms.

    Examples
    --------
    >>> from cmab.bounds.samples import lil_rand_lucb_samples
    >>> lil_rand_lucb_samples([0.5, 0.5], k=1, delta=0.01)
    11182

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits, Theorem
    3.1 and Appendix B.
    """
    array = gap_array(gaps)
    n_arms, sides = len(array), (integer("k", k, 1, len(array) - 1), len(array) - k)
    epsilon, level = lil_parameters(mode, delta=_level(delta), sides=sides, n_sides=2.0)
    # Appendix B, first claim: tau_i is the least count with U(tau_i, delta / 2N) < gap / 8.
    pulls = _lil_pulls(array / 8.0, level / (2 * n_arms), epsilon, sigma)
    return n_arms + 2 * (pulls - n_arms)


def lil_clucb_samples(
    gaps: ArrayLike,
    *,
    delta: float,
    sigma: float = 0.5,
    mode: Mode = "faithful",
    width: int | None = None,
) -> float:
    """Return Theorem 4.1 or 4.2's bound on the samples of lil'CLUCB on the event that its intervals hold.

    An arm is not sampled again once its radius is below ``gap / 4`` (best k arms) or ``gap / (3 width)``.

    Parameters
    ----------
    gaps : array_like, shape (n_arms,)
        Gaps of the arms; see `best_k_gaps` and `LinearOracle.gaps`.
    delta : float
        Error probability, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "paper", "heuristic"}
        The constants of the rule; see `cmab.exploration.lucb.LilLUCB`.
    width : int, optional
        Width of the family of super arms (Chen et al. 2014): at most 2 for the bases of a matroid, and at
        most the number of nodes for matchings and paths. If omitted, the bound is for the best k arms.

    Examples
    --------
    >>> from cmab.bounds.samples import lil_clucb_samples
    >>> lil_clucb_samples([0.5, 0.5], delta=0.01), lil_clucb_samples([0.5, 0.5], delta=0.01, width=2)
    (1330, 3010)

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits, Lemma D.3
    and Appendix E.
    """
    array = gap_array(gaps)
    n_arms = len(array)
    # Lemma D.3: gap / 4 for the best k; Appendix E: gap / (3 width).
    part = 4 if width is None else 3 * integer("width", width, 1)
    epsilon, level = lil_parameters(mode, delta=_level(delta), sides=(n_arms,), n_sides=1.0)
    return _lil_pulls(array / part, level / n_arms, epsilon, sigma)


def clucb_samples(
    gaps: ArrayLike,
    *,
    delta: float,
    epsilon: float = 0.0,
    sigma: float = 0.5,
    width: int,
    max_super_arm_size: int = 1,
) -> float:
    """Return the bound on the samples of CLUCB on the event that its intervals hold.

    An arm is not sampled if its radius is below ``gap / (3 width)``. The rule stops when the largest radius
    in dispute is at most ``epsilon / (2 size)``. The bound is the largest n with ``n <= 2 sigma^2 sum of
    max(gap / (3 width), epsilon / (2 size))^-2 ln(4 N n^3 / delta) + N``.

    Parameters
    ----------
    gaps, delta, sigma, width
        As for `lil_clucb_samples`.
    epsilon : float
        Tolerance of the sum (CLUCB-PAC), at least 0.
    max_super_arm_size : int
        Number of arms in the largest super arm (size above); it has an effect only if `epsilon` is positive.

    Examples
    --------
    >>> from cmab.bounds.samples import clucb_samples
    >>> round(clucb_samples([0.5, 0.5], width=2, delta=0.1))
    4241

    References
    ----------
    S. Chen, T. Lin, I. King, M. R. Lyu, W. Chen: Combinatorial Pure Exploration of Multi-Armed Bandits,
    NIPS 2014, Theorems 1 and 5 (from memory); the inequality replaces the closed form of the paper.
    """
    least = real("epsilon", epsilon, 0.0) / (2 * integer("max_super_arm_size", max_super_arm_size, 1))
    widths = gap_array(gaps) / (3 * integer("width", width, 1))
    h = real("sigma", sigma, 0.0, inside=True) ** 2 * hardness(widths, least)
    return anytime_samples(h, len(widths), delta=_level(delta))


def adaptive_top_k_samples(means: ArrayLike, k: int, *, delta: float, epsilon: float) -> float:
    """Return Theorem 1's bound on the samples of AdaptiveTopK on the event that its intervals hold.

    Arm i is decided at the latest in the last round r with ``2^-r >= max(gap_i / 8, psi / 8, epsilon / 4)``.
    In round j, each undecided arm gets ``ceil(4^j ln(2 N j^2 / delta))`` outcomes.

    Parameters
    ----------
    means, k, delta
        As for `least_best_k_samples`.
    epsilon : float
        Tolerated average loss, in (0, 1).

    Examples
    --------
    >>> from cmab.bounds.samples import adaptive_top_k_samples
    >>> adaptive_top_k_samples([0.75, 0.25], k=1, epsilon=0.25, delta=0.1)
    4258

    References
    ----------
    J. Chen, X. Chen, Q. Zhang, Y. Zhou: Adaptive Multiple-Arm Identification, ICML 2017, equations 16 to 18.
    """
    array = vector("means", means)
    _, psi, _ = aggregate_hardness(array, k, epsilon=epsilon)
    # Equations 16 and 17: in the last round r of an arm, 8 * 2^-r is at least psi and at least the gap.
    # Equation 18 sums the outcomes of the arm.
    widths = np.maximum(np.maximum(best_k_gaps(array, k), psi) / 8.0, epsilon / 4.0)
    rounds = np.maximum(np.floor(-np.log2(widths)), 1.0).astype(np.int64)
    log = [math.log(2 * len(array) * j * j / _level(delta)) for j in range(1, int(rounds.max()) + 1)]
    pulls = np.cumsum([math.ceil(4.0**j * value) for j, value in enumerate(log, 1)])
    return int(pulls[rounds - 1].sum())


def _level(delta: float) -> float:
    return real("delta", delta, 0.0, 1.0, inside=True)


def _lil_pulls(widths: FloatArray, level: float, epsilon: float, sigma: float) -> float:
    """Return the sum over arms of the least counts at which the lil radius is below `widths`."""
    if (widths == 0.0).any():
        return math.inf
    high = np.ones(len(widths), np.int64)
    while (late := lil_radii(high, level, epsilon=epsilon, sigma=sigma) >= widths).any():
        if high.max() > 2**60:
            raise ValueError(
                f"gaps must be larger, because the bound exceeds 2**60 samples, got {shown(widths)}"
            )
        high[late] *= 2
    low = high // 2  # 0, or a count at which the radius is too large
    while (high - low > 1).any():
        middle = (low + high) // 2
        late = (lil_radii(middle, level, epsilon=epsilon, sigma=sigma) >= widths) | (middle == 0)
        low, high = np.where(late, middle, low), np.where(late, high, middle)
    return int(high.sum())
