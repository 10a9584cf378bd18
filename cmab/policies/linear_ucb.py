"""Optimism for means that are linear in features of the arms: C2UCB."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab import declared
from cmab.arrays import FloatArray
from cmab.confidence.radii import LogRadius
from cmab.linear.statistics import LinearStatistics
from cmab.policies.linear import LinearPolicy
from cmab.validation import real


@dataclass(frozen=True, eq=False, repr=False)
class LinearUCB(LinearPolicy):
    """Optimism for linear means: ``x . theta + r sqrt(x . V^-1 x)``, with minus for costs.

    Parameters
    ----------
    oracle, features, dimension, groups, ridge, norm, sigma, support
        As in `LinearPolicy`.
    radius : float, LogRadius or None
        The factor r: a number, as in most experiments; or a `LogRadius`, the root of its numerator; or
        None, the factor of the class's theorem.
    bound : float
        Upper bound on the norm of the true coefficients, used by the factor of the theorem.

    Examples
    --------
    >>> from cmab import C2UCB
    >>> from cmab.policies.linear_ucb import LinearUCB
    >>> issubclass(C2UCB, LinearUCB)
    True
    """

    _: KW_ONLY
    radius: float | LogRadius | None = None
    bound: float = field(default=1.0, metadata=declared.real(0.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None and not isinstance(self.radius, LogRadius):
            real("radius", self.radius, 0.0)

    @abstractmethod
    def proven_radius(self, t: int) -> float:
        """Return the factor r of the theorem in round `t` = 1, 2, ..."""

    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        """Return the optimistic means."""
        t, posterior = state.rounds + 1, state.posterior()
        if self.radius is None:
            radius = self.proven_radius(t)
        else:
            is_log = isinstance(self.radius, LogRadius)
            radius = math.sqrt(self.radius.log_term(t)) if is_log else float(self.radius)  # type: ignore
        widths = posterior.widths(features, self._groups)
        return posterior.means(features, self._groups) + self.oracle.sign * radius * widths

    @property
    def _pull(self) -> float:
        # The largest effect of the ridge: sqrt(ridge) |theta|.
        return math.sqrt(self.ridge) * self.bound


@dataclass(frozen=True, eq=False, repr=False)
class C2UCB(LinearUCB):
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

    Raises
    ------
    ValueError
        If a parameter is out of its range, or features are of a wrong shape, not finite or too long.

    Notes
    -----
    A round takes O(d^3 + m d^2) operations for m arms with d features each, and O(d^2) numbers of memory.
    With one feature for each arm, 1,000 arms take 0.1 s per round on one core.

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
    delta: float = field(default=0.1, metadata=declared.real(0.0, 1.0, inside=True))

    def proven_radius(self, t: int) -> float:
        """Return alpha_t."""
        d, seen = self._shape[1], t * self.most_seen
        # Qin et al. (2014), Theorem 4.1: sqrt(d ln((1 + t K / lambda) / delta)) + sqrt(lambda) S.
        inner = d * math.log((1.0 + seen * self.norm**2 / self.ridge) / self.delta)
        return self.scale * math.sqrt(inner) + self._pull
