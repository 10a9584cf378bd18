"""Means from the papers on best-k identification; the best arms come first."""

from __future__ import annotations

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.validation import arm_indices, integer, real

__all__ = ["audibert_bubeck_munos", "lil_exponential", "lucb_lower_bound", "power_gap_means", "two_groups"]

# Audibert et al. (2010), with their budgets, taken from public code instead of the text of the paper.
_PROBLEMS: dict[int, tuple[list[float], int]] = {
    1: ([0.5] + 19 * [0.4], 2000),
    2: ([0.5] + 5 * [0.42] + 14 * [0.38], 2000),
    3: ([0.5] + [0.5 - 0.37**i for i in (2, 3, 4)], 2000),
    4: ([0.5, 0.42, 0.4, 0.4, 0.35, 0.35], 600),
    5: ([0.5] + [0.5 - 0.025 * i for i in range(2, 16)], 4000),
    6: ([0.5, 0.48] + 18 * [0.37], 6000),
    7: ([0.5] + 5 * [0.45] + 14 * [0.43] + 10 * [0.38], 6000),
}


def two_groups(n_arms: int, k: int, *, high: float = 0.7, low: float = 0.3) -> FloatArray:
    """Return `k` means of `high` and the other means of `low` (TWOGROUP; 1-sparse: ``high=0.5, low=0``).

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and number of arms with the mean `high`.
    high, low : float
        The two means; `high` is at least `low`.

    Examples
    --------
    >>> from instances import two_groups
    >>> two_groups(4, k=1)
    array([0.7, 0.3, 0.3, 0.3])
    """
    integer("k", k, 1, integer("n_arms", n_arms, 1))
    return np.where(np.arange(n_arms) < k, real("high", high, real("low", low)), low)


def power_gap_means(n_arms: int, k: int, *, exponent: float = 1.0) -> FloatArray:
    """Return means at polynomial distances from the border (SYNTHETIC-p; UNIFORM, ``1 - i/n``, if 1).

    The border separates the k best arms from the others. If `exponent` is below 1, the means are far from
    the border; if it is above 1, they are close to it.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    k : int
        Number of the best arms, in ``[1, n_arms - 1]``.
    exponent : float
        Exponent of the power, positive.

    Examples
    --------
    >>> from instances import power_gap_means
    >>> power_gap_means(4, k=2).tolist()
    [0.75, 0.5, 0.25, 0.0]

    References
    ----------
    J. Chen, X. Chen, Q. Zhang, Y. Zhou: Adaptive Multiple-Arm Identification, ICML 2017, section 3.
    """
    integer("k", k, 1, integer("n_arms", n_arms, 2) - 1)
    real("exponent", exponent, 0.0, inside=True)
    i, border = np.arange(1, n_arms + 1), 1.0 - k / n_arms
    # Jiang et al. (2017), section 5.1; Chen et al. (2017), section 3, whose formula is illegible in our copy.
    above = border + (k / n_arms) * (1.0 - np.minimum(i, k) / k) ** exponent
    below = border - border * (np.maximum(i - k, 0) / (n_arms - k)) ** exponent
    return np.where(i <= k, above, below)


def lil_exponential(n_arms: int, exponent: float) -> FloatArray:
    """Return means with one best arm: 1, then ``1 - ((i - 1) / n_arms) ** exponent`` (k = 1).

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    exponent : float
        Exponent of the power, positive; the paper uses 0.3 and 0.6.

    Examples
    --------
    >>> from instances import lil_exponential
    >>> lil_exponential(4, exponent=1.0).tolist()
    [1.0, 0.75, 0.5, 0.25]

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits, 2017,
    section 5.2 (instances of Jamieson et al., COLT 2014).
    """
    integer("n_arms", n_arms, 2)
    real("exponent", exponent, 0.0, inside=True)
    return 1.0 - (np.arange(n_arms) / n_arms) ** exponent


def audibert_bubeck_munos(problem: int) -> tuple[FloatArray, int]:
    """Return the means and the budget of one of seven fixed-budget problems (Audibert et al., COLT 2010).

    Parameters
    ----------
    problem : int
        Number of the problem, 1 to 7. In problem 5, arm i (from the second on) has mean ``0.5 - 0.025 i``.

    Examples
    --------
    >>> from instances import audibert_bubeck_munos
    >>> audibert_bubeck_munos(4)
    (array([0.5 , 0.42, 0.4 , 0.4 , 0.35, 0.35]), 600)
    """
    means, budget = _PROBLEMS[integer("problem", problem, 1, 7)]
    return np.array(means), budget


def lucb_lower_bound(n_arms: int, good: ArrayLike, *, epsilon: float) -> FloatArray:
    """Return the means in the lower bound for (epsilon, m)-optimal arms (Kalyanakrishnan et al. 2012).

    Parameters
    ----------
    n_arms : int
        Number of arms.
    good : array_like of int
        Arms with mean ``1/2 + 2 epsilon``; there are m or m - 1 of them. Arm 0, which has mean 1/2, is not
        one of them. The assignment is reconstructed from the proof, because the printed one is garbled.
    epsilon : float
        The tolerance, in (0, 1/4].

    Examples
    --------
    >>> from instances import lucb_lower_bound
    >>> lucb_lower_bound(4, [1, 3], epsilon=0.1).tolist()
    [0.5, 0.7, 0.3, 0.7]
    """
    arms = arm_indices("good", good, integer("n_arms", n_arms, 1))
    real("epsilon", epsilon, 0.0, 0.25)
    # Section 4.1, reconstructed: in every instance of this assignment, m arms are (epsilon, m)-optimal, as
    # the text of the paper says.
    means = np.full(n_arms, 0.5 - 2 * epsilon)
    means[0] = 0.5
    means[arms] = 0.5 + 2 * epsilon
    return means
