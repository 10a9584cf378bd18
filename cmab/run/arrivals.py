"""The arrival of feedback: immediately, in batches, or with a delay."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from cmab.feedback import Feedback, Ticket
from cmab.validation import integer, shown

Delay = int | Callable[[int, np.random.Generator], int] | None


@dataclass(frozen=True, eq=False)
class Arrival:
    """The arrival of feedback: `delay` rounds later, and then at the end of a batch of `batch` rounds.

    Raises
    ------
    ValueError
        If `batch` is not a positive integer, or `delay` is not None, a nonnegative integer or a callable.
    """

    batch: int = 1
    delay: Delay = None

    def __post_init__(self) -> None:
        # Integers of NumPy would overflow.
        object.__setattr__(self, "batch", integer("batch", self.batch, 1))
        if self.delay is not None and not callable(self.delay):
            try:
                object.__setattr__(self, "delay", integer("delay", self.delay, 0))
            except ValueError:
                raise ValueError(
                    "delay must be None, a nonnegative integer, or a function of (t, rng) that returns one,"
                    f" got {shown(self.delay)}"
                ) from None

    @property
    def is_at_once(self) -> bool:
        """Whether the feedback of each round arrives before the next round, as compiled loops require."""
        return self.batch == 1 and (self.delay is None or self.delay == 0)

    def due(self, t: int, rng: np.random.Generator) -> int:
        """Return the round at the end of which the feedback of round `t` arrives."""
        later = self.delay or 0
        if callable(later):
            later = integer("the return value of delay", later(t, rng), 0)
        # Batches are rounds 1 to b, b + 1 to 2b, ..., so the result is the next multiple of b.
        return -(-(t + later) // self.batch) * self.batch


AT_ONCE = Arrival()


class Mail:
    """Feedback of one replication that has not arrived at the policy.

    Parameters
    ----------
    arrival : Arrival
        The delay and the batches.
    rng : numpy.random.Generator
        The stream of random delays. It is separate, so that delays do not change the outcomes.
    """

    def __init__(self, arrival: Arrival, rng: np.random.Generator) -> None:
        self._arrival, self._rng = arrival, rng
        self._waiting: list[tuple[int, int, Ticket, Feedback]] = []

    def send(self, t: int, ticket: Ticket, feedback: Feedback) -> None:
        """Add the feedback of round `t`."""
        # Ordered by arrival and then by round. Rounds are distinct, so tickets are never compared.
        heappush(self._waiting, (self._arrival.due(t, self._rng), t, ticket, feedback))

    def arrived(self, t: int) -> Iterator[tuple[Ticket, Feedback]]:
        """Yield tickets and feedback that arrive by the end of round `t`, sorted by arrival and by round."""
        while self._waiting and self._waiting[0][0] <= t:
            yield heappop(self._waiting)[2:]
