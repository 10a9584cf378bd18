"""Tickets: what was asked for, and under which number its feedback is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.context import Context


@dataclass(frozen=True, eq=False)
class Ticket:
    """What `Session.ask` hands out: play `super_arm`, then tell the feedback under this `number`.

    It can stand wherever an array of its super arm is expected.

    Attributes
    ----------
    number : int
        Counts the calls of `ask`, from 0.
    super_arm : IntArray, shape (size,)
        What to play. From an `Explorer`: the base arms to sample.
    pulls : int
        How many outcomes of each are wanted (explorers; 1 otherwise).
    session : str
        Whose ticket it is: a session takes no ticket of another one, and none of a copy of itself that asked
        for another super arm under the same number.
    context : Context or None
        What was known of the round when it was asked for.
    gone : int
        How many entries it had besides when it was asked for, which are there no more (`Campaign`).

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
