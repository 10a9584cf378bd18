"""Upper bounds on the number of samples of explorers, with the constants of the proofs in the papers.

Each bound holds on the event that all confidence intervals hold, or for all runs if the paper proves this.
The bounds are larger than the actual numbers by factors of 10 and more; `identify` returns the actual
numbers.
"""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.confidence.radii import Mode, lil_parameters, lil_radii
from cmab.theory.hardness import aggregate_hardness, anytime_samples, best_k_gaps, gap_array, hardness
from cmab.validation import integer, real, shown, vector


def lucb1_samples(gaps: ArrayLike, *, delta: float, epsilon: float = 0.0) -> float:
    """Return the bound on the mean samples of LUCB1 over all runs, including runs that err.

    For every T of at least ``T* = ceil(146 H ln(H / delta))``, a run lasts more than T rounds with
    probability at most ``4 delta / T^2``. A round takes two samples, and the first round samples all arms. H
    is `hardness` with ``floor = epsilon / 2``.

    Parameters
    ----------
    gaps : array_like, shape (n_arms,)
        Gaps of the best k, in [0, 1]; see `best_k_gaps`.
    delta : float
        Error probability, in (0, 1).
    epsilon : float
        Tolerance, at least 0.

    Examples
    --------
    >>> from cmab.theory.sample_bounds import lucb1_samples
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
    gaps : array_like, shape (n_arms,)
        Gaps of the arms; see `best_k_gaps`.
    k : int
        Number of the best arms.
    delta : float
        Error probability, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "paper", "heuristic"}
        The constants of the rule; see `cmab.exploration.lucb.LilLUCB`.

    Examples
    --------
    >>> from cmab.theory.sample_bounds import lil_rand_lucb_samples
    >>> lil_rand_lucb_samples([0.5, 0.5], k=1, delta=0.01)
    11182

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits, Theorem
    3.1 and Appendix B.
    """
    array = gap_array(gaps)
    n_arms = len(array)
    epsilon, level = lil_parameters(mode, delta=_level(delta), sides=(k, n_arms - k), n_sides=2.0)
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
        Gaps of the arms; see `best_k_gaps` and `constrained_gaps`.
    delta : float
        Error probability, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "paper", "heuristic"}
        The constants of the rule; see `cmab.exploration.lucb.LilLUCB`.
    width : int, optional
        Width of the family of super arms; see `cmab.theory.width`. If omitted, the bound is for the best k
        arms.

    Examples
    --------
    >>> from cmab.theory.sample_bounds import lil_clucb_samples
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
    gaps : array_like, shape (n_arms,)
        Gaps of the arms; see `constrained_gaps`.
    delta : float
        Error probability, in (0, 1).
    epsilon : float
        Tolerance of the sum (CLUCB-PAC).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    width : int
        Width of the family of super arms; see `cmab.theory.width`.
    max_super_arm_size : int
        Number of arms in the largest super arm (size above); it has an effect only if `epsilon` is positive.

    Examples
    --------
    >>> from cmab.theory.sample_bounds import clucb_samples
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
    means : array_like, shape (n_arms,)
        True means.
    k : int
        Number of the best arms, in ``[1, n_arms - 1]``.
    delta : float
        Error probability, in (0, 1).
    epsilon : float
        Tolerated average loss, in (0, 1).

    Examples
    --------
    >>> from cmab.theory.sample_bounds import adaptive_top_k_samples
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
