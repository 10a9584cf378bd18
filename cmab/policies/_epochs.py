"""Policies for multinomial logit choice: an assortment is offered until a customer buys nothing."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Self

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import real
from cmab.feedback import Feedback
from cmab.guards import Takes, unguarded
from cmab.oracle import Oracle
from cmab.policies._in_play import InPlay, InPlayStatistics
from cmab.policy import fits
from cmab.statistics import count
from cmab.validation import shown

#: The key is drawn once per run and is stored in files as a JSON number.
KEYS = 2**53


@dataclass(eq=False, repr=False)
class EpochStatistics(InPlayStatistics):
    """Arm statistics and the assortment of the current epoch.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        The assortment that is offered in this epoch.
    epochs : int
        Number of completed epochs, that is, of rounds without a purchase.
    key : int
        A random number for the whole run, drawn by `initial_state` if it receives a generator; otherwise 0.

    Examples
    --------
    >>> from cmab import MNLUCB, Feedback
    >>> from oracles import Assortment
    >>> policy = MNLUCB(Assortment([1.0, 2.0, 3.0], k=2))
    >>> state = policy.initial_state()
    >>> policy.update(state, Feedback([2], [1.0]))
    >>> policy.update(state, Feedback([1, 2], [0.0, 0.0]))
    >>> state.epochs
    1
    """

    epochs: int = 0
    key: int = 0

    def check(self, fresh: Self) -> None:
        super().check(fresh)
        count("epochs", self.epochs, self.rounds)
        count("key", self.key, KEYS - 1)


@dataclass(frozen=True, eq=False)
class Epochs(InPlay[EpochStatistics]):
    """A policy that offers one assortment during each epoch, based on estimates of the attractions.

    If an item of the assortment is unavailable, the policy offers the best available assortment instead. It
    is based on all purchases so far, including those of the current epoch.

    If the oracle has an attribute `max_attraction`, a customer buys at most one item, and feedback with
    several purchases raises ``ValueError``. For other oracles every positive outcome counts as a purchase,
    and no regret bound applies.
    """

    oracle: Oracle
    _: KW_ONLY
    max_attraction: float = field(default=1.0, metadata=real(0.0, 1e6))
    _takes: ClassVar[Takes] = {"attractions": (fits,)}

    def __post_init__(self) -> None:
        super().__post_init__()
        largest = self.max_attraction
        if getattr(self.oracle, "max_attraction", largest) != largest:
            raise ValueError(f"max_attraction must equal that of {self.oracle!r}, got {largest:g}")

    @abstractmethod
    def attractions(self, state: EpochStatistics) -> FloatArray:
        """Return the attraction of each item that the oracle uses in this epoch, shape (n_arms,)."""

    def initial_state(self) -> EpochStatistics:
        return EpochStatistics.empty(self.oracle.n_arms)

    def update(self, state: EpochStatistics, feedback: Feedback) -> None:
        """Update `state` with one customer. If the customer bought nothing, begin an epoch.

        Raises
        ------
        ValueError
            If the feedback has sums of several outcomes of an arm, or has several purchases although the
            customers of the oracle buy at most one item.
        """
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

    def _bounded(self, state: EpochStatistics, over: FloatArray, values: FloatArray) -> FloatArray:
        """Return `values` in the range of attractions; the optimistic end for items without an epoch."""
        without = np.full(state.n_arms, self.max_attraction)
        if self.oracle.sense == "min":  # for costs, 0 for items that were never offered
            without[state.counts == 0] = 0.0
        return np.clip(np.where(over > 0.0, values, without), 0.0, self.max_attraction)

    def _means(self, state: EpochStatistics, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        v = unguarded(self.attractions)(state)
        return v / (1.0 + v)

    def _generator(self, state: EpochStatistics) -> np.random.Generator:
        return np.random.default_rng([state.key, state.epochs])


def refuse_baskets(oracle: Oracle, outcomes: FloatArray) -> None:
    """Raise ``ValueError`` if a customer bought several items and the oracle declares `max_attraction`.

    Oracles without this attribute are not models of a choice, so each of their outcomes is a customer.
    """
    if np.count_nonzero(outcomes > 0.0) > 1 and hasattr(oracle, "max_attraction"):
        raise ValueError(
            "feedback.outcomes must have at most one item that was bought, because a customer of multinomial"
            f" logit buys one, got {shown(outcomes.tolist())}; report one of them, or use CUCB or CTS"
        )


def bought(state: EpochStatistics) -> tuple[FloatArray, FloatArray]:
    """Return the mean purchases of each item per epoch, and its number of completed epochs."""
    # The completed epochs of an item are its outcomes without a purchase.
    over = np.rint(state.counts * (1.0 - state.means))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Attractions are not negative, but outcomes that are not purchases may be.
        return np.maximum(state.counts * state.means / over, 0.0), over
