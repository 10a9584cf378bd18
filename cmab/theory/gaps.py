"""Gaps of instances with a list of super arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import LinearOracle, Oracle, check_super_arm
from cmab.validation import real_array, shown, vector

_OF_SUMS = ("expected_reward", "triggered_arms", "triggering_probabilities")


@dataclass(frozen=True, eq=False)
class RewardGaps:
    """The quantities of an instance for regret bounds; a super arm is bad if it is below the guarantee.

    Attributes
    ----------
    smallest, largest : FloatArray, shape (n_arms,)
        Delta_min^i and Delta_max^i: the smallest and largest gap of the bad super arms that may trigger arm
        i; ``nan`` if there are no such super arms.
    n_bad : IntArray, shape (n_arms,)
        K_i, the number of bad super arms that may trigger arm i.
    probabilities : FloatArray, shape (n_arms,)
        p_i, the smallest positive probability with which a super arm triggers arm i; 1 if no super arm does.
    optimum : float
        Expected reward of the best super arm.
    clusters : IntArray or None, shape (n_arms,)
        The clusters of the oracle; see `Oracle`.
    n_triggered : float
        K, the largest expected number of arms that a super arm triggers; ``nan`` if unknown.

    Examples
    --------
    >>> from cmab.theory import reward_gaps
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(3, k=1), [0.75, 0.5, 0.25], super_arms=[[0], [1], [2]])
    >>> gaps.smallest, gaps.n_bad, gaps.overall
    (array([ nan, 0.25, 0.5 ]), array([0, 1, 1]), 0.5)

    References
    ----------
    Chen et al. (JMLR 2016), Definitions 5 and 6, and section 2 for p_i.
    """

    smallest: FloatArray
    largest: FloatArray
    n_bad: IntArray
    probabilities: FloatArray
    optimum: float
    clusters: IntArray | None = None
    n_triggered: float = math.nan

    @property
    def overall(self) -> float:
        """Delta_max, the largest gap; 0 without bad super arms."""
        return float(np.nanmax(self.largest)) if self.n_bad.any() else 0.0


def check_gaps(gaps: object) -> None:
    """Raise ``TypeError`` unless `gaps` is a `RewardGaps`."""
    if not isinstance(gaps, RewardGaps):
        raise TypeError(f"gaps must be a RewardGaps (see reward_gaps), got {shown(gaps)}")


def numbers_of_rounds(rounds: ArrayLike) -> FloatArray:
    """Return `rounds` as an array; raise ``ValueError`` unless all are at least 1."""
    n = real_array("rounds", rounds)
    vector("rounds", n.ravel(), low=1.0)
    return n


def reward_gaps(
    oracle: Oracle,
    means: ArrayLike,
    *,
    super_arms: Iterable[ArrayLike],
    triggering: Callable[[IntArray], ArrayLike] | None = None,
) -> RewardGaps:
    """Return the gaps of an instance from the list of its super arms.

    If the oracle minimises, the gap of a super arm is its cost minus ``alpha`` times the optimum.

    Parameters
    ----------
    oracle : Oracle
        Gives the expected rewards, the triggering probabilities, the ratio ``alpha`` and the sense. It is not
        called to solve.
    means : array_like, shape (n_arms,)
        True means of the base arms.
    super_arms : iterable of array_like
        All super arms.
    triggering : callable, optional
        Returns the probability with which a super arm triggers each base arm, shape (n_arms,). If
        omitted, ``oracle.triggering_probabilities``.

    Returns
    -------
    RewardGaps

    Raises
    ------
    ValueError
        If the means are not finite, if a super arm is not feasible for the oracle, if the oracle declares no
        ratio (``nan``), or if it does not know its triggering probabilities.

    Examples
    --------
    >>> from itertools import combinations
    >>> from cmab.theory import reward_gaps
    >>> from oracles import TopK
    >>> reward_gaps(TopK(3, k=2), [1.0, 0.75, 0.5], super_arms=combinations(range(3), 2)).smallest
    array([0.25, 0.5 , 0.25])
    """
    truth = vector("means", means, oracle.n_arms)
    if not oracle.alpha > 0.0:
        raise ValueError(f"oracle must declare its ratio alpha, got {oracle.alpha} for {oracle!r}")
    family = [check_super_arm(oracle, np.asarray(arm)) for arm in super_arms]
    if not family:
        raise ValueError("super_arms must not be empty, got none; list at least one super arm")
    return gaps_of(oracle, truth, family, triggering)


def gaps_of(
    oracle: Oracle,
    truth: FloatArray,
    family: Sequence[IntArray],
    triggering: Callable[[IntArray], ArrayLike] | None = None,
) -> RewardGaps:
    """Return the result of `reward_gaps` for checked means and super arms."""
    if triggering is None and _is_plain_sum(oracle):
        values = oracle._sign * np.array([truth[arm].sum() for arm in family])
        chances = np.zeros((len(family), oracle.n_arms))
        for row, arm in zip(chances, family, strict=True):
            row[arm] = 1.0
    else:
        values = np.array([oracle._sign * oracle.expected_reward(arm, truth) for arm in family])
        chances = np.array([_chances(oracle, arm, truth, triggering) for arm in family])
    reached = chances > 0.0
    # Definition 6: alpha opt - r(S), with the opposite sign for costs.
    differences = oracle.alpha * values.max() - values
    # Sums of the same means in another order differ by rounding errors, which are not gaps.
    is_bad = differences > 1e-12 * np.abs(values).max()
    bad = (reached & is_bad[:, None]).sum(axis=0)
    at_bad = np.where(reached & is_bad[:, None], differences[:, None], np.nan)
    exists = bad > 0
    smallest, largest = np.full((2, oracle.n_arms), np.nan)
    smallest[exists], largest[exists] = (
        np.nanmin(at_bad[:, exists], axis=0),
        np.nanmax(at_bad[:, exists], axis=0),
    )
    # p_i is the minimum over the super arms that may trigger arm i.
    probabilities = np.where(reached, chances, 1.0).min(axis=0)
    optimum, triggered = oracle._sign * float(values.max()), float(chances.sum(axis=1).max())
    return RewardGaps(
        smallest, largest, bad, probabilities, optimum, getattr(oracle, "clusters", None), triggered
    )


def _is_plain_sum(oracle: Oracle) -> bool:
    """Return whether rewards are sums over super arms that trigger themselves, as in `LinearOracle`."""
    return isinstance(oracle, LinearOracle) and all(
        getattr(type(oracle), name) is getattr(LinearOracle, name) for name in _OF_SUMS
    )


def _chances(
    oracle: Oracle, arm: IntArray, means: FloatArray, triggering: Callable[[IntArray], ArrayLike] | None
) -> FloatArray:
    found = oracle.triggering_probabilities(arm, means) if triggering is None else triggering(arm)
    if found is None:
        raise ValueError(f"triggering must be given, because {oracle!r} does not know its probabilities")
    return vector("triggering", found, oracle.n_arms, 0.0, 1.0)
