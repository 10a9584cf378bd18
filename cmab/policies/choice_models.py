"""Multinomial logit choice of at most one of several items: MNL-UCB in epochs."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.feedback import Feedback, Ticket
from cmab.oracle import Oracle
from cmab.parameters import real
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
