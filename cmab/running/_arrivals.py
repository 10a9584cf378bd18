"""When the feedback of a round arrives: at once, in batches, or some rounds later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from cmab.feedback import Feedback
from cmab.ticket import Ticket
from cmab.validation import integer, shown

Delay = int | Callable[[int, np.random.Generator], int] | None


@dataclass(frozen=True, eq=False)
class Arrival:
    """How long feedback takes: `delay` rounds, and then to the end of a batch of rounds.

    Raises
    ------
    ValueError
        If `batch` is no positive integer, or `delay` neither None, a nonnegative integer nor callable.
    """

    batch: int = 1
    delay: Delay = None

    def __post_init__(self) -> None:
        integer("batch", self.batch, 1)
        if self.delay is not None and not callable(self.delay):
            try:
                integer("delay", self.delay, 0)
            except ValueError:
                raise ValueError(
                    "delay must be None, a nonnegative integer, or a function of (t, rng) that returns one,"
                    f" got {shown(self.delay)}"
                ) from None

    @property
    def is_at_once(self) -> bool:
        """Whether each round is learned from before the next, as compiled loops do."""
        return self.batch == 1 and (self.delay is None or self.delay == 0)

    def due(self, t: int, rng: np.random.Generator) -> int:
        """Return the round after which the feedback of round `t` is told."""
        later = self.delay(t, rng) if callable(self.delay) else self.delay
        last = t if later is None else t + integer("what delay returns", later, 0)
        return -(-last // self.batch) * self.batch


AT_ONCE = Arrival()


class Mail:
    """Feedback on its way to the policy of one replication.

    Parameters
    ----------
    arrival : Arrival
        How long it takes.
    rng : numpy.random.Generator
        What random delays are drawn from: a stream of their own, so that they change no coins.
    """

    def __init__(self, arrival: Arrival, rng: np.random.Generator) -> None:
        self._arrival, self._rng = arrival, rng
        self._waiting: list[tuple[int, int, Ticket, Feedback]] = []

    def send(self, t: int, ticket: Ticket, feedback: Feedback) -> None:
        """Take the feedback of round `t`."""
        heappush(self._waiting, (self._arrival.due(t, self._rng), t, ticket, feedback))

    def arrived(self, t: int) -> Iterator[tuple[Ticket, Feedback]]:
        """Yield what is due by the end of round `t`, earlier rounds first among what is due together."""
        while self._waiting and self._waiting[0][0] <= t:
            yield heappop(self._waiting)[2:]
