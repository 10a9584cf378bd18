"""Ask and tell: a policy in the real world."""

from __future__ import annotations

import os
import secrets
import threading
import zlib
from copy import copy, deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic

import numpy as np

from cmab._ask_tell import (
    check_budgets,
    check_context,
    check_feedback,
    choose,
    in_form,
    interval_of,
    names_of,
    range_of_choices,
    support_of,
)
from cmab.arrays import FloatArray, IntArray
from cmab.context import Context
from cmab.exploration.certificates import certificate
from cmab.explorer import Explorer
from cmab.feedback import MOST_PULLS, Feedback
from cmab.policy import Policy, State, check_policy_instance
from cmab.results.certificate import Certificate
from cmab.saving import _state
from cmab.saving._generators import generator_from, generator_state, moved, position_of
from cmab.saving._learned import check_learned, is_learned
from cmab.saving._sessions import check_header, checked_entry, header_of, listed
from cmab.seeding import Seed, root
from cmab.spelling import names_arguments
from cmab.statistics import ArmStatistics
from cmab.ticket import Ticket
from cmab.validation import arm_indices, integer, shown


class Session(Generic[State]):
    """A running campaign: a policy, its state and its random stream.

    Ask for a super arm, play it, tell what was observed. Several tickets may be open at once and their
    feedback may come late and in any order; the policy's clock counts the rounds that were told.

    Threads may share a session: calls wait for each other. A call that raises has changed nothing.

    Parameters
    ----------
    policy : Policy or Explorer
        The learner.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Seed of the policy's own randomness.
    support : tuple of float, optional
        Interval that outcomes must lie in to be told; the policy's own if left out. Give a wider one, such as
        ``(-np.inf, np.inf)``, for outcomes without bounds that are sub-Gaussian with half the length of the
        policy's support as their scale and have their means in it: what confidence bounds need. Explorers'
        certificates need more, and take a narrower one only.

    Raises
    ------
    TypeError
        If `policy` is no policy, for instance its class.
    ValueError
        If `support` is no interval, or wider than an explorer's.

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

    @names_arguments
    def __init__(
        self, policy: Policy[State], rng: Seed = None, *, support: tuple[float, float] | None = None
    ) -> None:
        check_policy_instance(policy)
        self.policy = policy
        self.rng = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
        self.state = policy.initial_state(self.rng)
        self._set_support(support)
        # By this a ticket of another session, or of another copy, is told from one's own.
        self._id = secrets.token_hex(8)
        self._asked = 0
        self._open: dict[int, Ticket] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        with self._lock:
            return f"Session({self.policy!r}, asked={self._asked}, pending={len(self._open)})"

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles get a lock, a state and a generator of their own, all of one moment.
        with self._lock:
            own = {"_open": dict(self._open), "state": _state.copied(self.state), "rng": deepcopy(self.rng)}
            return {**self.__dict__, **own, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    @property
    def pending(self) -> tuple[int, ...]:
        """Numbers of the tickets whose feedback is still to come."""
        with self._lock:
            return tuple(self._open)

    @property
    def is_done(self) -> bool:
        """Whether an explorer's stopping rule holds, or budgets are spent; false for other policies."""
        with self._lock:
            return self.policy.is_done(self.state)

    @property
    def budgets_left(self) -> FloatArray:
        """What is left of each budget at least (`PrimalDualCUCB`); empty for policies without budgets."""
        with self._lock:
            left = getattr(self.policy, "budgets_left", None)
            return np.empty(0) if left is None else np.array(left(self.state), np.float64)

    @property
    def change_points(self) -> IntArray:
        """Rounds after which the policy began anew, as `GLRRestart` does when it finds a change."""
        with self._lock:
            # The state of any rule may keep them under this name.
            return np.array(getattr(self.state, "restarts", ()), np.int64)

    def recommend(self) -> IntArray:
        """Return the arms that the explorer would name now.

        Raises
        ------
        TypeError
            If the policy is no `Explorer`.
        """
        if not isinstance(self.policy, Explorer):
            raise TypeError(f"only an Explorer recommends arms, got {type(self.policy).__name__}")
        with self._lock:
            return self.policy.recommend(self.state)

    def certificate(self) -> Certificate:
        """Return what the explorer can say now: which arms, with what guarantee, and how close it is.

        Raises
        ------
        TypeError
            If the policy is no `Explorer`.
        """
        if not isinstance(self.policy, Explorer):
            raise TypeError(f"only an Explorer has a certificate, got {type(self.policy).__name__}")
        with self._lock:
            return certificate(self.policy, self.state)

    def ask(self, context: Context | None = None) -> Ticket:
        """Return a new ticket with the super arm to play.

        Parameters
        ----------
        context : Context, optional
            What is known of the round.

        Raises
        ------
        ValueError
            If the policy's oracle returns anything but distinct integers of its range, or what is not
            available, or the policy does not understand the context.
        TypeError
            If `context` is no `Context`.
        """
        if context is not None:
            check_context(context, self.policy)
        with self._lock:
            before = position_of(self.rng)
            try:
                super_arm, pulls = choose(self.policy, self.state, self.rng, context)
            except BaseException:
                self.rng = moved(self.rng, before)  # asked again, the answer is the same
                raise
            number = self._asked
            # The caller may write to his; what is told is compared with ours.
            ours = self._ticket(number, super_arm.copy(), pulls, context)
            self.policy.reserve(self.state, ours)
            self._open[number] = ours
            self._asked += 1
            return Ticket(number, super_arm, pulls, ours.session, context)

    def cancel(self, ticket: Ticket | int) -> None:
        """Take back a ticket that was not played, or whose feedback never comes; nothing is learned.

        Parameters
        ----------
        ticket : Ticket or int
            The ticket or its number.

        Raises
        ------
        ValueError
            If the ticket is of another session, was never handed out, or was told or cancelled already.
        """
        with self._lock:
            if ticket is None:
                raise ValueError("ticket must be a Ticket or its number, got None")
            del self._open[self._find(ticket).number]

    def tell(self, feedback: Feedback, ticket: Ticket | int | None = None) -> None:
        """Take in the feedback of a ticket.

        Parameters
        ----------
        feedback : Feedback
            What was observed: of a policy's ticket, base arms that its super arm can trigger; of an
            explorer's, all its arms with as many pulls as it asks for.
        ticket : Ticket or int, optional
            The ticket or its number; may be left out when exactly one is pending.

        Raises
        ------
        ValueError
            If the ticket is of another session, was never handed out, was told already, or is left out when
            it is needed; an arm is not one of the ticket; or an outcome lies outside `support`.
        TypeError
            If `feedback` is no `Feedback`.
        """
        if not isinstance(feedback, Feedback):
            raise TypeError(f"feedback must be a Feedback(arms, outcomes, reward), got {shown(feedback)}")
        with self._lock:
            told = self._find(ticket)
            check_feedback(feedback, told, self.policy, self.support)
            # All or nothing: a rule that fails in the middle must not leave half an update.
            before, drawn = _state.copied(self.state), position_of(self.rng)
            try:
                self.policy.update(self.state, feedback, told, self.rng)
            except BaseException:
                self.state, self.rng = before, moved(self.rng, drawn)
                raise
            del self._open[told.number]

    def with_policy(self, policy: Policy[Any]) -> Session[Any]:
        """Return a session that goes on with another policy: what was learned is matched by name.

        For arms, people and edges that are new or gone, and for another rule on the same counts. This session
        stays as it is. What was learned of arms that are gone is left out; a `Campaign` keeps it.

        Parameters
        ----------
        policy : Policy
            A policy whose state is plain `ArmStatistics`, as this one's. Arms are matched by `arm_labels` of
            its oracle: nodes and edges of a graph, what `Oracle.named` says, numbers otherwise.

        Raises
        ------
        TypeError
            If `policy` is no policy.
        ValueError
            If a state is another one; or a ticket is pending while arms change their numbers, by which its
            feedback is told.

        Examples
        --------
        >>> from cmab import CUCB, Feedback, Session
        >>> from oracles import TopK
        >>> session = Session(CUCB(TopK(2, k=1).named(["tea", "milk"])), rng=0)
        >>> session.tell(Feedback(session.ask(), [1.0]))
        >>> session = session.with_policy(CUCB(TopK(3, k=1).named(["milk", "juice", "tea"])))
        >>> session.state.counts
        array([0, 0, 1])
        """
        check_policy_instance(policy)
        with self._lock:
            other: Session[Any] = copy(self)
        for one in (self.policy, policy):
            start = one.initial_state()
            if isinstance(one, Explorer) or type(start) is not ArmStatistics or len(start.memory):
                raise ValueError(f"policy must have plain ArmStatistics to be matched by name, got {one!r}")
        names = [names_of(one.oracle) for one in (self.policy, policy)]
        if other._open and any(had != has[: len(had)] for had, has in zip(*names, strict=True)):
            raise ValueError(
                f"tickets must be told or cancelled before names change places, got {other.pending} pending"
            )
        (_, old), (_, new) = names
        if self.policy.oracle.is_undirected:
            new = in_form(new, old)
        other.state = other.state.relabelled(old, new)
        other.policy = policy
        other._set_support(other._declared)
        return other

    def _ticket(self, number: int, super_arm: IntArray, pulls: int, context: Context | None) -> Ticket:
        """Return a ticket that knows its session, and its super arm even if somebody writes to it."""
        # With a checksum of the super arm: copies of a session number their
        # tickets alike, but ask for others.
        name = f"{self._id}:{zlib.crc32(super_arm.tobytes()):08x}"
        return Ticket(number, super_arm, pulls, name, context)

    @property
    def _closed(self) -> int:
        """How many tickets were told or cancelled."""
        return self._asked - len(self._open)

    def _set_support(self, declared: Any) -> None:
        """Check outcomes by what was declared for the session, else by what the policy learns from."""
        self._declared = interval_of(declared)
        self.support = support_of(self.policy, self._declared)

    def _find(self, ticket: Ticket | int | None) -> Ticket:
        """Return the pending ticket that is meant."""
        if ticket is None:
            if len(self._open) != 1:
                raise ValueError(f"ticket must be given unless one is pending, got {len(self._open)} pending")
            return next(iter(self._open.values()))
        if isinstance(ticket, Ticket) and ticket.session.rpartition(":")[0] != self._id:
            raise ValueError(f"ticket must be one of this session, got number {ticket.number} of another one")
        number = integer("ticket", ticket.number if isinstance(ticket, Ticket) else ticket)
        if number not in self._open:
            pending = f"one of {shown(list(self._open))}" if self._open else "but none is"
            raise ValueError(f"ticket must be pending, {pending}, got {number}")
        found = self._open[number]
        if isinstance(ticket, Ticket) and ticket.session != found.session:
            raise ValueError(
                f"ticket must be one of this session, got number {number} of a copy of it, or of one loaded"
                " from the same file, which asked for another super arm"
            )
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write state, open tickets and random stream to `path`; `load` then plays the identical future.

        The file is a numpy archive without pickled objects, with a checksum, replaced in one step. It does
        not hold the policy itself, but what it takes to notice another one.

        Raises
        ------
        ValueError
            If the generator is none of numpy's, or the state holds what is no array, number or text.
        OSError
            If the file cannot be written; what was there before then stays.
        """
        with self._lock:
            said = {
                "session": self._id,
                "support": None if self._declared is None else list(self._declared),
                "asked": self._asked,
                "open": [listed(ticket) for ticket in self._open.values()],
                "rng": generator_state(self.rng),
                "is_learned": is_learned(self.state, self.support, self._closed),
            }
            _state.save(Path(path), header_of(self.policy, said), self.state)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], policy: Policy[State], *, accept_changes: bool = False
    ) -> Session[State]:
        """Return the session saved at `path`, going on with `policy` (the same one, made anew).

        Parameters
        ----------
        path : str or path-like
            What `save` wrote.
        policy : Policy or Explorer
            Its base arms must be those of the saved one, in the same order: a graph must be read in the same
            order of nodes and edges.
        accept_changes : bool
            Whether other parameters of policy and oracle are right: another scale, another k. Another order
            of the base arms is never accepted, nor parameters that a policy's own memory depends on.

        Raises
        ------
        ValueError
            If the file is damaged or of another format, or was saved with other base arms, another class of
            policy or other parameters; or a budget is less than what was spent of it.
        """
        check_policy_instance(policy)
        # Any seed: the generator is replaced by that of the file.
        session = cls(policy, rng=0)
        file = _state.read(Path(path))
        try:
            is_same = check_header(file.header, policy, accept_changes)
            session._restore(file.header)
        except (ValueError, OverflowError, TypeError, KeyError) as error:
            why = f"{type(error).__name__} {error}" if not isinstance(error, ValueError) else str(error)
            raise ValueError(f"{path} must hold a session of this policy: {why}") from None
        session.state = _state.fill(file, policy.initial_state())
        if is_same and not accept_changes and file.header.get("is_learned", False):
            try:
                check_learned(session.state, session.support, session._closed)
            except ValueError as error:
                raise ValueError(
                    f"{path} must hold a session of this policy: {error}. If that was right for the policy of"
                    " that time, Session.load(..., accept_changes=True) takes it as it stands"
                ) from None
        check_budgets(policy, session.state)
        return session

    def _restore(self, header: dict[str, Any]) -> None:
        """Take over what a file says beside the state, refused unless a session can be like this."""
        if not isinstance(header["session"], str) or not 0 < len(header["session"]) <= 64:
            raise ValueError(f"the session must have a name, got {shown(header['session'])}")
        self._id = header["session"]
        self._set_support(header["support"])
        self.rng = generator_from(header["rng"])
        self._asked = integer("the number of tickets asked for", header["asked"], 0, MOST_PULLS)
        last = -1
        for ticket in header["open"]:
            number, super_arm, pulls, parts, *gone = checked_entry(ticket, header["format"])
            last = integer("the number of an open ticket", number, last + 1, self._asked - 1)
            self._reopen(last, super_arm, pulls, None if parts is None else Context(**parts), *gone)

    def _reopen(
        self, number: int, super_arm: Any, pulls: Any, context: Context | None, gone: int = 0
    ) -> Ticket:
        """Take over an open ticket that a file tells of."""
        if type(pulls) is not int or pulls != 1:
            integer("pulls", pulls, 1, MOST_PULLS if isinstance(self.policy, Explorer) else 1)
        arms = arm_indices("the super arm of an open ticket", super_arm, range_of_choices(self.policy))
        if context is not None:
            check_context(context, self.policy)
        ticket = self._ticket(number, arms, pulls, context)
        if gone != 0:
            ticket = replace(ticket, gone=integer("entries that are gone", gone, 0))
        self._open[number] = ticket
        return ticket
