"""Tickets, which identify the rounds of a session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.context import Context


@dataclass(frozen=True, eq=False)
class Ticket:
    """The answer of `Session.ask`: play `super_arm`, then report the feedback under this `number`.

    Functions that take an array of the super arm also accept the ticket.

    Attributes
    ----------
    number : int
        The number of the call of `ask`, counted from 0.
    super_arm : IntArray, shape (size,)
        The super arm to play. From an `Explorer`: the base arms to sample.
    pulls : int
        The number of outcomes to observe of each arm; different from 1 only for explorers.
    session : str
        The session that issued the ticket. A session rejects tickets of other sessions, and tickets of a copy
        of itself that chose another super arm under the same number.
    context : Context or None
        The context of the round.
    gone : int
        The number of further entries of the super arm that no longer exist (`Campaign` only).

    Examples
    --------
    >>> from cmab import CUCB, Session
    >>> from oracles import TopK
    >>> ticket = Session(CUCB(TopK(n_arms=5, k=2)), rng=0).ask()
    >>> ticket.number, list(ticket)
    (0, [0, 1])
    """

    number: int
    super_arm: IntArray
    pulls: int = 1
    session: str = field(default="", repr=False)
    context: Context | None = field(default=None, repr=False)
    gone: int = field(default=0, repr=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.super_arm, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[int]:
        return (int(entry) for entry in self.super_arm)

    def __len__(self) -> int:
        return len(self.super_arm)
