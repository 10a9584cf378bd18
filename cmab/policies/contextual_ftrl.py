"""ContextualFTRL: best of both worlds for sets of k arms whose losses are linear in features of the round."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab import declared
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.context import Context
from cmab.feedback import Feedback
from cmab.guards import verb
from cmab.linear.features import checked_features
from cmab.oracle import LinearOracle, Oracle
from cmab.policy import Policy, refuse_parts
from cmab.statistics import count
from cmab.ticket import Ticket
from cmab.validation import arm_indices, check_vector, shown


@dataclass
class ContextualLosses:
    """Estimated coefficients of the cumulative losses, and the features of the last rounds.

    Attributes
    ----------
    coefficients : FloatArray, shape (n_arms, d)
        Sums of the estimated coefficients of the losses of each arm.
    recent : FloatArray, shape (past, n_arms, d)
        Features of the last rounds, as a ring.
    rounds : int
        Number of rounds with feedback.
    weight : float
        The factor of the entropy.
    entropy : float
        Sum over rounds of the entropy of the marginal probabilities.

    Examples
    --------
    >>> from cmab import ContextualFTRL
    >>> from oracles import TopK
    >>> ContextualFTRL(TopK(4, k=2), dimension=3).initial_state().coefficients.shape
    (4, 3)
    """

    coefficients: FloatArray
    recent: FloatArray
    rounds: int = 0
    weight: float = 1.0
    entropy: float = 0.0

    def check(self, fresh: ContextualLosses) -> None:
        """Raise ``ValueError`` if no feedback leads to this state."""
        count("rounds", self.rounds)
        for name in ("coefficients", "recent"):
            mine, other = getattr(self, name), getattr(fresh, name)
            if mine.shape != other.shape or not np.isfinite(mine).all():
                raise ValueError(f"{name} must be finite and have shape {other.shape}, got {shown(mine)}")
        check_vector("weight and entropy", np.array([self.weight, self.entropy]), 2, 0.0)


@dataclass(frozen=True, eq=False)
class ContextualFTRL(Policy[ContextualLosses]):
    """FTRL with Shannon entropy for losses that are linear in features, with coefficients that may change.

    Use this policy if features of the round matter and the coefficients may change. For fixed coefficients,
    `CombLinTS` and `C2UCB` are the usual choices. Without features, use `BarrierFTRL`.

    The policy estimates coefficients of the cumulative loss of each arm. In each round it draws a set of k
    arms, whose marginal probabilities minimise the estimated losses for the features of the round minus
    `weight` times the entropy. A share of the rounds explores uniformly. The coefficients of the loss of an
    observed arm with features x are estimated by ``S^-1 x loss``, where S is the mean of ``p x x^T`` over the
    last `past` rounds, p the probability of the arm under the present coefficients, and `ridge` is added to
    its diagonal. The weight grows with the entropy of the past rounds, so it grows slowly if the best arms
    are clear.

    The paper shows regret of order sqrt(T) for any coefficients, and of order ln T for fixed ones, up to
    logarithms. Its proof needs the distribution of the features, in place of which the policy uses the last
    rounds. Feedback should arrive before the next choice, because the estimates use the present coefficients.

    Parameters
    ----------
    oracle : LinearOracle
        A family of all sets of k arms, such as `TopK` (its `uniform_size` is k).
    features : array_like, shape (n_arms, d), optional
        Features of the arms, used in all rounds with a context without features.
    dimension : int, optional
        The number d of features. It is required if `features` is omitted.
    norm : float
        Largest Euclidean norm of the features of an arm, below 1e100.
    past : int
        Number of past rounds whose features estimate their distribution.
    exploration : float
        Share of uniform exploration, in [0, 1], multiplied by the ratio of the initial to the present weight.
    ridge : float
        Number added to the diagonal of S, relative to the square of `norm`.
    support : tuple of float
        Interval of the outcomes. It is mapped to losses between -1 and 1.

    Raises
    ------
    ValueError
        If a parameter is out of its range, the super arms are not all sets of k arms, or the features of a
        round are missing, not finite or too long.

    Notes
    -----
    A round takes O(past n_arms (d^2 + ln n_arms)) operations in NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import Context, ContextualFTRL, Feedback, Session
    >>> from oracles import TopK
    >>> session = Session(ContextualFTRL(TopK(3, k=1), dimension=2), rng=0)
    >>> ticket = session.ask(Context(features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> session.tell(Feedback(ticket, [0.0]), ticket)
    >>> int((session.state.coefficients != 0).any(axis=1).sum())
    1

    References
    ----------
    Efficient Best-of-Both-Worlds Algorithms for Contextual Combinatorial Semi-Bandits, ICLR 2026,
    arXiv:2508.18768 (abstract and introduction). The rule of the weight, the exploration and the estimate are
    reconstructed from memory of Y. Kuroki, A. Rumi, T. Tsuchiya, F. Vitale, N. Cesa-Bianchi:
    Best-of-Both-Worlds Algorithms for Linear Contextual Bandits, AISTATS 2024. The memory of features is
    ours.
    """

    oracle: Oracle
    features: ArrayLike | None = None
    _: KW_ONLY
    dimension: int | None = field(default=None, metadata=declared.integer(1, optional=True))
    norm: float = field(default=1.0, metadata=declared.real(0.0, 1e100, inside=True))
    past: int = field(default=64, metadata=declared.integer(1))
    exploration: float = field(default=0.5, metadata=declared.real(0.0, 1.0))
    ridge: float = field(default=0.001, metadata=declared.real(0.0, inside=True))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=declared.interval())

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.oracle, LinearOracle) or self.oracle.uniform_size is None:
            raise ValueError(
                f"oracle must have all sets of k arms for ContextualFTRL (uniform_size), got {self.oracle!r}"
            )
        if self.features is not None:
            n_arms, norm = self.oracle.n_arms, float(self.norm)
            own = np.array(checked_features("features", self.features, n_arms, self.dimension, norm))
            own.setflags(write=False)
            object.__setattr__(self, "features", own)
            object.__setattr__(self, "dimension", own.shape[1])
        if self.dimension is None:
            raise ValueError("dimension must be given if features are not, got None")

    @property
    def _k(self) -> int:
        return int(self.oracle.uniform_size)  # type: ignore[attr-defined]

    def initial_state(self) -> ContextualLosses:
        assert self.dimension is not None  # set in __post_init__
        shape = self.oracle.n_arms, self.dimension
        return ContextualLosses(np.zeros(shape), np.zeros((self.past, *shape)))

    def _check_state(self, state: ContextualLosses) -> None:
        if not isinstance(state, ContextualLosses):
            raise ValueError(f"state must be a ContextualLosses, got {shown(state)}")
        state.check(self.initial_state())

    def marginals(self, state: ContextualLosses, features: FloatArray) -> FloatArray:
        """Return the marginal probabilities of the arms for `features` of one or more rounds.

        Parameters
        ----------
        state : ContextualLosses
            The state.
        features : FloatArray, shape (..., n_arms, d)
            Features of the arms.

        Returns
        -------
        FloatArray, shape (..., n_arms)
            Probabilities with sum k.
        """
        losses = np.einsum("...id,id->...i", features, state.coefficients)
        sure = entropic_marginals(losses / state.weight, self._k)
        share = self.exploration / state.weight
        return (1.0 - share) * sure + share * self._k / self.oracle.n_arms

    @verb
    def select(
        self, state: ContextualLosses, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Draw a set of k arms with the marginal probabilities for the features of the context."""
        chances = self.marginals(state, self._features(context))
        # Systematic sampling in a random order: marks at unit distance in intervals of lengths `chances`.
        order = rng.permutation(len(chances))
        ends = np.cumsum(chances[order])
        ends[-1] = self._k
        passed = np.ceil(ends - rng.random())
        return np.sort(order[np.diff(passed, prepend=0.0) > 0.0])

    @verb
    def update(self, state: ContextualLosses, feedback: Feedback, ticket: Ticket | None = None) -> None:
        """Update `state` with the losses of the observed arms, for the features of the ticket's context."""
        features = self._features(None if ticket is None else ticket.context)
        arms = arm_indices("feedback.arms", feedback.arms, self.oracle.n_arms)
        check_vector("feedback.outcomes", feedback.outcomes, len(arms))
        low, high = self.support
        places = np.clip((feedback.outcomes - low) / (high - low), 0.0, 1.0)
        losses = self.oracle.sign * (1.0 - 2.0 * places)
        state.recent[state.rounds % self.past] = features
        state.rounds += 1
        recent = state.recent[: min(state.rounds, self.past)]
        chances = self.marginals(state, recent)
        ridge = self.ridge * self.norm**2 * np.eye(self.dimension)
        for arm, loss in zip(arms, losses, strict=True):
            rows = recent[:, arm]
            matrix = rows.T @ (chances[:, arm, None] * rows) / len(rows) + ridge
            state.coefficients[arm] += loss * np.linalg.solve(matrix, features[arm])
        present = self.marginals(state, features)
        state.entropy += float(-(present * np.log(np.maximum(present, 1e-300))).sum())
        # The rule of Kuroki et al. (2024) for their beta: it grows by 1 / sqrt(1 + entropy / ln n).
        most = self._k * math.log(max(2.0, self.oracle.n_arms / self._k))
        state.weight += 1.0 / math.sqrt(1.0 + state.entropy / most)

    def _features(self, context: Context | None) -> FloatArray:
        refuse_parts(self, context, ("features",))
        told = None if context is None else context.features
        if told is not None:
            n_arms, norm = self.oracle.n_arms, float(self.norm)
            return checked_features("context.features", told, n_arms, self.dimension, norm)
        if self.features is None:
            raise ValueError("context must have features for ContextualFTRL, got none")
        return np.asarray(self.features)


def entropic_marginals(losses: FloatArray, k: int) -> FloatArray:
    """Return the x in [0, 1] with sum k that minimise ``sum of losses x + x ln x``, for each row of losses.

    They are ``min(1, exp(c - losses))``. The constant c follows from the number of arms with x = 1, which are
    those with the smallest losses.

    Parameters
    ----------
    losses : FloatArray, shape (..., n_arms)
        Losses of the arms.
    k : int
        Sum of each row of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.policies.contextual_ftrl import entropic_marginals
    >>> entropic_marginals(np.array([0.0, 0.0, 50.0]), 1).round(2)
    array([0.5, 0.5, 0. ])
    """
    order = np.argsort(losses, axis=-1)
    ranked = np.take_along_axis(losses, order, axis=-1)
    n = ranked.shape[-1]
    # tails[j]: the logarithm of the sum of exp(-loss) over all arms but the j best.
    tails = np.logaddexp.accumulate(-ranked[..., ::-1], axis=-1)[..., ::-1][..., :k]
    # With j arms at 1, the others share k - j. The right j is the first for which arm j stays at most 1.
    constants = np.log(k - np.arange(k)) - tails
    fits = constants - ranked[..., :k] <= 1e-12
    j = np.where(fits.any(axis=-1), fits.argmax(axis=-1), k - 1)
    constant = np.take_along_axis(constants, j[..., None], axis=-1)
    ranked_shares = np.minimum(np.exp(constant - ranked), 1.0)
    ranked_shares = np.where(np.arange(n) < j[..., None], 1.0, ranked_shares)
    shares = np.empty_like(ranked_shares)
    np.put_along_axis(shares, order, ranked_shares, axis=-1)
    return shares
