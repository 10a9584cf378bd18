"""Optimistic policies: CUCB and other upper confidence bounds of arms, and ESCB's bounds of super arms."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.bounds.kl import kl_lower, kl_upper
from cmab.bounds.radii import LogRadius, log_term
from cmab.compiled import Kernel, index_kernel, lean_kernel
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import LinearOracle, Oracle
from cmab.parameters import integer, interval, real
from cmab.policy import CompiledIndexPolicy, Policy, refuse_parts
from cmab.statistics import ArmStatistics
from cmab.validation import per_arm, shown

# CUCB and Greedy ----------------------------------------------------------------------------------------

#: The number of parameters in `reals` before those of a prior, which the lazy loop does not need.
PRIOR = 6


@lean_kernel
def squared_radius(t, reals):
    """Return the squared radius of an arm with one observation."""
    coefficient, loglog, factor = reals[0], reals[1], reals[2]
    # By Hoeffding's inequality the radius is proportional to the length of the support (in `factor`).
    return float(log_term(t, coefficient, loglog) * (factor * factor))


@lean_kernel
def upper_bound(mean, count, term, high):
    """Return CUCB's index of an arm without a prior."""
    # Chen et al. (JMLR 2016), Algorithm 1, line 5: min(mean + sqrt(3 ln t / 2 T), 1); 1 if unobserved.
    # Division by a count of 0 gives inf or nan, as in numpy. A selection vectorises, a branch does not.
    bound = min(mean + math.sqrt(term / count), high)
    return bound if count > 0 else high


