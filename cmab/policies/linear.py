"""Means that are functions of features of the arms: C2UCB, CombLinTS and LogisticTS."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab import parameters as declared
from cmab import validation
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.bounds.radii import LogRadius
from cmab.feedback import Context, Feedback, Ticket
from cmab.linear import LinearStatistics, check_size, checked_features, checked_groups, expected
from cmab.oracle import Oracle
from cmab.parameters import interval, real
from cmab.policy import Policy, best_within, refuse_parts
from cmab.validation import arm_indices, frozen, per_arm

#: Squares of longer features, and their sums over all rounds, would overflow.
MAX_NORM = 1e100

_KNOWN = ("available", "features", "values", "costs")


@dataclass(frozen=True, eq=False, repr=False)
class LinearPolicy(Policy[LinearStatistics]):
    """Base of policies that compute an index of each arm from the features of the arm.

    Features are part of the `Context` of each round, or are fixed and passed here. A subclass defines
    `indices`.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    features : array_like, shape (n_arms, d), optional
        Features of the arms, used in all rounds with a context without features.
    dimension : int, optional
        The number d of features. It is required if `features` is omitted.
    groups : array_like of int, shape (n_arms,), optional
        The group of each arm, as integers from 0 without gaps. Each group has separate coefficients. By
        default all arms form one group. Pass ``range(n_arms)`` for separate coefficients of each arm.
    ridge : float
        Strength of the shrinkage of all coefficients towards 0 (see `LinearStatistics`).
    norm : float
        Largest Euclidean norm of the features of an arm, below 1e100. Longer features raise ``ValueError``,
        because widths and shrinkage depend on their scale.
    sigma : float, optional
        Sub-Gaussian scale of the outcomes. The default is half the length of `support`.
    support : tuple of float or None
        Interval to which indices are clipped, for oracles that require it. `simulate` rejects outcomes
        outside it. With None, outcomes may be any numbers.

    Raises
    ------
    ValueError
        If a parameter is out of its range; features have a wrong shape, are not finite or are too long; or
        the state would have more than 2^28 numbers.

    Notes
    -----
    A round takes O(d^3 + m d^2) operations for m arms with d features each, and O(d^2) numbers of memory.
    With one feature for each arm, 1,000 arms take 0.1 s per round on one core. Policies that are not linear
    take s steps of Newton's method, usually about five, with O(s (d + k) d^2) operations for k outcomes.
    """

    oracle: Oracle
    features: ArrayLike | None = None
    _: KW_ONLY
    dimension: int | None = None
    groups: ArrayLike | None = None
    ridge: float = field(default=1.0, metadata=real(0.0, inside=True))
    norm: float = field(default=1.0, metadata=real(0.0, MAX_NORM, inside=True))
    sigma: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    support: tuple[float, float] | None = field(default=(0.0, 1.0), metadata=interval(optional=True))
    _groups: IntArray | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        keep, n_arms = object.__setattr__, self.oracle.n_arms
        keep(self, "_groups", checked_groups(self.groups, n_arms))
        if self.dimension is not None:
            check_size(self.dimension, self._n_groups)
        if self.features is not None:
            own = np.array(
                checked_features("features", self.features, n_arms, self.dimension, float(self.norm))
            )
            own.setflags(write=False)
            keep(self, "features", own)
            keep(self, "dimension", check_size(own.shape[1], self._n_groups))
        if self.dimension is None:
            raise ValueError("dimension must be given if features are not, got None")
        if self.support is None and self.sigma is None:
            raise ValueError("sigma must be given if support is None, got None")

    @abstractmethod
    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return one index for each base arm, shape (n_arms,), before clipping to `support`."""

    @property
    def scale(self) -> float:
        """The sub-Gaussian scale of the outcomes that the policy uses."""
        if self.sigma is not None or self.support is None:
            return float(self.sigma or 0.0)
        return (self.support[1] - self.support[0]) / 2

    def initial_state(self, rng: np.random.Generator | None = None) -> LinearStatistics:
        return LinearStatistics.empty(*self._shape[::-1], ridge=self.ridge)

    def select(
        self, state: LinearStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the best available super arm for the indices, with the values and costs of the context."""
        refuse_parts(self, context, _KNOWN if self.oracle.is_linear else _KNOWN[:2])
        indices = self.indices(state, self._features_in(context), rng)
        if self.support is not None:
            np.clip(indices, *self.support, out=indices)
        return best_within(self.oracle, indices, context, rng)

    def update(
        self,
        state: LinearStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with one round of feedback.

        The features are those of the ticket's context, or those of the policy if the context has no features.
        """
        if feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None for {type(self).__name__}, which needs each outcome separately"
            )
        arms = arm_indices("feedback.arms", feedback.arms, self.oracle.n_arms)
        rows = self._features_in(None if ticket is None else ticket.context, arms)
        self._regress(state, rows, feedback.outcomes, None if self._groups is None else self._groups[arms])

    def _regress(
        self, state: LinearStatistics, rows: FloatArray, outcomes: FloatArray, group: IntArray | None
    ) -> None:
        """Update `state` with outcomes of arms with features `rows`. The default is least squares."""
        state.update(rows, outcomes, group)

    @property
    def _shape(self) -> tuple[int, int]:
        """The number of groups and the number of features."""
        assert self.dimension is not None  # set in __post_init__
        return self._n_groups, self.dimension

    @property
    def _n_groups(self) -> int:
        return 1 if self._groups is None else int(self._groups.max()) + 1

    def _features_in(self, context: Context | None, arms: IntArray | None = None) -> FloatArray:
        """Return the features of a round, from its context or from the policy; only of `arms` if given."""
        told = None if context is None else context.features
        source: Any = self.features if told is None else told
        if source is None:
            raise ValueError(f"context must have features for {type(self).__name__}, got none")
        n, d = self.oracle.n_arms, self.dimension
        if told is not None and told.shape != (n, d):
            raise ValueError(f"context.features must have shape ({n}, {d}), got {told.shape}")
        rows: FloatArray = source if arms is None else source[arms].astype(np.float64)
        # Features of the policy are already checked. A context knows the norm of its longest row. When a
        # journal is opened, it may have rows beyond `norm` of arms that were not observed.
        if told is not None and not context._longest <= self.norm:  # type: ignore
            checked_features("context.features", rows, len(rows), d, float(self.norm))
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class C2UCB(LinearPolicy):
    """C2UCB: optimism for means that are linear in the features of the arms, which may change each round.

    Use this policy if means are linear in features and choices must be deterministic. `CombLinTS` is the
    random alternative.

    In round t the oracle receives ``x . theta + alpha_t sqrt(x . V^-1 x)`` for each arm with features x,
    clipped to `support`. V and theta are the precision and the estimate of `LinearStatistics`, and ``alpha_t
    = sigma sqrt(d ln((1 + t K norm^2 / ridge) / delta)) + sqrt(ridge) bound``, where K is the largest number
    of outcomes of a round. With probability 1 - delta all indices are at least the means in all rounds. The
    regret is ``O(d sqrt(K T))`` up to logarithms, independent of the number of arms. With probabilistically
    triggered arms this is C2-UCB-T; its bound holds for rewards that satisfy the
    triggering-probability-modulated condition. For costs, the rule is the mirror image.

    With ``features=np.eye(n_arms)``, ``norm=1`` and ``radius=LogRadius()`` the policy is CUCB in which every
    arm starts with `ridge` outcomes of 0.

    Parameters
    ----------
    oracle, features, dimension, groups, ridge, norm, sigma, support
        As in `LinearPolicy`.
    radius : float, LogRadius or None
        A replacement for alpha_t: a number, as in the paper's experiments, or a `LogRadius`, the root of
        its numerator.
    bound : float
        Upper bound on the norm of the true coefficients.
    delta : float
        Probability that the confidence bounds fail, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import C2UCB, Context, Feedback, Session
    >>> from oracles import TopK
    >>> session = Session(C2UCB(TopK(3, k=1), dimension=2, radius=0.5), rng=0)
    >>> ticket = session.ask(Context(features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> session.tell(Feedback(ticket, [0.0]))
    >>> session.ask(Context(features=np.eye(3, 2))).super_arm
    array([1])

    References
    ----------
    L. Qin, S. Chen, X. Zhu: Contextual Combinatorial Bandit and its Application on Diversified Online
    Recommendation, SDM 2014, Algorithm 1 (the constant from memory; sigma and norm as in Y. Abbasi-Yadkori,
    D. Pal, C. Szepesvari: Improved Algorithms for Linear Stochastic Bandits, NIPS 2011, Theorem 2).
    X. Liu et al.: Contextual Combinatorial Bandits with Probabilistically Triggered Arms, ICML 2023, for
    triggered arms (abstract).
    """

    _: KW_ONLY
    radius: float | LogRadius | None = None
    bound: float = field(default=1.0, metadata=declared.real(0.0))
    delta: float = field(default=0.1, metadata=declared.real(0.0, 1.0, inside=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None and not isinstance(self.radius, LogRadius):
            validation.real("radius", self.radius, 0.0)

    def proven_radius(self, t: int) -> float:
        """Return alpha_t, the factor of the widths for which the theorem holds, in round `t` = 1, 2, ..."""
        d, oracle = self._shape[1], self.oracle
        seen = t * (oracle.max_size if oracle.is_linear else oracle.n_arms)
        # Qin et al. (2014), Theorem 4.1: sqrt(d ln((1 + t K / lambda) / delta)) + sqrt(lambda) S.
        inner = d * math.log((1.0 + seen * self.norm**2 / self.ridge) / self.delta)
        return self.scale * math.sqrt(inner) + math.sqrt(self.ridge) * self.bound

    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the optimistic means."""
        t, posterior = state.rounds + 1, state.posterior()
        if isinstance(self.radius, LogRadius):
            radius = math.sqrt(self.radius.log_term(t))
        else:
            radius = self.proven_radius(t) if self.radius is None else float(self.radius)
        widths = posterior.widths(features, self._groups)
        return posterior.means(features, self._groups) + self.oracle._sign * radius * widths


@dataclass(frozen=True, eq=False, repr=False)
class CombLinTS(LinearPolicy):
    """CombLinTS: Thompson sampling of the coefficients of linear means.

    Use this policy if means are linear in features and choices may be random. `C2UCB` is the deterministic
    alternative.

    In each round theta is drawn from ``N(V^-1 b, (deviation_factor sigma)^2 V^-1)``, and the oracle receives
    ``x . theta`` for each arm with features x, clipped to `support`. With a factor of 1, this is the
    posterior for Gaussian outcomes of scale sigma and the prior ``N(0, sigma^2 / ridge)`` of each
    coefficient. The Bayesian regret is then ``O(K d sqrt(T))`` up to logarithms, independent of the number of
    arms. One draw of d numbers determines all indices, so arms with similar features are optimistic together.

    With ``features=np.eye(n_arms)``, a tiny `ridge` and ``deviation_factor=math.sqrt(1.1)``, observed arms
    have the indices of `GaussianCTS` with independent draws and ``variance_factor=1.1``.

    Parameters
    ----------
    oracle, features, dimension, groups, ridge, norm, sigma, support
        As in `LinearPolicy`. For lambda and sigma of the paper, pass ``ridge = sigma^2 / lambda^2``.
    deviation_factor : float
        Factor of the standard deviation of the draws. With 1, they are draws from the posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import CombLinTS, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle, features = TopK(4, k=1), np.array([[0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [0.3, 0.3]])
    >>> environment = SemiBandit(BernoulliArms(features @ [0.2, 0.8]), oracle)
    >>> simulate(CombLinTS(oracle, features), environment, horizon=300, rng=0).super_arms
    [array([0])]

    References
    ----------
    Z. Wen, B. Kveton, A. Ashkan: Efficient Learning in Large-Scale Combinatorial Semi-Bandits, ICML 2015,
    Algorithm 1 and Theorem 1 (from memory).
    """

    _: KW_ONLY
    deviation_factor: float = field(default=1.0, metadata=real(0.0, inside=True))

    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return ``x . theta`` of each arm for a newly drawn theta."""
        posterior = state.posterior()
        # Wen et al. (2015), Algorithm 1: theta ~ N(mean, Sigma) with Sigma = sigma^2 V^-1.
        drawn = posterior.draw(self.deviation_factor * self.scale, rng)
        return posterior._replace(theta=drawn).means(features, self._groups)


@dataclass(frozen=True, eq=False, repr=False)
class LogisticTS(LinearPolicy):
    """Logistic Thompson sampling: coefficients are drawn from the Laplace approximation of their posterior.

    Use this policy if outcomes are 0 or 1 and features predict their log-odds, as for clicks.

    The policy is for outcomes 0 and 1 with means ``1 / (1 + exp(-x . theta))``. In each round theta is drawn
    from ``N(m, deviation_factor^2 V^-1)``, and the oracle receives the means of all arms under this theta. An
    update uses this Gaussian as the prior: m becomes the posterior mode, and V increases by
    ``p (1 - p) x x^T`` for each outcome, where p is its mean at the mode; the paper stores only its diagonal.
    An outcome y between 0 and 1 counts as y successes and 1 - y failures. Outcomes outside [0, 1] are
    clipped.

    If means are small, such as click rates, use a prior with small means. For example, with a column of ones,
    ``prior_mean=[0, ..., 0, -5]`` starts at 0.7 %. To learn which users like which arm, use features of the
    user, equal for all arms, and separate coefficients of each arm, ``groups=range(n_arms)``.

    Parameters
    ----------
    oracle, features, dimension, groups, ridge, norm
        As in `LinearPolicy`. `ridge` is the precision of the prior.
    prior_mean : float or array_like of shape (d,)
        Mean of the prior of the coefficients.
    deviation_factor : float
        Factor of the standard deviation of the draws. With 1, they are draws from the approximate posterior.
        Smaller values explore less.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import LogisticTS, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle, features = TopK(4, k=1), np.array([[0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [0.3, 0.3]])
    >>> environment = SemiBandit(BernoulliArms(1 / (1 + np.exp(features @ [3, -2]))), oracle)
    >>> simulate(LogisticTS(oracle, features, norm=2), environment, horizon=300, rng=0).super_arms
    [array([0])]

    References
    ----------
    O. Chapelle, L. Li: An Empirical Evaluation of Thompson Sampling, NIPS 2011, Algorithm 3 (checked against
    the code of W. Bendada, G. Salha, T. Bontempelli: Carousel Personalization in Music Streaming Apps with
    Contextual Bandits, RecSys 2020, which does not shrink the bias).
    """

    _: KW_ONLY
    prior_mean: ArrayLike = 0.0
    deviation_factor: float = field(default=1.0, metadata=real(0.0, inside=True))
    sigma: float | None = field(init=False, default=None, repr=False)
    support: tuple[float, float] | None = field(init=False, default=(0.0, 1.0), repr=False)
    _prior: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        centre = per_arm("prior_mean", self.prior_mean, self._shape[1], -1e100, 1e100)
        object.__setattr__(self, "_prior", frozen(centre))

    def initial_state(self, rng: np.random.Generator | None = None) -> LinearStatistics:
        state = super().initial_state(rng)
        state.moment[:] = float(self.ridge) * self._prior
        return state

    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the mean of each arm under newly drawn coefficients."""
        posterior = state.posterior()
        drawn = posterior.draw(float(self.deviation_factor), rng)
        return expected(posterior._replace(theta=drawn).means(features, self._groups))

    def _regress(
        self, state: LinearStatistics, rows: FloatArray, outcomes: FloatArray, group: IntArray | None
    ) -> None:
        """Update `state` with outcomes of arms with features `rows`."""
        told = np.clip(outcomes, 0.0, 1.0)
        state.update_logistic(rows, told, group)
