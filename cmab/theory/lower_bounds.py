"""Lower bounds on the number of samples of every rule."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike
from cmab.confidence.kl import bernoulli_divergence
from cmab.theory.characteristic_time import Divergence, evidence
from cmab.theory.hardness import hardness
from cmab.validation import integer, real, vector


def least_best_k_samples(
    means: ArrayLike, k: int, *, delta: float, divergence: Divergence = bernoulli_divergence
) -> float:
    """Return a lower bound on the mean samples of every rule for the best k arms.

    The bound uses one change of measure per arm. A rule that errs with probability at most `delta` on every
    instance samples arm i at least ``kl(delta, 1 - delta) / d(m_i, m)`` times on average. Here m is the mean
    on the other side of the border: the (k+1)-th largest for the k best arms, the k-th largest for the
    others.

    The tightest bound, ``T* kl(delta, 1 - delta)``, considers all changes of measure together; see
    `cmab.theory.best_k_time`, and `cmab.theory.characteristic_time` for k = 1. For k = 1 and Gaussian arms of
    one variance it is at most twice as large. For Bernoulli arms it may be several times as large: 3.5 times
    for means of 0.99 and 0.01.

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
    >>> from cmab.theory.lower_bounds import least_best_k_samples
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


def least_gaussian_samples(gaps: ArrayLike, *, delta: float, sigma: float = 0.5) -> float:
    """Return ``2 sigma^2 H kl(delta, 1 - delta)``, a bound for Gaussian arms and any family of super arms.

    If one arm's mean changes by its gap, the best super arm changes. An outcome of this arm gives evidence
    ``gap^2 / 2 sigma^2``.

    Parameters
    ----------
    gaps : array_like, shape (n_arms,)
        Gaps of the arms; see `best_k_gaps` and `constrained_gaps`.
    delta : float
        Error probability, in (0, 1).
    sigma : float
        Standard deviation of the outcomes, positive.

    Examples
    --------
    >>> from cmab.theory.lower_bounds import least_gaussian_samples
    >>> round(least_gaussian_samples([0.5, 0.5], delta=0.1), 2)
    7.03

    References
    ----------
    As for `least_best_k_samples`. Chen et al. (NIPS 2014), Theorem 2, has the same order.
    """
    return 2.0 * real("sigma", sigma, 0.0, inside=True) ** 2 * hardness(gaps) * evidence(delta)


def worst_case_samples(n_arms: int, k: int, *, delta: float, epsilon: float) -> float:
    """Return ``n ln(k / (8 delta)) / (18375 epsilon^2)`` of Theorem 8 (worst instance of Explore-m).

    Consider a rule that returns k arms which, with probability at least ``1 - delta``, are all within
    `epsilon` of the k-th best. On some instance, one of `instances.lucb_lower_bound`, it needs at least so
    many samples on average.

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
    >>> from cmab.theory.lower_bounds import worst_case_samples
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