@lean_kernel
def write_bounds(counts, means, t, reals, out):
    """Write CUCB's indices in round `t`. With a factor of 0 they are the greedy indices."""
    sign, low, high, m = reals[3], reals[4], reals[5], counts.shape[0]
    weights, prior = reals[PRIOR : PRIOR + m], reals[PRIOR + m :]
    term = squared_radius(t, reals)
    # One simple loop for each case, so that the compiler vectorises it.
    if weights.shape[0] > 0:
        for i in range(m):
            # A prior is equivalent to `weights` earlier outcomes, in the mean and in the radius.
            count = counts[i] + weights[i]
            mean = (counts[i] * means[i] + weights[i] * prior[i]) / count
            radius = math.sqrt(term / count)
            bound = min(mean + radius, high) if sign > 0.0 else max(mean - radius, low)
            out[i] = bound if count > 0.0 else (high if sign > 0.0 else low)
    elif sign > 0.0:
        for i in range(m):
            out[i] = upper_bound(means[i], counts[i], term, high)
    else:
        for i in range(m):
            # For costs, the mirror image: max(mean - radius, low), and low if unobserved.
            bound = max(means[i] - math.sqrt(term / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low


@index_kernel
def optimistic_means(counts, means, deviations, memory, t, reals, rng, out):
    """Write CUCB's indices."""
    write_bounds(counts, means, t, reals, out)


@dataclass(frozen=True, eq=False)
class OptimisticPolicy(CompiledIndexPolicy):
    """Base of policies with the rule ``optimistic_means``. Their `parameters` call `optimistic_reals`."""

    def rule(self) -> Any:
        return optimistic_means

    def kernel(self) -> Kernel:
        """Return the compiled rule, lazy for rewards without a prior: only upper bounds are then compared."""
        kernel = super().kernel()
        is_plain = self.rule() is optimistic_means and len(kernel.reals) == PRIOR
        return kernel._replace(is_lazy=is_plain and self.oracle.sense == "max")


def optimistic_reals(
    oracle: Oracle,
    support: tuple[float, float],
    prior_mean: ArrayLike | None = None,
    prior_weight: ArrayLike = 0.0,
    radius: LogRadius | None = None,
    radius_factor: float = 0.0,
) -> FloatArray:
    """Return the parameters of ``optimistic_means``: six numbers, then the weights and means of a prior.

    If `radius_factor` is 0, there is no radius, and only unobserved arms have an optimistic index.
    """
    low, high = support
    weights = per_arm("prior_weight", prior_weight, oracle.n_arms, 0.0)
    if (prior_mean is None) != (not weights.any()):
        raise ValueError(
            "prior_mean and a positive prior_weight must be given together,"
            f" got prior_mean={shown(prior_mean)}, prior_weight={shown(prior_weight)}"
        )
    coefficient, loglog = (0.0, 0.0) if radius is None else (radius.coefficient, radius.loglog)
    numbers = [coefficient, loglog, radius_factor * (high - low), oracle._sign, low, high]
    if prior_mean is None:
        return np.array(numbers)
    return np.concatenate([numbers, weights, per_arm("prior_mean", prior_mean, len(weights), low, high)])


@dataclass(frozen=True, eq=False)
class CUCB(OptimisticPolicy):
    """Combinatorial upper confidence bounds. The defaults are exactly Algorithm 1 of Chen et al. (2016).

    Use this policy if a bound on the regret is required for any monotone rewards and fixed means.
    `AdaptiveCTS` and `CTS` have far less regret in practice.

    In round t the oracle receives ``min(mean + sqrt(3 ln t / 2T), 1)`` for each base arm, where T counts how
    often the arm was triggered. Unobserved arms get 1. There is no initialisation phase. For costs
    (``oracle.sense == "min"``) the index is the mirror image, ``max(mean - sqrt(3 ln t / 2T), 0)``, and 0 for
    unobserved arms.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    radius : LogRadius
        Numerator of the squared radius. `LogRadius.wide` and `LogRadius.tight` are alternatives.
    radius_factor : float
        Factor of the radius. Regret bounds require at least 1, but smaller values are common in practice.
    prior_mean : float or array_like of shape (n_arms,), optional
        Mean of the pseudo-outcomes with which every arm starts.
    prior_weight : float or array_like of shape (n_arms,)
        Number of the pseudo-outcomes. The default 0 is Algorithm 1. With a prior, the regret bounds do not
        hold.
    support : tuple of float
        Interval of the outcomes. Indices are clipped to it, and the radius is proportional to its length.

    Examples
    --------
    >>> from cmab import CUCB, Session, Feedback
    >>> from oracles import TopK
    >>> session = Session(CUCB(TopK(n_arms=4, k=2)), rng=0)
    >>> session.ask().super_arm
    array([0, 1])
    >>> session.tell(Feedback(arms=[0, 1], outcomes=[0.0, 1.0], reward=1.0))
    >>> session.state.means
    array([0., 1., 0., 0.])

    References
    ----------
    Chen et al. (JMLR 2016), Algorithm 1, Theorems 1 and 2.
    """

    radius: LogRadius = field(default_factory=LogRadius)
    _: KW_ONLY
    radius_factor: float = field(default=1.0, metadata=real(0.0))
    prior_mean: ArrayLike | None = None
    prior_weight: ArrayLike = 0.0
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def parameters(self) -> FloatArray:
        if not isinstance(self.radius, LogRadius):
            raise ValueError(f"radius must be a LogRadius, got {shown(self.radius)}")
        prior = self.prior_mean, self.prior_weight
        return optimistic_reals(self.oracle, self.support, *prior, self.radius, self.radius_factor)


# KL-CUCB ------------------------------------------------------------------------------------------------


@index_kernel
def entropy_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write KL-UCB's indices for outcomes rescaled to [0, 1]."""
    sign, low, high, loglog = reals[0], reals[1], reals[2], reals[3]
    length = high - low
    # Garivier and Cappé (2011), Algorithm 1, line 6.
    level = log_term(t, 1.0, loglog)
    for i in range(counts.shape[0]):
        share = min(max((means[i] - low) / length, 0.0), 1.0)
        if counts[i] == 0:
            bound = 1.0 if sign > 0.0 else 0.0
        elif sign > 0.0:
            bound = kl_upper(share, level / counts[i])
        else:
            bound = kl_lower(share, level / counts[i])
        out[i] = low + length * bound


@dataclass(frozen=True, eq=False)
class KLCUCB(CompiledIndexPolicy):
    """CUCB with KL-UCB's index: the largest q in [mean, 1] with ``T kl(mean, q) <= ln t + c ln ln t``.

    Use this policy if equal states must give equal answers and no prior is known. In the arena, only
    `BayesUCB` has less regret among the deterministic rules without tuned parameters.

    Here kl is the relative entropy of Bernoulli variables. The bound is valid for all outcomes in [0, 1].
    Unobserved arms get 1. For costs (``oracle.sense == "min"``) the rule is the mirror image: the smallest q
    in [0, mean], and 0 for unobserved arms. ``ln ln t`` is replaced by 0 in rounds 1 and 2. Outcomes and
    bounds are rescaled to `support`.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    loglog : float
        The constant c above: 3 in the analysis of KL-UCB, 0 in practice.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import KLCUCB, Feedback, Session
    >>> from oracles import TopK
    >>> session = Session(KLCUCB(TopK(n_arms=4, k=2)), rng=0)
    >>> session.ask().super_arm
    array([0, 1])
    >>> session.tell(Feedback(arms=[0, 1], outcomes=[0.0, 1.0], reward=1.0))
    >>> session.policy.indices(session.state, session.rng)
    array([0.5, 1. , 1. , 1. ])

    References
    ----------
    A. Garivier, O. Cappé: The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond, COLT 2011,
    Algorithm 1. R. Combes, M. S. Talebi, A. Proutiere, M. Lelarge: Combinatorial Bandits Revisited, NIPS 2015
    (there the bound is for the sum over a super arm, ESCB-1).
    """

    loglog: float = field(default=0.0, metadata=real(0.0))
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def rule(self) -> Any:
        return entropy_indices

    def parameters(self) -> FloatArray:
        return np.array([self.oracle._sign, *self.support, self.loglog])


# LLR ----------------------------------------------------------------------------------------------------


@index_kernel
def llr_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write LLR's indices."""
    size, sign, low, high = reals[0], reals[1], reals[2], reals[3]
    # Gai et al. (2012), Algorithm 1, line 11: mean + sqrt((L + 1) ln t / T).
    numerator = (size + 1.0) * math.log(t) * (high - low) ** 2
    if sign < 0.0:
        for i in range(counts.shape[0]):
            # Costs are an extension of ours: the mirror image of rewards. Indices are at least the least
            # cost, because an oracle may reject costs below it.
            bound = max(means[i] - math.sqrt(numerator / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low
        return
    # The paper plays every arm once first, and does not clip its index to the support.
    largest, smallest = 0.0, 0.0
    for i in range(counts.shape[0]):
        if counts[i] > 0:
            out[i] = means[i] + math.sqrt(numerator / counts[i])
            largest, smallest = max(largest, out[i]), min(smallest, out[i])
    # One unobserved arm outweighs any super arm without unobserved arms.
    unseen = (high - low) + size * (largest - smallest)
    for i in range(counts.shape[0]):
        if counts[i] == 0:
            out[i] = unseen


@dataclass(frozen=True, eq=False)
class LLR(CompiledIndexPolicy):
    """Learning with linear rewards: ``mean + sqrt((L + 1) ln t / T)`` for an arm observed T times by round t.

    Use this policy only to compare with its paper. `CUCB` has a smaller radius and less regret.

    Indices are not clipped, so the policy is for linear oracles only. The paper first plays every arm once,
    in any super arm that contains it. Here an unobserved arm gets a finite index that is larger than the
    value of any super arm without unobserved arms. As long as a super arm contains unobserved arms, an exact
    oracle therefore returns such a super arm. Arms that no super arm contains have no effect.

    For costs, the index is the mirror image, ``mean - sqrt(...)``. It is at least the lower end of `support`,
    because oracles for costs (shortest paths) may require non-negative costs. Non-negative costs cannot force
    an arm into the answer. An unobserved arm therefore gets the lower end, as in `CUCB`, and may stay
    unobserved.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms.
    max_super_arm_size : int, optional
        L, the size of the largest super arm. The default is ``oracle.max_size``.
    support : tuple of float
        Interval of the outcomes. The radius is proportional to its length.

    Examples
    --------
    >>> from cmab import Feedback, Session
    >>> from cmab import LLR
    >>> from oracles import TopK
    >>> session = Session(LLR(TopK(n_arms=4, k=2)), rng=0)
    >>> session.tell(Feedback(session.ask(), outcomes=[1.0, 1.0]))
    >>> session.ask().super_arm
    array([2, 3])

    References
    ----------
    Y. Gai, B. Krishnamachari, R. Jain: Combinatorial Network Optimization with Unknown Variables, IEEE/ACM
    Transactions on Networking 20 (2012), arXiv:1011.4748, Algorithm 1 (checked against a public
    transcription).
    """

    max_super_arm_size: int | None = field(default=None, metadata=integer(1, optional=True))
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def rule(self) -> Any:
        return llr_indices

    def parameters(self) -> FloatArray:
        if not self.oracle.is_linear:
            raise ValueError(f"oracle must be a LinearOracle, got {shown(self.oracle)}")
        size = self.oracle.max_size if self.max_super_arm_size is None else self.max_super_arm_size
        return np.array([size, self.oracle._sign, *self.support])


# ESCB ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ESCB(Policy[ArmStatistics]):
    """ESCB-2: optimism for the sum of independent arms, where squared errors add up.

    Use this policy, with ``loglog=0``, if rewards are sums of independent outcomes and choices must be
    deterministic. It is slower than `CUCB`, but has less regret on paths and matchings.

    In round t the policy plays the super arm with the largest sum of means plus ``sqrt(f(t) / 2 * sum of
    1 / T)``, where T counts the outcomes of an arm, ``f(t) = ln t + 4 L ln ln t``, and L is `max_size` of the
    oracle. In rounds 1 and 2 the second term of f is 0. For costs, the policy plays the super arm with the
    smallest difference. The regret is ``O(m log(L)^2 ln(T) / gap)`` for independent arms, smaller by a factor
    ``L / log(L)^2`` than the regret of policies that are optimistic for each arm. There is no proof for
    correlated arms.

    To find the best super arm is a hard problem, which is solved exactly for `BruteForce`. For other oracles,
    `LinearOracle.solve_root` calls the oracle about five times a round, and the answer may have a smaller
    index, of at least 4/5 of the best. There is no proof for it. On paths, matchings and spanning trees it
    has less regret than an exact search.

    Parameters
    ----------
    oracle : LinearOracle
        The family of super arms. It must have `solve_root` (`LinearOracle.solve_root`).
    loglog : float, optional
        Factor of ln ln t, at least 0. The default is 4 `max_size`. With 0 there is no proof, but much less
        exploration.
    support : tuple of float
        Interval of the outcomes. The width is proportional to its length.

    Examples
    --------
    >>> from cmab import ESCB, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.8]), oracle)
    >>> simulate(ESCB(oracle), environment, horizon=1000, rng=0).super_arms
    [array([1, 3])]

    References
    ----------
    R. Combes, M. S. Talebi, A. Proutiere, M. Lelarge: Combinatorial Bandits Revisited, NIPS 2015, section 4
    (f from memory; the code of Cuvelier et al., SIGMETRICS 2021, uses ``f(t) = ln t``).
    R. Degenne, V. Perchet: Combinatorial semi-bandit with known covariance, NIPS 2016, for the bound.
    """

    oracle: LinearOracle
    _: KW_ONLY
    loglog: float | None = field(default=None, metadata=real(0.0, optional=True))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def __post_init__(self) -> None:
        super().__post_init__()
        if not getattr(self.oracle, "_can_solve_root", False):
            raise ValueError(f"oracle must have solve_root for ESCB, got {self.oracle!r}")

    def widths(self, stats: ArmStatistics, t: int) -> FloatArray:
        """Return ``f(t) / 2T`` of each arm in round `t`, in units of the squared length of `support`."""
        low, high = self.support
        loglog = 4.0 * self.oracle.max_size if self.loglog is None else self.loglog
        # ln ln t is negative in rounds 1 and 2.
        level = math.log(t) + loglog * (math.log(math.log(t)) if t > 2 else 0.0)
        squares: FloatArray = (high - low) ** 2 * level / (2.0 * np.maximum(stats.counts, 1))
        return squares

    def initial_state(self, rng: np.random.Generator | None = None) -> ArmStatistics:
        return ArmStatistics.empty(self.oracle.n_arms)

    def select(
        self, state: ArmStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the available super arm with the best index, by `LinearOracle.solve_root`.

        While there are unobserved arms, it is a super arm with as many of them as possible.
        """
        refuse_parts(self, context, ("available",))
        available = None if context is None else context.available
        unseen, oracle = state.counts == 0, self.oracle
        if unseen.any():
            fresh = oracle._sign * unseen.astype(np.float64)
            chosen = (
                oracle.solve(fresh, rng) if available is None else oracle.solve_within(fresh, available, rng)
            )
            if unseen[chosen].any():
                return chosen
        t = state.rounds + 1
        # Arms that no super arm contains stay unobserved, and have width 0.
        squares = np.where(unseen, 0.0, self.widths(state, t))
        within = {} if available is None else {"available": available}
        return oracle.solve_root(state.means, squares, rng, **within)

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        state.update(feedback)
