"""What rules of multinomial logit choice share: an assortment stays until somebody buys nothing."""

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

#: Keys are drawn once a run, and kept in files as JSON's numbers.
KEYS = 2**53


@dataclass(eq=False, repr=False)
class EpochStatistics(InPlayStatistics):
    """Arm statistics, and the assortment of the epoch.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        As in `InPlayStatistics`: what is offered in this epoch.
    epochs : int
        Epochs that are over: rounds in which nothing was bought.
    key : int
        Drawn for the whole run by `start`; 0 in states of `initial_state`.

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
    """A rule that has an assortment of its own for each epoch, by what it takes the attractions to be.

    Where some of the assortment is not available, the best of what is, by all purchases so far, those of the
    epoch under way included, is offered instead.

    A customer of an oracle of choices, one with `max_attraction`, buys one item at most: feedback with
    several purchases is refused. On other oracles every positive outcome counts as a purchase, and no bound
    holds.
    """

    oracle: Oracle
    _: KW_ONLY
    max_attraction: float = field(default=1.0, metadata=real(0.0, 1e6))
    _takes: ClassVar[Takes] = {"attractions": (fits,)}

    def __post_init__(self) -> None:
        super().__post_init__()
        largest = self.max_attraction
        if getattr(self.oracle, "max_attraction", largest) != largest:
            raise ValueError(f"max_attraction must be that of {self.oracle!r}, got {largest:g}")

    @abstractmethod
    def attractions(self, state: EpochStatistics) -> FloatArray:
        """Return what the oracle is to take for each item's attraction in this epoch, shape (n_arms,)."""

    def initial_state(self) -> EpochStatistics:
        return EpochStatistics.empty(self.oracle.n_arms)

    def update(self, state: EpochStatistics, feedback: Feedback) -> None:
        """Take in one customer; after one who bought nothing an epoch begins, with another assortment.

        Raises
        ------
        ValueError
            If the feedback has sums of several outcomes of an arm, or several purchases where the oracle's
            choices are of one item.
        """
        refuse_baskets(self.oracle, feedback.outcomes)
        if feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None, one customer a round, got {shown(feedback.pulls)}"
            )
        if state.rounds == 0:
            state.super_arm = self._solve(state)
        state.update(feedback)
        if self.oracle.sense == "min" or not feedback.outcomes.any():
            state.epochs += 1
            state.super_arm = self._solve(state)

    def _bounded(self, state: EpochStatistics, over: FloatArray, values: FloatArray) -> FloatArray:
        """Return `values` within the range of attractions; the optimistic end for items without an epoch."""
        without = np.full(state.n_arms, self.max_attraction)
        if self.oracle.sense == "min":  # of costs the other end, if not all of an item's were paid
            without[state.counts == 0] = 0.0
        return np.clip(np.where(over > 0.0, values, without), 0.0, self.max_attraction)

    def _means(self, state: EpochStatistics, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        v = unguarded(self.attractions)(state)
        return v / (1.0 + v)

    def _generator(self, state: EpochStatistics) -> np.random.Generator:
        return np.random.default_rng([state.key, state.epochs])


def refuse_baskets(oracle: Oracle, outcomes: FloatArray) -> None:
    """Raise if a customer bought several items of an oracle of choices, which declares `max_attraction`.

    The rules also play families without choices, whose outcomes they take for customers of their own.
    """
    if np.count_nonzero(outcomes > 0.0) > 1 and hasattr(oracle, "max_attraction"):
        raise ValueError(
            "feedback.outcomes must have at most one item that was bought, because a customer of multinomial"
            f" logit buys one, got {shown(outcomes.tolist())}: report one of them, or learn with CUCB or CTS"
        )


def bought(state: EpochStatistics) -> tuple[FloatArray, FloatArray]:
    """Return the mean purchases of each item in an epoch, and how many epochs with it are over."""
    # Of an item's comparisons those that it lost are the ends of the epochs in which it was offered.
    over = np.rint(state.counts * (1.0 - state.means))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Outcomes that are no purchases may be negative, and attractions are not.
        return np.maximum(state.counts * state.means / over, 0.0), over
