"""Optimism for the super arm as a whole: ESCB-2, and AESCB (ESCB with a tolerance)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.context import Context
from cmab.declared import interval, real
from cmab.feedback import Feedback
from cmab.guards import Takes, unguarded, verb
from cmab.oracle import LinearOracle
from cmab.policy import Policy, fits, refuse_parts
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False)
class JointlyOptimistic(Policy[ArmStatistics]):
    """Base of policies that maximise the sum of the means plus the root of the sum of squared widths.

    While there are unobserved arms, the policy plays a super arm with as many of them as possible. If a
    context has `available`, only available super arms are considered. A subclass defines `widths`.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms. It must have `solve_root` (`can_solve_root`).

    Raises
    ------
    ValueError
        If the oracle has no `solve_root`.

    Examples
    --------
    >>> from cmab import ESCB
    >>> from cmab.policies.escb import JointlyOptimistic
    >>> issubclass(ESCB, JointlyOptimistic)
    True
    """

    oracle: LinearOracle
    _takes: ClassVar[Takes] = {"widths": (fits,)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not getattr(self.oracle, "can_solve_root", False):
            raise ValueError(
                f"oracle must have solve_root (can_solve_root) for {type(self).__name__}, got {self.oracle!r}"
            )

    @abstractmethod
    def widths(self, stats: ArmStatistics, t: int) -> FloatArray:
        """Return the squared width of each arm in round `t`. All arms have been observed."""

    def tolerance_in(self, t: int) -> float:  # noqa: ARG002
        """Return by how much the index of the answer may be below the best index in round `t`."""
        return 0.0

    def initial_state(self) -> ArmStatistics:
        return ArmStatistics.empty(self.oracle.n_arms)

    @verb
    def select(
        self, state: ArmStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the available super arm with the best index, by `LinearOracle.solve_root`.

        Raises
        ------
        ValueError
            If a context has parts other than `available`, or if no super arm is available.
        """
        refuse_parts(self, context, ("available",))
        available = None if context is None else context.available
        unseen, oracle = state.counts == 0, self.oracle
        within = {} if available is None else {"available": available}
        if unseen.any():
            fresh = oracle.sign * unseen.astype(np.float64)
            chosen = (
                oracle.solve(fresh, rng) if available is None else oracle.solve_within(fresh, available, rng)
            )
            if unseen[chosen].any():
                return chosen
        t = state.rounds + 1
        # Arms that no super arm contains stay unobserved, and have width 0.
        squares = np.where(unseen, 0.0, unguarded(self.widths)(state, t))
        return oracle.solve_root(state.means, squares, rng, tolerance=self.tolerance_in(t), **within)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        state.update(feedback)


@dataclass(frozen=True, eq=False)
class ESCB(JointlyOptimistic):
    """ESCB-2: optimism for the sum of independent arms, where squared errors add up.

    Use this policy, with ``loglog=0``, if rewards are sums of independent outcomes and choices must be
    deterministic. It is slower than `CUCB`, but has less regret on paths and matchings.

    In round t the policy plays the super arm with the largest sum of means plus ``sqrt(f(t) / 2 * sum of
    1 / T)``, where T counts the outcomes of an arm, ``f(t) = ln t + 4 L ln ln t``, and L is `max_size` of the
    oracle. In rounds 1 and 2 the second term of f is 0. For costs, the policy plays the super arm with the
    smallest difference. The regret is ``O(m log(L)^2 ln(T) / gap)`` for independent arms, smaller by a factor
    ``L / log(L)^2`` than the regret of policies that are optimistic for each arm. There is no proof for
    correlated arms.

    To find the best super arm is a hard problem. `LinearOracle.solve_root` solves it exactly for up to twenty
    arms, with dozens of calls of the oracle. With more arms its limit may end the search.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms. It must have `solve_root` (`can_solve_root`).
    loglog : float, optional
        Factor of ln ln t, at least 0. The default is 4 `max_size`. With 0 there is no proof, but much less
        exploration.
    support : tuple of float
        Interval of the outcomes. The width is proportional to its length.
    tolerance : float or None
        By how much the index of the super arm may be below the best index in round 1, at least 0, in units of
        the length of `support`. In round t it is ``tolerance / t``. With a tolerance the policy is AESCB,
        with a regret equal to that of ESCB up to constants. A round on dozens of arms then takes a few calls
        of the oracle, whereas the exact search may need millions. None means ``m max(1, ln L)^2``, the value
        of the paper, where m is the number of arms.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the oracle has no `solve_root`.

    Notes
    -----
    A round solves at most `LinearOracle.root_limit` linear problems with the oracle (default 1,000). For
    families of all sets of k arms, it keeps at most as many thousand partial choices. If the limit ends the
    search, the policy plays the best super arm found, and a `RuntimeWarning` states by how much its index may
    be below the best. The regret of the round increases by at most this amount. Without the limit
    (``oracle.root_limit = None``) a round may take exponential time, above all if many arms have equal counts
    and means.

    Examples
    --------
    >>> from cmab import ESCB, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8]), oracle)
    >>> simulate(ESCB(oracle), environment, horizon=1000, rng=0).super_arms
    [array([1, 3])]
    >>> ESCB(oracle, tolerance=None).tolerance_in(10)
    0.4

    References
    ----------
    R. Combes, M. S. Talebi, A. Proutiere, M. Lelarge: Combinatorial Bandits Revisited, NIPS 2015, section 4
    (f from memory; the code of Cuvelier et al. calls this f the theoretical one and uses ``f(t) = ln t``).
    R. Degenne, V. Perchet: Combinatorial semi-bandit with known covariance, NIPS 2016, for the bound.
    T. Cuvelier, R. Combes, E. Gourdin: Statistically Efficient, Polynomial-Time Algorithms for Combinatorial
    Semi-Bandits, SIGMETRICS 2021, and their code, for tolerances proportional to 1 / t, which add O(ln T) to
    the regret. They meet the tolerance by rounding the means and solving a linear problem for each budget.
    This is polynomial on sets of k arms and on paths; for matchings and spanning trees, these problems are
    only approximated. Here the tolerance ends the search of `LinearOracle.solve_root`, for every family,
    unless the search reaches `LinearOracle.root_limit` first.
    """

    _: KW_ONLY
    loglog: float | None = field(default=None, metadata=real(0.0, optional=True))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    tolerance: float | None = field(default=0.0, metadata=real(0.0, optional=True))

    def widths(self, stats: ArmStatistics, t: int) -> FloatArray:
        """Return ``f(t) / 2T``, in units of the squared length of `support`."""
        low, high = self.support
        loglog = 4.0 * self.oracle.max_size if self.loglog is None else self.loglog
        squares: FloatArray = (high - low) ** 2 * _level(t, loglog) / (2.0 * np.maximum(stats.counts, 1))
        return squares

    def tolerance_in(self, t: int) -> float:
        """Return ``tolerance / t`` times the length of `support`."""
        # Cuvelier et al. (2021), by the authors' code: delta_t = d max(1, ln m)^2 / t, in their notation.
        default = self.oracle.n_arms * max(1.0, math.log(max(1, self.oracle.max_size))) ** 2
        first = default if self.tolerance is None else self.tolerance
        return first * (self.support[1] - self.support[0]) / t


def _level(t: int, loglog: float) -> float:
    """Return ``ln t + loglog ln ln t``; in rounds 1 and 2, where ``ln ln t`` is negative, only ``ln t``."""
    return math.log(t) + loglog * (math.log(math.log(t)) if t > 2 else 0.0)
