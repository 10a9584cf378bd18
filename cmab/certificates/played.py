"""The record of the played rounds that a certificate of regret needs besides the statistics of the arms."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

from cmab.feedback import Feedback, Ticket
from cmab.validation import shown

if TYPE_CHECKING:
    from cmab.policy import AnyPolicy


@dataclass
class Played:
    """The record of the reported rounds that the statistics of the arms lack.

    Attributes
    ----------
    told : int
        The number of rounds with a known reward.
    total : float
        The sum of these rewards.
    spread : float
        The sum of squared differences between each reward, but the first, and the mean of those before.
    low, high : float
        The least and the largest reward.
    unreported : int or None
        The number of arms that were played without a report of their outcome; None if it is unknown.
    valued : int
        The number of rounds for which the regret is not bounded: rounds with values, costs or features in the
        context, and for sums of means, rounds with several outcomes of an arm.
    widest : int
        The largest number of outcomes in a round. It may exceed the largest super arm of the present oracle,
        because an earlier policy may have played larger ones.
    """

    told: int = 0
    total: float = 0.0
    spread: float | None = 0.0
    low: float = math.inf
    high: float = -math.inf
    unreported: int | None = 0
    valued: int = 0
    widest: int = 0

    def note(self, reward: float) -> None:
        """Add the reward of a round; ``nan`` means that it is unknown."""
        if reward != reward:
            return
        if self.told and self.spread is not None:
            # A product of huge floats is infinite, whereas a power raises an error.
            apart = reward - self.total / self.told
            self.spread += apart * apart
        self.told += 1
        self.total += reward
        self.low, self.high = min(self.low, reward), max(self.high, reward)

    def without(self, outcomes: int) -> Played:
        """Return the record after the statistics of removed arms with so many outcomes were dropped."""
        known = self.unreported
        return replace(self, unreported=None if known is None else known + outcomes)

    def listed(self) -> list[float | None]:
        """Return the entries of the record in a file."""
        return [None if entry is not None and not math.isfinite(entry) else entry for entry in astuple(self)]

    @classmethod
    def of(cls, entries: Any) -> Played:
        """Return the record with these entries of a file; None for a file of an earlier version.

        Raises
        ------
        ValueError
            If the entries are not those of `listed`.
        """
        if entries is None:
            return cls(unreported=None)
        # Files of the first versions of the record have no `widest`.
        plain = isinstance(entries, list) and len(entries) in (7, 8)
        if not plain or any(not (entry is None or type(entry) in (int, float)) for entry in entries):
            raise ValueError(f"the record of rewards must be a list of 7 or 8 numbers, got {shown(entries)}")
        told, total, spread, low, high, unreported, valued, widest = [*entries, 0][:8]
        low, high = math.inf if low is None else low, -math.inf if high is None else high
        # The sums of huge rewards are not finite.
        total, spread = math.nan if total is None else total, math.inf if spread is None else spread
        is_count = all(type(number) is int and number >= 0 for number in (told, valued, widest))
        if not is_count or (low <= high) != (told > 0):
            raise ValueError(f"the record of rewards must fit the number of rewards, got {shown(entries)}")
        return cls(told, total, spread, low, high, unreported, valued, widest)


def note_round(played: Played, policy: AnyPolicy, ticket: Ticket, feedback: Feedback) -> None:
    """Add a reported round to the record.

    For sums of means, the arms of the super arm without an outcome are counted. Other rewards can depend on
    arms that are not triggered.
    """
    played.note(feedback.reward)
    oracle = getattr(policy, "oracle", None)
    if played.unreported is not None and getattr(oracle, "is_linear", False):
        played.unreported += len(ticket.super_arm) + ticket.gone - len(feedback.arms)
    played.widest = max(played.widest, len(feedback.arms))
    context = ticket.context
    has_values = context is not None and any(part != "available" for part in context.parts)
    has_repeats = feedback.pulls is not None and bool((feedback.pulls > 1).any())
    if has_values or (has_repeats and getattr(oracle, "is_linear", False)):
        played.valued += 1
