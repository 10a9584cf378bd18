"""When the feedback of a round arrives: at once, in batches, or some rounds later."""

from __future__ import annotations

import copy
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
        """Whether each round is learned from before the next, as compiled loops do."""
        return self.batch == 1 and (self.delay is None or self.delay == 0)

    def later(self, t: int, rng: np.random.Generator) -> int:
        """Return the delay of round `t`."""
        if callable(self.delay):
            return integer("what delay returns", self.delay(t, rng), 0)
        return self.delay or 0

    def due(self, last: int) -> int:
        """Return the end of the batch that has round `last`."""
        # Batches are rounds 1 to b, b + 1 to 2b, and so on: the next multiple of b.
        return -(-last // self.batch) * self.batch


AT_ONCE = Arrival()
_ASKED_AGAIN = 20


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
        # Of the first rounds: the number, the stream before it, and the delay.
        self._known: list[tuple[int, np.random.Generator, int]] = []

    def send(self, t: int, ticket: Ticket, feedback: Feedback) -> None:
        """Take the feedback of round `t`."""
        before = copy.deepcopy(self._rng) if t <= _ASKED_AGAIN else None
        later = self._arrival.later(t, self._rng)
        if before is not None:
            self._known.append((t, before, later))
        if t == _ASKED_AGAIN or not t & (t - 1):  # and in rounds 1, 2, 4, ..., which finds what moves slowly
            self._check()
        # Ordered by arrival, then by round; rounds differ, so tickets are never compared.
        heappush(self._waiting, (self._arrival.due(t + later), t, ticket, feedback))

    def _check(self) -> None:
        """Raise ``ValueError`` if the delays of the first rounds, asked for again, are other ones."""
        for t, before, later in self._known:
            if (other := self._arrival.later(t, copy.deepcopy(before))) != later:
                raise ValueError(
                    "delay must return the same for the same round and generator, for replications would"
                    f" depend on each other, but gave {later} for round {t} and {other} when asked again"
                )

    def arrived(self, t: int) -> Iterator[tuple[Ticket, Feedback]]:
        """Yield what is due by the end of round `t`, earlier rounds first among what is due together."""
        while self._waiting and self._waiting[0][0] <= t:
            yield heappop(self._waiting)[2:]
