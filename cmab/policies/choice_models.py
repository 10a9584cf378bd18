"""Multinomial logit choice of at most one of several items: MNL-UCB in epochs, and choices with features."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Feedback, Ticket
from cmab.linear import LinearStatistics, expected
from cmab.oracle import Oracle
from cmab.parameters import real
from cmab.policies.linear import LinearPolicy
from cmab.policies.switching import InPlay, InPlayStatistics
from cmab.validation import shown


def refuse_baskets(oracle: Oracle, outcomes: FloatArray) -> None:
    """Raise ``ValueError`` if a customer bought several items and the oracle declares `max_attraction`.

    Oracles without this attribute are not models of a choice, so each of their outcomes is a customer.
    """
    if np.count_nonzero(outcomes > 0.0) > 1 and hasattr(oracle, "max_attraction"):
        raise ValueError(
            "feedback.outcomes must have at most one item that was bought, because a customer of multinomial"
            f" logit buys one, got {shown(outcomes.tolist())}; report one of them, or use CUCB or CTS"
        )


# Epochs -------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class EpochStatistics(InPlayStatistics):
    """Arm statistics and the assortment of the current epoch.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        The assortment that is offered in this epoch.
    epochs : int
        Number of completed epochs, that is, of rounds without a purchase.
    """

    epochs: int = 0


@dataclass(frozen=True, eq=False)
class MNLUCB(InPlay[EpochStatistics]):
    """Optimism for multinomial logit choice in epochs, for `oracles.Assortment`.

    Use this policy for choices from an assortment if choices must be deterministic.

    An epoch offers one assortment until a customer buys nothing. In an epoch with item i, the item is bought
    ``v_i`` times in expectation. This number is geometric and independent of the other offered items. Let l
    be the number of completed epochs, T_i the number of those with the item, and v its mean number of
    purchases, and m the number of items. The oracle receives the attractions ``min(v + sqrt(48 v ln(sqrt(m) l
    + 1) / T_i) + 48 ln(sqrt(m) l + 1) / T_i, max_attraction)``, and `max_attraction` for items that were
    never offered. The regret in n rounds is ``O(sqrt(m n ln(m n)) + m ln(m n)^2)``. With the constant 48 of
    the theorem, the policy hardly learns in the first ten thousand rounds, so smaller constants are used in
    practice.

    `CUCB` with the same oracle learns from each customer. If an item of the assortment is unavailable in a
    context, the customer is offered the best available assortment instead, based on all purchases including
    those of the current epoch. For costs, which are not choices, the rule is the mirror image with epochs of
    one round.

    Parameters
    ----------
    oracle : Oracle
        The family of assortments. Its base arms are comparisons of an item with no purchase, with means
        ``v / (1 + v)``.
    log_factor : float
        The constant 48 above.
    max_attraction : float
        Largest v, at least 0. It must equal `max_attraction` of the oracle.

    Examples
    --------
    >>> from cmab import MNLUCB, simulate
    >>> from instances import MultinomialLogit
    >>> from oracles import Assortment
    >>> shop = Assortment([1.0, 1.0, 1.0, 1.0], k=2)
    >>> customers = MultinomialLogit([0.1, 0.7, 0.2, 0.9], shop)
    >>> run = simulate(MNLUCB(shop, log_factor=0.5), customers, 4000, rng=0)
    >>> run.states[0].super_arm
    array([1, 3])

    References
    ----------
    S. Agrawal, V. Avadhanula, V. Goyal, A. Zeevi: MNL-Bandit: A Dynamic Learning Approach to Assortment
    Selection, Operations Research 67 (2019), Algorithm 1. The constants were read in a public implementation.
    """

    oracle: Oracle
    _: KW_ONLY
    max_attraction: float = field(default=1.0, metadata=real(0.0, 1e6))
    log_factor: float = field(default=48.0, metadata=real(0.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        largest = self.max_attraction
        if getattr(self.oracle, "max_attraction", largest) != largest:
            raise ValueError(f"max_attraction must equal that of {self.oracle!r}, got {largest:g}")

    def attractions(self, state: EpochStatistics) -> FloatArray:
        """Return the bound on each item's attraction, shape (n_arms,). `state` is not changed."""
        # The completed epochs of an item are its outcomes without a purchase.
        over = np.rint(state.counts * (1.0 - state.means))
        term = self.log_factor * math.log(math.sqrt(state.n_arms) * state.epochs + 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Attractions are not negative, but outcomes that are not purchases may be.
            mean = np.maximum(state.counts * state.means / over, 0.0)
            # Agrawal et al. (2019), equation 6; for costs, the mirror image.
            bound = mean + self.oracle._sign * (np.sqrt(term * mean / over) + term / over)
        # Items without an epoch have the optimistic end: for costs, 0 if they were never offered.
        without = np.full(state.n_arms, self.max_attraction)
        if self.oracle.sense == "min":
            without[state.counts == 0] = 0.0
        return np.clip(np.where(over > 0.0, bound, without), 0.0, self.max_attraction)

    def initial_state(self, rng: np.random.Generator | None = None) -> EpochStatistics:
        return EpochStatistics.empty(self.oracle.n_arms)

    def update(
        self,
        state: EpochStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with one customer. If the customer bought nothing, begin an epoch."""
        refuse_baskets(self.oracle, feedback.outcomes)
        if feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None (one customer per round), got {shown(feedback.pulls)}"
            )
        if state.rounds == 0:
            state.super_arm = self._solve(state)
        state.update(feedback)
        if self.oracle.sense == "min" or not feedback.outcomes.any():
            state.epochs += 1
            state.super_arm = self._solve(state)

    def _means(self, state: EpochStatistics, rng: np.random.Generator) -> FloatArray:
        v = self.attractions(state)
        return v / (1.0 + v)

    def _generator(self, state: EpochStatistics) -> np.random.Generator:
        return np.random.default_rng([0, state.epochs])


# Utilities with features --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ContextualMNLUCB(LinearPolicy):
    """UCB-MNL: optimism for multinomial logit choice with utilities that are linear in features of the items.

    Use this policy for choices from an assortment if items have features.

    A customer buys item i with probability ``v_i / (1 + sum v)``, where ``v = exp(x . theta)`` and the sum is
    over the offered items. Observations of an item also inform about items with similar features. Each
    update uses the whole choice: the purchased item is compared with all other offered items. The posterior
    of theta is Gaussian, by a Laplace approximation after each customer, so the time of a round does not grow
    with the number of earlier rounds. If the oracle has a `max_attraction`, feedback with several purchases
    raises ``ValueError``. With other oracles, all positive outcomes of a round are parts of one choice, which
    is not a correct model of them.

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
    oracle : Oracle
        The family of assortments: an `oracles.Assortment` with a `max_attraction` of at least the largest v.
        Its base arms are comparisons of an item with no purchase, with means ``v / (1 + v)``.
    features, dimension, ridge, norm
        As in `LinearPolicy`. `ridge` is the precision of the prior, which has mean 0.
    radius_factor : float
        Factor of alpha_t, at least 0.

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
    groups: None = field(init=False, default=None, repr=False)
    sigma: float | None = field(init=False, default=None, repr=False)
    support: tuple[float, float] | None = field(init=False, default=(0.0, 1.0), repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle.n_choices != self.oracle.n_arms:
            raise ValueError(f"oracle must have its choices as base arms, got {shown(self.oracle)}")

    def utilities(self, state: LinearStatistics, features: FloatArray) -> FloatArray:
        """Return the bound on the utility of each item, shape (n_arms,)."""
        t, d, posterior = state.rounds + 1, self._shape[1], state.posterior()
        # Oh and Iyengar (2021): 1 / (2 kappa) sqrt(2 d ln(1 + t / d) + 2 ln t).
        alpha = float(self.radius_factor) * math.sqrt(2.0 * d * math.log1p(t / d) + 2.0 * math.log(t))
        return posterior.means(features) + self.oracle._sign * alpha * posterior.widths(features)

    def indices(self, state: LinearStatistics, features: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the mean of each comparison with no purchase, ``v / (1 + v)``."""
        return expected(self.utilities(state, features))

    def update(
        self,
        state: LinearStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with the choice of the customer of a ticket.

        Without a ticket, the offered items are unknown. A purchase is then compared only with no purchase.
        """
        refuse_baskets(self.oracle, feedback.outcomes)
        # Sums over several customers are not completed, because `LinearPolicy.update` rejects them.
        if ticket is not None and feedback.pulls is None and (feedback.outcomes > 0.0).any():
            rest = np.setdiff1d(ticket.super_arm, feedback.arms)  # the items that were not bought
            arms = np.concatenate([feedback.arms, rest])
            outcomes = np.concatenate([feedback.outcomes, np.zeros(len(rest))])
            feedback = Feedback.unchecked(arms, outcomes, feedback.reward)
        super().update(state, feedback, ticket, rng)

    def _regress(
        self,
        state: LinearStatistics,
        rows: FloatArray,
        outcomes: FloatArray,
        group: IntArray | None,
    ) -> None:
        state.update_choice(rows, np.clip(outcomes, 0.0, 1.0))
