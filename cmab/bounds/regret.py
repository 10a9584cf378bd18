"""Gaps of instances, bounds on the regret of CUCB, and the best mixture of super arms within budgets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.bounds.radii import LogRadius
from cmab.guarantees import Smoothness
from cmab.oracle import LinearOracle, Oracle, check_super_arm
from cmab.validation import check_vector, listed, real_array, shown, vector


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
        The clusters of the oracle; see `Oracle.clusters`.
    n_triggered : float
        K, the largest expected number of arms that a super arm triggers; ``nan`` if unknown.

    Examples
    --------
    >>> from cmab.bounds import reward_gaps
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
    >>> from cmab.bounds import reward_gaps
    >>> from oracles import TopK
    >>> reward_gaps(TopK(3, k=2), [1.0, 0.75, 0.5], super_arms=combinations(range(3), 2)).smallest
    array([0.25, 0.5 , 0.25])
    """
    truth = vector("means", means, oracle.n_arms)
    if not oracle.alpha > 0.0:
        raise ValueError(f"oracle must declare its ratio alpha, got {oracle.alpha} for {oracle!r}")
    given = enumerate(listed("super_arms", super_arms, "super arms"))
    family = [check_super_arm(oracle, arm, f"super_arms[{i}]") for i, arm in given]
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
    if triggering is None and oracle.is_linear and oracle.triggers_surely:
        values = oracle._sign * np.array([truth[arm].sum() for arm in family])
        chances = np.zeros((len(family), oracle.n_arms))
        for row, arm in zip(chances, family, strict=True):
            row[oracle.triggered_arms(arm)] = 1.0
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


def _chances(
    oracle: Oracle, arm: IntArray, means: FloatArray, triggering: Callable[[IntArray], ArrayLike] | None
) -> FloatArray:
    found = oracle.triggering_probabilities(arm, means) if triggering is None else triggering(arm)
    if found is None:
        raise ValueError(f"triggering must be given, because {oracle!r} does not know its probabilities")
    return vector("triggering", found, oracle.n_arms, 0.0, 1.0)


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
    >>> from cmab import Smoothness
    >>> from cmab.bounds import reward_gaps, gap_dependent_bound
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
    >>> from cmab import Smoothness
    >>> from cmab.bounds import reward_gaps, gap_free_bound
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


