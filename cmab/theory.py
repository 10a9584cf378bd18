"""Regret theory: gaps of small instances, and the regret bounds of CUCB as functions of the horizon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cmab._validation import integer, real, vector
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.confidence import LogRadius
from cmab.oracle import Oracle


@dataclass(frozen=True)
class Smoothness:
    """A bounded-smoothness function ``f(x) = gamma x**omega``.

    If no mean of an arm that a super arm may trigger moves by more than x, the expected reward of the super
    arm moves by at most f(x).

    Parameters
    ----------
    gamma : float
        Factor, positive.
    omega : float
        Exponent, in (0, 1].

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from cmab.theory import Smoothness
    >>> Smoothness.linear(max_size=5).inverse(0.5)
    0.1

    References
    ----------
    Chen et al. (JMLR 2016), Definition 1 and Theorem 2; sections 4.1 to 4.3 for the rewards below.
    """

    gamma: float
    omega: float = 1.0

    def __post_init__(self) -> None:
        real("gamma", self.gamma, 0.0, math.inf, inside=True)
        if real("omega", self.omega, 0.0, 1.0) == 0.0:
            raise ValueError("omega must lie in (0, 1], got 0")

    @classmethod
    def linear(cls, max_size: int, largest_weight: float = 1.0) -> Smoothness:
        """Return that of a weighted sum of at most `max_size` means: ``a_max L x``."""
        return cls(integer("max_size", max_size, 1) * real("largest_weight", largest_weight, 0.0))

    @classmethod
    def coverage(cls, n_edges: int) -> Smoothness:
        """Return that of probabilistic maximum coverage: ``|E| x``."""
        return cls(float(integer("n_edges", n_edges, 1)))

    @classmethod
    def influence(cls, n_edges: int, n_nodes: int) -> Smoothness:
        """Return that of influence under independent cascades (Lemma 6): ``|E| |V| x``."""
        return cls(float(integer("n_edges", n_edges, 1) * integer("n_nodes", n_nodes, 1)))

    def __call__(self, x: float) -> float:
        """Return f(x)."""
        return float(self.gamma * x**self.omega)

    def inverse(self, gap: float) -> float:
        """Return the x with f(x) = `gap`."""
        return float((gap / self.gamma) ** (1.0 / self.omega))


@dataclass(frozen=True, eq=False)
class RewardGaps:
    """What the bounds need to know of an instance; a super arm is bad if it misses the guarantee.

    Attributes
    ----------
    smallest, largest : FloatArray, shape (n_arms,)
        Delta_min^i and Delta_max^i, over the bad super arms that may trigger arm i; ``nan`` if there is none.
    bad : IntArray, shape (n_arms,)
        K_i, their number.
    probabilities : FloatArray, shape (n_arms,)
        p_i: the smallest positive probability with which a super arm triggers arm i; 1 if none does.
    optimum : float
        Expected reward of the best super arm.
    clusters : IntArray or None, shape (n_arms,)
        See `Oracle.clusters`.

    Examples
    --------
    >>> from cmab.theory import reward_gaps
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(3, k=1), [0.75, 0.5, 0.25], [[0], [1], [2]])
    >>> gaps.smallest, gaps.bad, gaps.overall
    (array([ nan, 0.25, 0.5 ]), array([0, 1, 1]), 0.5)

    References
    ----------
    Chen et al. (JMLR 2016), Definitions 5 and 6 and section 2.1.
    """

    smallest: FloatArray
    largest: FloatArray
    bad: IntArray
    probabilities: FloatArray
    optimum: float
    clusters: IntArray | None = None

    @property
    def overall(self) -> float:
        """Delta_max: the largest gap of all; 0 without bad super arms."""
        return float(np.nanmax(self.largest)) if self.bad.any() else 0.0


def reward_gaps(
    oracle: Oracle,
    means: ArrayLike,
    super_arms: Iterable[ArrayLike],
    triggering: Callable[[IntArray], ArrayLike] | None = None,
) -> RewardGaps:
    """Return the gaps of an instance whose super arms can be listed.

    For costs the gap of a super arm is what it costs above ``alpha`` times the optimum.

    Parameters
    ----------
    oracle : Oracle
        Knows the reward, its guarantee ``alpha`` and its sense; it is not asked to solve anything.
    means : array_like, shape (n_arms,)
        True means of the base arms.
    super_arms : iterable of array_like
        The whole family.
    triggering : callable, optional
        Returns, for a super arm, the probabilities with which it triggers each base arm, shape (n_arms,).
        Left out, ``oracle.triggered_arms`` are triggered with certainty; that is wrong for cascades.

    Returns
    -------
    RewardGaps

    Raises
    ------
    ValueError
        If the means are not finite, or a super arm is not in the oracle's family.

    Examples
    --------
    >>> from itertools import combinations
    >>> from cmab.theory import reward_gaps
    >>> from oracles import TopK
    >>> reward_gaps(TopK(3, k=2), [1.0, 0.75, 0.5], combinations(range(3), 2)).smallest
    array([0.25, 0.5 , 0.25])
    """
    truth = vector("means", means, oracle.n_arms)
    family = [oracle.check_super_arm(np.asarray(arm)) for arm in super_arms]
    if not family:
        raise ValueError("super_arms must list at least one super arm, got none")
    sign = 1.0 if oracle.sense == "max" else -1.0
    values = np.array([sign * oracle.expected_reward(arm, truth) for arm in family])
    chances = np.array([_chances(oracle, arm, triggering) for arm in family])
    reached = chances > 0.0
    differences = oracle.alpha * values.max() - values
    # Sums of the same means in another order differ by rounding; such a difference is no gap.
    is_bad = differences > 1e-12 * np.abs(values).max()
    bad = (reached & is_bad[:, None]).sum(axis=0)
    at_bad = np.where(reached & is_bad[:, None], differences[:, None], np.nan)
    exists = bad > 0
    smallest, largest = np.full((2, oracle.n_arms), np.nan)
    smallest[exists], largest[exists] = (
        np.nanmin(at_bad[:, exists], axis=0),
        np.nanmax(at_bad[:, exists], axis=0),
    )
    probabilities = np.where(reached, chances, 1.0).min(axis=0)
    return RewardGaps(smallest, largest, bad, probabilities, sign * float(values.max()), oracle.clusters)


def _chances(oracle: Oracle, arm: IntArray, triggering: Callable[[IntArray], ArrayLike] | None) -> FloatArray:
    if triggering is not None:
        return vector("triggering", triggering(arm), oracle.n_arms, 0.0, 1.0)
    chances = np.zeros(oracle.n_arms)
    chances[oracle.triggered_arms(arm)] = 1.0
    return chances


def theorem_1(
    gaps: RewardGaps, smoothness: Smoothness, rounds: ArrayLike, radius: LogRadius | None = None
) -> FloatArray:
    """Return the distribution-dependent bound on the regret of `CUCB`: logarithmic in the rounds.

    For outcomes in [0, 1]. Arms of one cluster share a counter and enter the leading term once.

    Parameters
    ----------
    gaps : RewardGaps
        The instance.
    smoothness : Smoothness
        Of its reward.
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
        If `radius` has no bound for these gaps.

    Examples
    --------
    >>> from cmab.theory import Smoothness, reward_gaps, theorem_1
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(2, k=1), [0.75, 0.25], [[0], [1]])
    >>> float(theorem_1(gaps, Smoothness(1.0), 1000).round(2))
    87.18

    References
    ----------
    Chen et al. (JMLR 2016), Theorem 1 and section 3.2; section 4.1 with Chen et al. (ICML 2013) for clusters.
    """
    n = _rounds(rounds)
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
        leading += weight * (
            bottom * _pulls(smoothness, bottom, floor) + _integral(smoothness, bottom, top, floor)
        )
    return leading + constant * len(gaps.bad) * gaps.overall


def theorem_2(gaps: RewardGaps, smoothness: Smoothness, rounds: ArrayLike) -> FloatArray:
    """Return the bound on the regret of `CUCB` that depends on no gap but the largest.

    For outcomes in [0, 1] and Algorithm 1's radius; of the order of ``sqrt(n log n)`` when omega is 1.

    Parameters
    ----------
    gaps, smoothness, rounds
        As for `theorem_1`.

    Returns
    -------
    FloatArray, shape of `rounds`

    Examples
    --------
    >>> from cmab.theory import Smoothness, reward_gaps, theorem_2
    >>> from oracles import TopK
    >>> gaps = reward_gaps(TopK(2, k=1), [0.75, 0.25], [[0], [1]])
    >>> float(theorem_2(gaps, Smoothness(1.0), 1000).round(2))
    580.11

    References
    ----------
    Chen et al. (JMLR 2016), Theorem 2.
    """
    n = _rounds(rounds)
    m, omega, lowest = len(gaps.bad), smoothness.omega, float(gaps.probabilities.min())
    is_certain = lowest == 1.0
    samples = (6.0 if is_certain else 12.0 / lowest) * m * np.log(n)
    leading = 2.0 * smoothness.gamma / (2.0 - omega) * samples ** (omega / 2) * n ** (1.0 - omega / 2)
    if is_certain:
        return leading + (math.pi**2 / 3 + 1) * m * gaps.overall
    rare = (24.0 * np.log(n)[..., None] / gaps.probabilities).sum(axis=-1)
    return leading + ((math.pi**2 / 2 + 1) * m + rare) * gaps.overall


def _rounds(rounds: ArrayLike) -> FloatArray:
    n = np.asarray(rounds, dtype=np.float64)
    vector("rounds", n.ravel(), low=1.0)
    return n


def _counters(gaps: RewardGaps) -> IntArray:
    """Return the arms that enter the leading term: those with bad super arms, one for each cluster."""
    arms = np.flatnonzero(gaps.bad)
    if gaps.clusters is None:
        return arms
    _, first = np.unique(gaps.clusters[arms], return_index=True)
    return arms[first]


def _terms(radius: LogRadius, n: FloatArray, is_certain: bool) -> tuple[FloatArray, FloatArray | float]:
    """Return twice the exponent y (the factor of ``f**-1(x)**-2``), and the factor of ``m Delta_max``."""
    log = np.log(n)
    if radius == LogRadius():
        return 6.0 * log, (2.0 if is_certain else 3.0) * math.pi**2 / 6 + 1.0
    c = 2.0 * radius.coefficient - 1.0
    if not is_certain or (radius != LogRadius.tight() and (radius.loglog or c <= 1.0)):
        raise ValueError(
            "radius must be Algorithm 1's, or LogRadius.wide or .tight with arms triggered with certainty,"
            f" got {radius} for {'certain' if is_certain else 'uncertain'} triggering"
        )
    if radius.loglog == 0.0:
        from scipy.special import zeta

        return 2.0 * (1.0 + c) * log, 2.0 * float(zeta(c)) + 1.0
    loglog = np.log(log, out=np.full(n.shape, np.nan), where=n >= 3.0)
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
