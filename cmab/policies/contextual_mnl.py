"""Multinomial logit choice with utilities that are linear in features: UCB-MNL and TS-MNL."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.declared import real
from cmab.feedback import Feedback, check_arrays
from cmab.linear.logistic import expected
from cmab.linear.statistics import LinearStatistics
from cmab.policies._epochs import refuse_baskets
from cmab.policies.linear import LinearPolicy
from cmab.ticket import Ticket
from cmab.validation import shown


@dataclass(frozen=True, eq=False, repr=False)
class ContextualMNL(LinearPolicy):
    """Base of policies for multinomial logit choice with utilities ``x . theta``, linear in features x.

    A customer buys item i with probability ``v_i / (1 + sum v)``, where ``v = exp(x . theta)`` and the sum is
    over the offered items. Observations of an item also inform about items with similar features. Each
    update uses the whole choice: the purchased item is compared with all other offered items. The posterior
    of theta is Gaussian, by a Laplace approximation after each customer, so the time of a round does not grow
    with the number of earlier rounds.

    If the oracle has a `max_attraction`, feedback with several purchases raises ``ValueError``. With other
    oracles, all positive outcomes of a round are parts of one choice, which is not a correct model of them.

    Parameters
    ----------
    oracle : Oracle
        The family of assortments: an `oracles.Assortment` with a `max_attraction` of at least the largest v.
        Its base arms are comparisons of an item with no purchase, with means ``v / (1 + v)``.
    features, dimension, ridge, norm
        As in `LinearPolicy`. `ridge` is the precision of the prior, which has mean 0.

    Examples
    --------
    >>> from cmab import ContextualMNLUCB
    >>> from cmab.policies.contextual_mnl import ContextualMNL
    >>> issubclass(ContextualMNLUCB, ContextualMNL)
    True
    """

    groups: None = field(init=False, default=None, repr=False)
    sigma: float | None = field(init=False, default=None, repr=False)
    support: tuple[float, float] | None = field(init=False, default=(0.0, 1.0), repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle.n_choices != self.oracle.n_arms:
            raise ValueError(f"oracle must have its choices as base arms, got {shown(self.oracle)}")

    @abstractmethod
    def utilities(
        self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the utility of each item on which the choice is based, shape (n_arms,)."""

    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the mean of each comparison with no purchase, ``v / (1 + v)``."""
        return expected(self.utilities(state, features, rng))

    def update(self, state: LinearStatistics, feedback: Feedback, ticket: Ticket | None = None) -> None:
        """Update `state` with the choice of the customer of a ticket.

        Without a ticket, the offered items are unknown. A purchase is then compared only with no purchase.

        Raises
        ------
        ValueError
            If the feedback has several purchases although customers of the oracle buy at most one item.
        """
        whole = feedback if ticket is None else _with_the_rest(feedback, ticket.super_arm)
        refuse_baskets(self.oracle, whole.outcomes)
        super().update(state, whole, ticket)

    def _regress(
        self,
        state: LinearStatistics,
        rows: FloatArray,
        outcomes: FloatArray,
        group: IntArray | None,  # noqa: ARG002
    ) -> None:
        state.update_choice(rows, np.clip(outcomes, 0.0, 1.0))


def _with_the_rest(feedback: Feedback, offered: IntArray) -> Feedback:
    """Return feedback with the purchased item and, with outcome 0, the other offered items."""
    if not isinstance(feedback, Feedback):
        raise ValueError(f"feedback must be a Feedback(arms, outcomes), got {shown(feedback)}")
    check_arrays(feedback)
    rest = np.setdiff1d(offered, feedback.arms)
    # Sums over several customers are returned unchanged, because `update` rejects them.
    if feedback.pulls is not None or not len(rest) or not (feedback.outcomes > 0.0).any():
        return feedback
    arms = np.concatenate([feedback.arms, rest])
    outcomes = np.concatenate([feedback.outcomes, np.zeros(len(rest))])
    return Feedback.unchecked(arms, outcomes, feedback.reward)


@dataclass(frozen=True, eq=False, repr=False)
class ContextualMNLUCB(ContextualMNL):
    """UCB-MNL: optimism for multinomial logit choice with utilities that are linear in features of the items.

    Use this policy for choices from an assortment if items have features and choices must be deterministic.

    In round t the oracle receives the attractions ``v = exp(x . theta + alpha_t sqrt(x . V^-1 x))``, with
    ``alpha_t = radius_factor sqrt(2 d ln(1 + t / d) + 2 ln t)``. Theta is the posterior mode. V is the
    posterior precision: `ridge` plus the covariance of the features of the choice of each customer, where
    no purchase has features 0. For costs, the rule is the mirror image.

    The paper differs in two points. Its theta maximises the likelihood of all rounds, which takes more time
    per round. Its V is the sum of ``x x^T`` over all offered items, and its alpha_t is divided by ``2
    kappa``, where kappa is a lower bound on products of choice probabilities. Its regret in T rounds is ``O(d
    sqrt(T))`` up to logarithms, independent of the number of items. Here the covariance contains these
    products, and the proof does not cover this form. Experiments use a tenth of alpha_t,
    ``radius_factor=0.1``.

    Parameters
    ----------
    oracle, features, dimension, ridge, norm
        As in `ContextualMNL`.
    radius_factor : float
        Factor of alpha_t, at least 0.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or features are of a wrong shape, not finite or too long.

    Notes
    -----
    A round takes O(s d^3 + m d^2) operations for m arms with d features each and s steps of Newton's method,
    usually about five. The size of the super arm adds O(s k d^2). With one feature for each arm, 1,000 arms
    take 0.1 to 0.2 s per round on one core.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import ContextualMNLUCB, simulate
    >>> from instances import MultinomialLogit
    >>> from oracles import Assortment
    >>> shop = Assortment([1.0, 1.0, 1.0, 1.0], k=2)
    >>> features = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.3, 0.3]])
    >>> customers = MultinomialLogit(np.exp(features @ [-3.0, -0.5]), shop)
    >>> simulate(ContextualMNLUCB(shop, features, radius_factor=0.1), customers, 500, rng=0).super_arms
    [array([2, 3])]

    References
    ----------
    M. Oh, G. Iyengar: Multinomial Logit Contextual Bandits: Provable Optimality and Practicality, AAAI 2021,
    Algorithm 1 (abstract; alpha_t and V were read in a public implementation). J. Lee, M. Oh: Nearly Minimax
    Optimal Regret for Multinomial Logistic Bandit, NeurIPS 2024, for updates in constant time and for V as
    here (by a public implementation).
    """

    _: KW_ONLY
    radius_factor: float = field(default=1.0, metadata=real(0.0))

    def utilities(
        self,
        state: LinearStatistics,
        features: FloatArray,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> FloatArray:
        """Return the bound on the utility of each item, shape (n_arms,)."""
        t, d, posterior = state.rounds + 1, self._shape[1], state.posterior()
        # Oh and Iyengar (2021): 1 / (2 kappa) sqrt(2 d ln(1 + t / d) + 2 ln t).
        alpha = float(self.radius_factor) * math.sqrt(2.0 * d * math.log1p(t / d) + 2.0 * math.log(t))
        return posterior.means(features) + self.oracle.sign * alpha * posterior.widths(features)


@dataclass(frozen=True, eq=False, repr=False)
class ContextualMNLTS(ContextualMNL):
    """TS-MNL: Thompson sampling for multinomial logit choice with utilities that are linear in features.

    Use this policy for choices from an assortment if items have features and choices may be random.

    In each round theta is drawn from ``N(m, deviation_factor^2 V^-1)``, where m is the posterior mode and V
    the posterior precision as in `ContextualMNLUCB`. The oracle receives the attractions
    ``v = exp(x . theta)``. A factor of 1 samples from the posterior. The factor of the paper is alpha_t.

    Parameters
    ----------
    oracle, features, dimension, ridge, norm
        As in `ContextualMNL`.
    deviation_factor : float
        Factor of the standard deviation of the draws, positive.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or features are of a wrong shape, not finite or too long.

    Notes
    -----
    A round takes O(s d^3 + m d^2) operations for m arms with d features each and s steps of Newton's method,
    usually about five. The size of the super arm adds O(s k d^2). With one feature for each arm, 1,000 arms
    take 0.1 to 0.2 s per round on one core.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import ContextualMNLTS, Session
    >>> from oracles import Assortment
    >>> session = Session(ContextualMNLTS(Assortment([1.0, 2.0], k=1), np.eye(2)), rng=0)
    >>> session.ask().super_arm
    array([1])

    References
    ----------
    M. Oh, G. Iyengar: Thompson Sampling for Multinomial Logit Contextual Bandits, NeurIPS 2019, Algorithm 1
    (from memory, and by a public implementation). Its other algorithm, which takes the largest utility of
    several draws for each item, is not implemented.
    """

    _: KW_ONLY
    deviation_factor: float = field(default=1.0, metadata=real(0.0, inside=True))

    def utilities(
        self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the utility of each item under newly drawn coefficients, shape (n_arms,)."""
        posterior = state.posterior()
        return posterior._replace(theta=posterior.draw(float(self.deviation_factor), rng)).means(features)