def sum_of_widths(n_arms: int, n_triggered: float, n: FloatArray) -> FloatArray:
    """Return ``m + sqrt(24 m K n ln n)``, a bound on the expected sum of widths over n rounds for any policy.

    The width of an arm is that of Algorithm 1's interval, ``min(2 sqrt(3 ln t / 2T), 1)``, and 1 for an arm
    without observations. The sum over rounds and arms is of the probability that the arm is triggered times
    its width. K is the largest expected number of arms that a super arm triggers. The lemma of
    docs/explanation/theory.md proves it.
    """
    total: FloatArray = n_arms + np.sqrt(24.0 * n_arms * n_triggered * n * np.log(n))
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
    >>> from cmab import Smoothness
    >>> from cmab.bounds import modulated_gap_free_bound, reward_gaps
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(2, k=1), [0.75, 0.25], super_arms=[[0], [1]])
    >>> float(modulated_gap_free_bound(gaps, Smoothness.linear(1), rounds=1000).round(2))
    581.11

    References
    ----------
    Ours: Theorem 1 of docs/explanation/theory.md, after Q. Wang, W. Chen (NIPS 2017), with a shorter proof.
    """
    constant, n = _constant(gaps, smoothness), numbers_of_rounds(rounds)
    m = len(gaps.n_bad)
    failing = math.pi**2 / 3 * m * gaps.overall
    bound: FloatArray = constant * sum_of_widths(m, gaps.n_triggered, n) + failing
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
    >>> from cmab import Smoothness
    >>> from cmab.bounds import modulated_bound, reward_gaps
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


#: Least gain (reward minus price) of a super arm that is added, relative to the value.
_GAIN = 1e-9


class Mixture(NamedTuple):
    """The best mixture of super arms within an allowance.

    Attributes
    ----------
    value : float
        Expected reward per round.
    super_arms : tuple of IntArray
        The super arms of the mixture, at most one more than there are resources.
    shares : FloatArray, shape (number of super arms,)
        Share of the rounds in which each super arm is played. In the other rounds, nothing is played.
    prices : FloatArray, shape (n_resources,)
        Increase of the value per additional unit of each resource per round (Lagrange multipliers).

    Examples
    --------
    >>> from cmab.bounds import best_mixture
    >>> from oracles import TopK
    >>> best_mixture(TopK(2, k=1), [0.9, 0.3], [[1.0, 0.1]], [0.5]).prices.round(3)
    array([0.667])
    """

    value: float
    super_arms: tuple[IntArray, ...]
    shares: FloatArray
    prices: FloatArray


def best_mixture(oracle: LinearOracle, means: ArrayLike, costs: ArrayLike, allowance: ArrayLike) -> Mixture:
    """Return the best mixture of super arms with a mean consumption of each resource within its allowance.

    It is the benchmark of bandits with knapsacks: with budgets of T times the allowance, the expected reward
    of any policy in T rounds is at most T times the value. The linear program has a column for each super
    arm. Columns are generated one by one, as long as the oracle finds a super arm with a reward above its
    price.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms. The oracle must be exact and maximise.
    means : array_like, shape (n_arms,)
        Mean rewards of the base arms.
    costs : array_like, shape (n_resources, n_arms)
        Mean consumption of each resource by each base arm.
    allowance : array_like, shape (n_resources,)
        Allowed mean consumption of each resource per round.

    Returns
    -------
    Mixture

    Raises
    ------
    ValueError
        If the oracle is not linear, is not exact or minimises, or if the shape of an array is wrong.

    Examples
    --------
    >>> from cmab.bounds import best_mixture
    >>> from oracles import TopK
    >>> best = best_mixture(TopK(2, k=1), [0.9, 0.3], [[1.0, 0.1]], [0.5])
    >>> round(best.value, 3), [arm.tolist() for arm in best.super_arms], best.shares.round(3)
    (0.567, [[0], [1]], array([0.444, 0.556]))

    References
    ----------
    A. Badanidiyuru, R. Kleinberg, A. Slivkins: Bandits with Knapsacks, FOCS 2013, section 2 (the linear
    program and its dual).
    """
    from scipy.optimize import linprog

    if not (oracle.is_linear and oracle.is_exact and oracle.sense == "max"):
        raise ValueError(f"oracle must be linear, exact and maximise rewards, got {shown(oracle)}")
    worth, limits = vector("means", means, oracle.n_arms), vector("allowance", allowance, None, 0.0)
    uses = real_array("costs", costs)
    if not len(limits) or uses.shape != (len(limits), oracle.n_arms):
        raise ValueError(f"costs must have shape {(len(limits), oracle.n_arms)}, got {uses.shape}")
    check_vector("costs", uses.ravel(), None, 0.0)
    # At the start nothing is played, and all prices are 0.
    found: list[IntArray] = []
    value, prices, threshold = 0.0, np.zeros(len(limits)), 0.0
    shares = np.empty(0)
    while True:
        best = oracle.solve(worth - prices @ uses, np.random.default_rng(0))
        gain = float((worth - prices @ uses)[best].sum()) - threshold
        if gain <= _GAIN * (1.0 + abs(value)) or any(np.array_equal(best, other) for other in found):
            break
        found.append(np.sort(best))
        # max sum_S x_S mu(S), subject to sum_S x_S c_r(S) <= B_r / T for each r, and sum_S x_S <= 1.
        rows = np.array([[use[each].sum() for each in found] for use in uses] + [[1.0] * len(found)])
        master = linprog(
            [-float(worth[each].sum()) for each in found], A_ub=rows, b_ub=[*limits, 1.0], method="highs"
        )
        assert master.fun is not None  # the program is feasible, because all shares may be 0
        assert master.x is not None
        value, shares = -float(master.fun), master.x
        prices, threshold = -master.ineqlin.marginals[:-1], -float(master.ineqlin.marginals[-1])
    mixed = np.flatnonzero(shares > 0.0)
    return Mixture(value, tuple(found[i] for i in mixed), shares[mixed], prices)
