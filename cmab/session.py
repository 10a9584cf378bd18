"""Ask and tell: a policy in the real world."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import numpy as np

from cmab import _state
from cmab._validation import arm_indices, check_outcomes, shown
from cmab.arrays import AnyArray, IntArray
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.policy import Policy, State
from cmab.seeding import Seed, root

_FORMAT = 1


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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.super_arm, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[int]:
        return (int(entry) for entry in self.super_arm)

    def __len__(self) -> int:
        return len(self.super_arm)


class Session(Generic[State]):
    """A running campaign: a policy, its state and its random stream.

    Ask for a super arm, play it, tell what was observed. Several tickets may be open at once and their
    feedback may come late and in any order; the policy's clock counts the rounds that were told.

    Parameters
    ----------
    policy : Policy or Explorer
        The learner.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Seed of the policy's own randomness.

    Examples
    --------
    >>> from cmab import CUCB, Feedback, Session
    >>> from oracles import TopK
    >>> session = Session(CUCB(TopK(n_arms=5, k=2)), rng=0)
    >>> first, second = session.ask(), session.ask()
    >>> session.tell(Feedback(arms=second, outcomes=[1.0, 0.0], reward=1.0), ticket=second)
    >>> session.pending
    (0,)
    """

    def __init__(self, policy: Policy[State], rng: Seed = None) -> None:
        self.policy = policy
        self.state = policy.initial_state()
        self.rng = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
        self._asked = 0
        self._open: dict[int, Ticket] = {}

    def __repr__(self) -> str:
        return f"Session({self.policy!r}, asked={self._asked}, pending={len(self._open)})"

    @property
    def pending(self) -> tuple[int, ...]:
        """Numbers of the tickets whose feedback is still to come."""
        return tuple(self._open)

    @property
    def is_done(self) -> bool:
        """Whether an explorer's stopping rule holds; always false for other policies."""
        return isinstance(self.policy, Explorer) and self.policy.is_done(self.state)

    def recommend(self) -> IntArray:
        """Return the arms that the explorer would name now.

        Raises
        ------
        TypeError
            If the policy is no `Explorer`.
        """
        if not isinstance(self.policy, Explorer):
            raise TypeError(f"only an Explorer recommends arms, got {type(self.policy).__name__}")
        return self.policy.recommend(self.state)

    def ask(self) -> Ticket:
        """Return a new ticket with the super arm to play.

        Raises
        ------
        ValueError
            If the policy's oracle returns anything but distinct integers of its range.
        """
        policy, source, pulls = self.policy, "super_arm", 1
        super_arm = policy.select(self.state, self.rng)
        if isinstance(policy, Explorer):
            n_choices, pulls = policy.n_arms, policy.pulls(self.state)
        else:
            n_choices = policy.oracle.n_choices
            source = f"the super arm of {type(policy.oracle).__name__}.solve"
        ticket = Ticket(self._asked, arm_indices(source, super_arm, n_choices), pulls)
        self._open[ticket.number] = ticket
        self._asked += 1
        return ticket

    def tell(self, feedback: Feedback, ticket: Ticket | int | None = None) -> None:
        """Take in the feedback of a ticket.

        Parameters
        ----------
        feedback : Feedback
            What was observed.
        ticket : Ticket or int, optional
            The ticket or its number; may be left out when exactly one is pending.

        Raises
        ------
        ValueError
            If the ticket was never handed out, was told already, or is left out when it is needed; or an
            outcome lies outside the support that an explorer is made for.
        """
        if ticket is None:
            if len(self._open) != 1:
                raise ValueError(f"ticket must be given unless one is pending, got {len(self._open)} pending")
            number = next(iter(self._open))
        else:
            number = ticket.number if isinstance(ticket, Ticket) else ticket
        if number not in self._open:
            raise ValueError(f"ticket must be pending, one of {shown(list(self._open))}, got {number}")
        if isinstance(self.policy, Explorer) and self.policy.support is not None:
            check_outcomes(feedback, self.policy.support)
        self.policy.update(self.state, feedback)
        del self._open[number]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write state, open tickets and random stream to `path`; `load` then plays the identical future.

        The file is a numpy archive without pickled objects, replaced in one step. It does not hold the
        policy itself.
        """
        header = {
            "format": _FORMAT,
            "policy": type(self.policy).__name__,
            "asked": self._asked,
            "open": [[t.number, t.super_arm.tolist(), t.pulls] for t in self._open.values()],
            "rng": self.rng.bit_generator.state,
        }
        _state.save(Path(path), header, self.state)

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: Policy[State]) -> Session[State]:
        """Return the session saved at `path`, going on with `policy` (the same one, made anew).

        Raises
        ------
        ValueError
            If the file was saved by another format, class of policy or number of arms.
        """
        session = cls(policy, rng=0)
        header, state = _state.load(Path(path), policy.initial_state())
        if header["format"] != _FORMAT or header["policy"] != type(policy).__name__:
            raise ValueError(
                f"{path} must hold format {_FORMAT} of policy {type(policy).__name__},"
                f" got format {header['format']} of policy {header['policy']}"
            )
        fresh = getattr(policy.initial_state(), "means", None)
        if fresh is not None and fresh.shape != state.means.shape:
            raise ValueError(f"{path} must hold {fresh.shape[0]} base arms, got {state.means.shape[0]}")
        session.state = state
        session._asked = header["asked"]
        for number, super_arm, pulls in header["open"]:
            session._open[number] = Ticket(number, np.array(super_arm, np.int64), pulls)
        bit_generator = getattr(np.random, header["rng"]["bit_generator"])()
        bit_generator.state = header["rng"]
        session.rng = np.random.Generator(bit_generator)
        return session
