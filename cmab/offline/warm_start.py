"""CLCB: a super arm with a high lower confidence bound on its reward, from a log."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Oracle, check_super_arm, require_oracle
from cmab.parameters import described
from cmab.seeding import Seed, root
from cmab.statistics import ArmStatistics
from cmab.validation import interval, real, shown

# The largest distance, relative to the support, that keeps cut bounds in order above the worst end.
_APART = 1e-6


@dataclass(frozen=True, eq=False)
class OfflineChoice:
    """The recommendation of `clcb`.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        The super arm that the oracle returns for the bounds. Bounds that are cut at the worst end keep their
        order.
    bounds : FloatArray, shape (n_arms,)
        The lower confidence bounds of all means (for costs, the upper bounds). All of them hold together with
        probability at least ``1 - delta``.
    reward_bound : float
        A lower bound on the expected reward of the super arm (for costs, an upper bound), valid with
        probability at least ``1 - delta``. It is nan for oracles with rewards that are not monotone. If the
        oracle simulates rewards, as for the spread in large networks, this number is a mean of simulations
        and may be above the bound.
    delta : float
        The error probability of the bounds.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback, clcb
    >>> from oracles import TopK
    >>> seen = ArmStatistics.empty(2)
    >>> seen.update(Feedback([0], [1.0]))
    >>> clcb(TopK(2, k=1), seen, delta=0.1)
    OfflineChoice(super_arm=[0], reward_bound=0, delta=0.1)
    """

    super_arm: IntArray
    bounds: FloatArray
    reward_bound: float
    delta: float

    def __repr__(self) -> str:
        return described(self, super_arm=self.super_arm, bounds=None)


def clcb(
    oracle: Oracle,
    statistics: ArmStatistics,
    *,
    delta: float = 0.05,
    support: tuple[float, float] = (0.0, 1.0),
    rng: Seed = 0,
) -> OfflineChoice:
    """Return the best super arm under pessimistic estimates of the means from a log.

    After the last round there is no reason to explore, and an arm with few outcomes may be worse than its
    mean suggests. If all arms were observed about equally often, the plain means (`Greedy`) choose equally
    well or better, once there is some evidence on each arm.

    The oracle receives the lower bounds ``mean - (high - low) sqrt(ln(4 m n / delta) / 2 T)`` of the m arms,
    cut at the worst end of `support`. Here T is the number of outcomes of an arm and n the number of rounds.
    Arms without outcomes get the worst end. Bounds that are cut keep their order, within a millionth of the
    support. For costs, the oracle receives the corresponding upper bounds. The outcomes of an arm must be
    independent of the choice of the rounds that showed them, as in semi-bandits and cascades. The choice of a
    super arm may depend on all earlier rounds.

    The bounds hold together with probability at least ``1 - delta``: by Hoeffding's inequality, each of the
    m n means of the first T outcomes of an arm fails on either side with probability at most
    ``delta / 2 m n``.

    Parameters
    ----------
    oracle : Oracle
        The oracle that chooses the super arm.
    statistics : ArmStatistics
        The statistics of the arms, for example from `Log.statistics` or the state of a session.
    delta : float
        The error probability, in (0, 1).
    support : tuple of float
        The interval of the outcomes.
    rng : int, numpy.random.Generator or None
        The seed of the oracle's randomness.

    Returns
    -------
    OfflineChoice

    Raises
    ------
    ValueError
        If a parameter is outside its range, the statistics have another number of arms, or a mean is outside
        `support`.

    Examples
    --------
    CLCB does not prefer an arm that succeeded in its only round:

    >>> from cmab import ArmStatistics, Feedback, clcb
    >>> from oracles import TopK
    >>> seen = ArmStatistics.empty(3)
    >>> for t in range(200):
    ...     seen.update(Feedback([0, 1], [float(t % 5 > 0), float(t % 2)]))
    >>> seen.update(Feedback([2], [1.0]))
    >>> choice = clcb(TopK(3, k=1), seen)
    >>> choice.super_arm, round(choice.reward_bound, 3)
    (array([0]), 0.636)

    References
    ----------
    X. Liu et al.: Offline Learning for Combinatorial Multi-armed Bandits, ICML 2025, Algorithm 1.
    """
    require_oracle(oracle)
    given: object = statistics
    if not isinstance(given, ArmStatistics) or given.n_arms != oracle.n_arms:
        raise ValueError(f"statistics must be ArmStatistics of {oracle.n_arms} arms, got {shown(statistics)}")
    low, high = interval("support", support)
    real("delta", delta, 0.0, 1.0, inside=True)
    counts, means, m = statistics.counts, statistics.means, oracle.n_arms
    is_seen, width = counts > 0, high - low
    slack = 1e-9 * width
    if ((means[is_seen] < low - slack) | (means[is_seen] > high + slack)).any():
        raise ValueError(f"means must lie in support {support}, got {shown(means[is_seen].tolist())}")
    # A round shows an arm at most once, but batches of exploration can show it several times.
    n = max(statistics.rounds, int(counts.max(initial=1)), 1)
    with np.errstate(divide="ignore"):
        # Liu et al. (2025), Algorithm 1, line 4.
        radii = width * np.sqrt(math.log(4.0 * m * n / delta) / (2.0 * counts))
    worst, sign = (low if oracle.sense == "max" else high), oracle._sign
    uncut = np.where(is_seen, means, worst) - sign * radii
    bounds = np.clip(uncut, low, high)
    # The paper does not cut the bounds. Cut bounds would tie, so that a small log would decide nothing. A
    # millionth of the support keeps the order of the uncut bounds. Arms without outcomes (exp(-inf) = 0) stay
    # at the worst end.
    depths = np.maximum(sign * (worst - uncut), 0.0) / width
    told = worst + sign * np.maximum(sign * (bounds - worst), _APART * width * np.exp(-depths))
    return recommended(oracle, told, bounds, delta, rng)


def recommended(
    oracle: Oracle, told: FloatArray, bounds: FloatArray, delta: float, rng: Seed
) -> OfflineChoice:
    """Return the oracle's answer to the means `told`, and its reward under the `bounds`."""
    chosen = check_super_arm(oracle, oracle.solve(told, np.random.default_rng(root(rng))))
    certain = oracle.expected_reward(chosen, bounds) if getattr(oracle, "is_monotone", True) else math.nan
    return OfflineChoice(chosen, bounds, float(certain), float(delta))
