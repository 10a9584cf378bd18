"""CLCB: the super arm whose worth is certain to be high, from what was logged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.description import described
from cmab.guards import generator
from cmab.oracle import Oracle, require_oracle
from cmab.seeding import Seed
from cmab.statistics import ArmStatistics
from cmab.validation import interval, real, shown

# How far above the worst end of the support bounds are told apart that are cut there.
_APART = 1e-6


@dataclass(frozen=True, eq=False)
class OfflineChoice:
    """What `clcb` recommends.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        The oracle's answer to the bounds, where those that are cut at the worst end keep their order.
    bounds : FloatArray, shape (n_arms,)
        Lower bounds on all means (upper ones, for costs), which hold together with probability ``1 - delta``.
    reward_bound : float
        The expected reward of the super arm is at least this (its cost at most) with probability
        ``1 - delta``; nan for oracles whose rewards are not monotone. Where the oracle simulates rewards, as
        the spread in large networks, it is a mean of simulations, which may be above that.
    delta : float
        The error probability.

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
    """Return the super arm that is best if all means are as bad as a log allows.

    After the last round there is nothing to explore for: an arm that was seen seldom may be worse than it
    looks. Where all arms were seen about as often, plain means (`Greedy`) choose as well or better, once
    there is some evidence on each.

    The oracle is given ``mean - (high - low) sqrt(ln(4 m n / delta) / 2 T)``, cut at the worst end of
    `support`, which is also what arms without outcomes get; T counts the outcomes of an arm, n the rounds.
    What is cut keeps its order, within a millionth of the support. For costs it is the mirror image. Outcomes
    of an arm must be independent of which rounds showed them, as in semi-bandits and cascades; what was
    played may have depended on everything before.

    The bounds hold together with probability at least ``1 - delta``: by Hoeffding's inequality one of the m n
    means of the first T outcomes of an arm fails with probability ``delta / 2 m n`` at most, on either side.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    statistics : ArmStatistics
        What was seen, for instance `Log.statistics`, or the state of a session.
    delta : float
        Error probability, in (0, 1).
    support : tuple of float
        Interval of the outcomes.
    rng : int, numpy.random.Generator or None
        Randomness of the oracle.

    Returns
    -------
    OfflineChoice

    Raises
    ------
    ValueError
        If a parameter is out of its range, the statistics are of another number of arms, or a mean lies
        outside `support`.

    Examples
    --------
    An arm that succeeded in its only round is not taken for the best one:

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
    # A round shows an arm once; batches of exploration show it more often.
    n = max(statistics.rounds, int(counts.max(initial=1)), 1)
    with np.errstate(divide="ignore"):
        # Liu et al. (2025), Algorithm 1, line 4.
        radii = width * np.sqrt(math.log(4.0 * m * n / delta) / (2.0 * counts))
    worst, sign = (low if oracle.sense == "max" else high), oracle.sign
    uncut = np.where(is_seen, means, worst) - sign * radii
    bounds = np.clip(uncut, low, high)
    # The paper does not cut. Cut bounds would tie, so that a small log decides nothing: a millionth of the
    # support keeps the order of the uncut ones, and arms never seen (exp(-inf) = 0) stay at the worst end.
    depths = np.maximum(sign * (worst - uncut), 0.0) / width
    told = worst + sign * np.maximum(sign * (bounds - worst), _APART * width * np.exp(-depths))
    return recommended(oracle, told, bounds, delta, rng)


def recommended(
    oracle: Oracle, told: FloatArray, bounds: FloatArray, delta: float, rng: Seed
) -> OfflineChoice:
    """Return the oracle's answer to the means that it is `told`, and what it is worth on the `bounds`."""
    chosen = oracle.check_super_arm(oracle.solve(told, generator(None, rng, ())))
    certain = oracle.expected_reward(chosen, bounds) if oracle.is_monotone else math.nan
    return OfflineChoice(chosen, bounds, float(certain), float(delta))
