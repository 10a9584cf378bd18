"""Optimism for a super arm as a whole: ESCB-2, with tolerance AESCB, and OLS-UCB."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.context import Context
from cmab.declared import interval, real
from cmab.feedback import Feedback
from cmab.guards import Takes, unguarded, verb
from cmab.oracle import LinearOracle
from cmab.policy import Policy, fits, refuse_parts
from cmab.renamed import Former, former_attribute, warn
from cmab.statistics import ArmStatistics
from cmab.validation import check_vector, real_array


@dataclass(frozen=True, eq=False)
class JointlyOptimistic(Policy[ArmStatistics]):
    """A policy that hands its oracle means and squared widths: it plays the best sum of means and root.

    While arms are left that were never seen, super arms with the most of them are played. Where a context
    says what is available, all that is among those. A subclass defines `widths`.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms, with `can_solve_root`.

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
        """Return the squared width of each arm in round `t`, all of which were seen."""

    def tolerance_in(self, t: int) -> float:  # noqa: ARG002
        """Return how much worse than the best the oracle's answer may be in round `t`."""
        return 0.0

    def initial_state(self) -> ArmStatistics:
        return ArmStatistics.empty(self.oracle.n_arms)

    @verb
    def select(
        self, state: ArmStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the oracle's answer to means and squared widths, among what is available.

        Raises
        ------
        ValueError
            If a context has another part than `available`, or leaves no super arm.
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
        # What no super arm has is never seen, and has no width.
        squares = np.where(unseen, 0.0, unguarded(self.widths)(state, t))
        return oracle.solve_root(state.means, squares, rng, tolerance=self.tolerance_in(t), **within)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        state.update(feedback)


@dataclass(frozen=True, eq=False)
class ESCB(JointlyOptimistic):
    """ESCB-2: optimism for the sum of independent arms, whose errors add up by their squares.

    In round t it plays the super arm with the largest sum of means and ``sqrt(f(t) / 2 * sum of 1 / T)``
    (for costs: the smallest difference), where T counts the outcomes of an arm and ``f(t) = ln t + 4 L ln ln
    t``, L being `max_size` of the oracle, at least 0. Regret ``O(m log(L)^2 ln(T) / gap)`` for independent
    arms, by a factor ``L / log(L)^2`` less than rules that are optimistic arm by arm. For correlated arms
    nothing is proven.

    Which super arm is the best is a hard problem. `LinearOracle.solve_root` solves it exactly on up to twenty
    arms, by dozens of calls of the oracle. On more arms its limit may end the search.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms, with `can_solve_root`.
    loglog : float, optional
        Factor on ln ln t, at least 0; 4 `max_size` if left out. With 0, without a proof, it explores much
        less.
    support : tuple of float
        Interval of the outcomes; the width scales with its length.
    tolerance : float or None
        How much the index of the super arm may be below the best in round 1, at least 0, in units of the
        length of the support; ``tolerance / t`` in round t. With a tolerance the rule is AESCB, as good as
        ESCB up to constants. It takes a few calls of the oracle a round on dozens of arms, where the exact
        search may need millions. None is the paper's ``m max(1, ln L)^2``, m being the number of arms.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the oracle has no `solve_root`.

    Notes
    -----
    A round solves at most `LinearOracle.root_limit` linear problems (1,000; for all sets of k arms, keeps as
    many thousand partial choices) by the oracle. If the limit ends the search, the round plays the best super
    arm found, and `RuntimeWarning` states by how much its index may be below the best; this adds at most as
    much to the regret of the round. Without the limit (``oracle.root_limit = None``) a round may take
    exponential time, above all when many arms have equal counts and means.

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
    (f from memory; the code of Cuvelier et al. calls this f the theoretical one, and plays ``f(t) = ln t``).
    R. Degenne, V. Perchet: Combinatorial semi-bandit with known covariance, NIPS 2016, for the bound.
    T. Cuvelier, R. Combes, E. Gourdin: Statistically Efficient, Polynomial-Time Algorithms for Combinatorial
    Semi-Bandits, SIGMETRICS 2021, and their code, for tolerances in proportion to 1 / t, so that what they
    add to the regret grows with ln T. They meet them by rounding means and a linear problem for each budget,
    which is polynomial on sets of k arms and on paths; on matchings and spanning trees those problems are
    only approximated. Here the tolerance ends the search of `LinearOracle.solve_root`, which meets it on
    every family, or reaches `LinearOracle.root_limit`.
    """

    _: KW_ONLY
    loglog: float | None = field(default=None, metadata=real(0.0, optional=True))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    tolerance: float | None = field(default=0.0, metadata=real(0.0, optional=True))

    epsilon = former_attribute("epsilon", "tolerance")

    def widths(self, stats: ArmStatistics, t: int) -> FloatArray:
        """Return ``f(t) / 2T``, for outcomes in [0, 1]."""
        low, high = self.support
        loglog = 4.0 * self.oracle.max_size if self.loglog is None else self.loglog
        squares: FloatArray = (high - low) ** 2 * _level(t, loglog) / (2.0 * np.maximum(stats.counts, 1))
        return squares

    def tolerance_in(self, t: int) -> float:
        """Return ``tolerance / t``, in units of the support."""
        # Cuvelier et al. (2021), by the authors' code: delta_t = d max(1, ln m)^2 / t, in their letters.
        default = self.oracle.n_arms * max(1.0, math.log(max(1, self.oracle.max_size))) ** 2
        first = default if self.tolerance is None else self.tolerance
        return first * (self.support[1] - self.support[0]) / t


@dataclass(frozen=True, eq=False, init=False)
class AESCB(ESCB, metaclass=Former):
    """The former name of `ESCB` with a tolerance."""

    tolerance: float | None = field(default=None, metadata=real(0.0, optional=True))

    def __init__(self, oracle: LinearOracle, *, epsilon: float | None = None, **parameters: Any) -> None:
        warn("AESCB", "ESCB with a tolerance, ESCB(oracle, tolerance=None)")
        super().__init__(oracle, tolerance=epsilon, **parameters)
        AESCB.become_present(self)

    def stands_for(self: ESCB) -> bool:
        """Return whether there is a tolerance."""
        return self.tolerance != 0.0


@dataclass(frozen=True, eq=False)
class OLSUCB(JointlyOptimistic):
    """OLS-UCB for uncorrelated arms of known scale: ``sqrt(2 f(t) (1 + ridge) * sum of sigma^2 / T)``.

    ``f(t) = ln t + (m + 2) ln ln t + (m / 2) ln(1 + e / ridge)``, m being the number of arms. Regret
    ``O(log(L)^2 * sum of sigma^2 ln(T) / gap)``, as ESCB's, for sub-Gaussian outcomes.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms, with `can_solve_root`.
    sigma : float or array_like of shape (n_arms,)
        Sub-Gaussian scale of each arm; 1/2 does for outcomes in [0, 1].
    ridge : float
        The lambda of the paper, positive.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the oracle has no `solve_root`.

    Notes
    -----
    A round solves at most `LinearOracle.root_limit` linear problems (1,000; for all sets of k arms, keeps as
    many thousand partial choices) by the oracle. If the limit ends the search, the round plays the best super
    arm found, and `RuntimeWarning` states by how much its index may be below the best; this adds at most as
    much to the regret of the round. Without the limit (``oracle.root_limit = None``) a round may take
    exponential time, above all when many arms have equal counts and means.

    Examples
    --------
    >>> from cmab import OLSUCB, simulate
    >>> from instances import GaussianArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=2)
    >>> environment = SemiBandit(GaussianArms([1.0, 5.0, 9.0], sigma=1.0), oracle)
    >>> policy = OLSUCB(oracle, sigma=[1.0, 1.0, 2.0])
    >>> simulate(policy, environment, horizon=1000, rng=0).super_arms
    [array([1, 2])]

    References
    ----------
    R. Degenne, V. Perchet: Combinatorial semi-bandit with known covariance, NIPS 2016, Algorithm 1, with a
    diagonal covariance: with pairs of correlated arms the width is no sum over arms. Constants by the code
    of T. Cuvelier, which has the diagonal only as well.
    """

    sigma: ArrayLike = 0.5
    _: KW_ONLY
    ridge: float = field(default=1.0, metadata=real(0.0, inside=True))

    tolerance = former_attribute("tolerance", "tolerance_in")

    def __post_init__(self) -> None:
        super().__post_init__()
        scales = real_array("sigma", self.sigma)
        check_vector("sigma", np.atleast_1d(scales), None if scales.ndim == 0 else self.oracle.n_arms, 0.0)

    def widths(self, stats: ArmStatistics, t: int) -> FloatArray:
        """Return the squared width of each arm."""
        m, ridge = self.oracle.n_arms, self.ridge
        level = _level(t, m + 2.0) + 0.5 * m * math.log1p(math.e / ridge)
        # D^-1 (ridge Gamma D + D Gamma) D^-1 = (1 + ridge) Gamma D^-1, D being the diagonal of the counts.
        scales = np.asarray(self.sigma, np.float64) ** 2
        squares: FloatArray = 2.0 * level * (1.0 + ridge) * scales / np.maximum(stats.counts, 1)
        return squares


def _level(t: int, loglog: float) -> float:
    """Return ``ln t + loglog ln ln t``, the second term 0 in rounds 1 and 2, where it is not positive."""
    return math.log(t) + loglog * (math.log(math.log(t)) if t > 2 else 0.0)
