"""A campaign that speaks names, safe from crashes and shared by processes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Collection, Hashable, Mapping
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from cmab._ask_tell import StrangeArms, check_budgets, check_feedback, interval_of, support_of
from cmab.campaigns._admission import admit, beginning, changed, learner_of
from cmab.campaigns._records import Records
from cmab.campaigns._rows import last_to_undo, row_of
from cmab.campaigns._words import by_name, feedback_of, pending_ticket, restricted, told_ticket
from cmab.campaigns.request import Request
from cmab.campaigns.summary import Summary, draw, summary_of
from cmab.context import Context
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.policy import Policy
from cmab.saving._generators import position_of
from cmab.seeding import Seed, root
from cmab.session import Session
from cmab.spelling import names_arguments
from cmab.ticket import Ticket
from cmab.validation import check_flag, integer

Told = Feedback | Mapping[Any, Any] | Collection[tuple[Any, Any]]

_NONE = float("nan")


class Campaign:
    """A `Session` that speaks names and keeps a journal: nothing that was told is lost.

    Every event, an ask, a tell, a cancel, a correction, is a line of a file, on the disk before a call
    returns. Made anew on the same file, a campaign goes on where it was, after a crash too. Processes and
    threads may share it: each call waits for the others, and takes in what they have written.

    Parameters
    ----------
    learner : Policy, Explorer or Oracle
        The learner; for an oracle, Thompson sampling (`CTS`).
    path : str or path-like
        The journal, begun if there is no such file. A relative path is taken from the folder of now.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Seed of a new campaign; one that goes on has its own. A generator is not advanced.
    support : tuple of float, optional
        As in `Session`; one that goes on has its own.
    accept_changes : bool
        Whether another k or scale, people and edges that are new, and ones that are gone are right. What was
        learned is matched by name; a mere change of their order needs no word. Reports that the learner would
        refuse today, because its class has changed, are taken in as they stand in the file.

    Raises
    ------
    TypeError
        If `learner` is none.
    ValueError
        If two things have one name, or one is no text, number or tuple of these; or the file is damaged, no
        journal, impossible in a line, or one of another learner; or a budget is less than was spent of it.
    OSError
        If the file cannot be read and written, with its path and what to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import networkx as nx
    >>> from cmab import Campaign
    >>> from oracles import DegreeHeuristic
    >>> friends = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan"), ("cy", "dan")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.jsonl")
    ...     request = Campaign(DegreeHeuristic(friends, k=1), path, rng=0).ask()
    ...     again = Campaign(DegreeHeuristic(friends, k=1), path)
    ...     again.tell(ticket=0, joined=["ann", "bob"], carried=[("ann", "bob")])
    ...     again.pending, again.history()[-1]["outcomes"]
    ((), {('ann', 'bob'): 1.0, ('ann', 'cy'): 0.0, ('bob', 'dan'): 0.0})
    """

    @names_arguments
    def __init__(
        self,
        learner: Policy[Any] | Oracle,
        path: str | os.PathLike[str],
        *,
        rng: Seed = None,
        support: tuple[float, float] | None = None,
        accept_changes: bool = False,
    ) -> None:
        self.policy = learner_of(learner)
        check_flag("accept_changes", accept_changes)
        # What cannot be is refused before there is a file.
        generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
        support_of(self.policy, interval_of(support))
        self._records = Records(self.policy, path, is_same=not accept_changes)
        is_there = self._records.path.exists()
        first = None if is_there else beginning(self._records.fold, generator, support)
        with self._records.journal.held(create=True):
            fold = self._records.fold
            if events := self._records.journal.read():
                admit(fold, events, support, accept_changes)
                fold.extend(events)
                check_budgets(self.policy, fold.current.state)
            else:
                self._records.append(first or beginning(fold, generator, support))
            now = changed(fold)
            is_new = any(now.get(key) != of for key, of in fold.described.items())
            if now["choices"] or now["names"] or is_new:
                self._records.append(now)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies, also in other processes, are campaigns on the same file.
        made = partial(Campaign, accept_changes=not self._records.fold.is_same)
        return made, (self.policy, str(self._records.path))

    def __repr__(self) -> str:
        return f"Campaign({self.policy!r}, {str(self._records.path)!r})"

    @property
    def pending(self) -> tuple[int, ...]:
        """Numbers of the tickets whose feedback is still to come."""
        with self._records.up_to_date() as fold:
            return fold.current.pending

    @property
    def is_done(self) -> bool:
        """Whether an explorer's stopping rule holds, or budgets are spent; false for other policies."""
        with self._records.up_to_date() as fold:
            return fold.current.is_done

    @property
    def session(self) -> Session[Any]:
        """A copy of the session as it stands, by numbers."""
        with self._records.up_to_date() as fold:
            return copy(fold.current)

    def recommend(self) -> list[Hashable]:
        """Return the names of the arms that the explorer would name now.

        Raises
        ------
        TypeError
            If the policy is no `Explorer`.
        """
        with self._records.up_to_date() as fold:
            return [fold.arms.own[arm] for arm in fold.current.recommend()]

    def ask(
        self, context: Context | None = None, *, available: Collection[Hashable] | None = None
    ) -> Request:
        """Return what to play now, by name.

        Parameters
        ----------
        context : Context, optional
            What is known of the round, by numbers.
        available : collection, optional
            Names of what may be chosen in this round; everything if left out.

        Raises
        ------
        ValueError
            As in `Session.ask`; or if a name is unknown.
        TypeError
            If `context` is no `Context`.
        """
        with self._records.up_to_date() as fold:
            session = fold.current
            if available is not None:
                context = restricted(fold, context, available)
            before = pickle.dumps(position_of(session.rng))
            ticket: Ticket = self._records.act(partial(fold.asked, before=before), session.ask, context)
            fold.tickets[ticket.number] = session._open[ticket.number]
            names = map(fold.choices.own.__getitem__, ticket.super_arm.tolist())
            return Request(ticket.number, tuple(names), ticket)

    def tell(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        **seen: Any,
    ) -> None:
        """Take in what was seen after an ask, by name; what was not seen may be left out.

        Parameters
        ----------
        outcomes : mapping, list of pairs, or Feedback, optional
            Outcome of each base arm that was seen, by its name: of an explorer's ticket with several pulls, a
            list of so many.
        ticket : Request, Ticket or int, optional
            What was played, or its number; may be left out when exactly one is pending.
        reward : float, optional
            The reward of the round.
        costs : mapping, optional
            What each of these base arms used up, by its name: a number for each resource.
        **seen
            A report in the oracle's own words, in place of `outcomes`: of influence ``joined=``, and
            ``carried=`` or ``unseen=`` (see `oracles.InfluenceOracle.feedback_of`).

        Raises
        ------
        ValueError
            As in `Session.tell`; or if a name is unknown, or the report cannot be of this ticket.
        TypeError
            If `outcomes` is nothing of the kind.
        """
        with self._records.up_to_date() as fold:
            of = pending_ticket(fold, ticket)
            feedback = feedback_of(fold, of, outcomes, reward, costs, seen)
            try:
                self._records.act(fold.reported("tell", of.number, feedback), fold.current.tell, feedback, of)
            except StrangeArms as error:
                raise by_name(fold, of, error) from None
            fold.told[of.number] = len(fold.events)

    def cancel(self, ticket: Request | Ticket | int) -> None:
        """Take back a ticket that was not played, or whose feedback never comes; nothing is learned.

        Parameters
        ----------
        ticket : Request, Ticket or int
            What was asked for, or its number.

        Raises
        ------
        ValueError
            As in `Session.cancel`.
        """
        with self._records.up_to_date() as fold:
            if ticket is None:
                raise ValueError("ticket must be a Request, a Ticket or its number, got None")
            of = pending_ticket(fold, ticket)
            self._records.act({"event": "cancel", "ticket": of.number}, fold.current.cancel, of)

    def correct(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        **seen: Any,
    ) -> None:
        """Replace what was told of a ticket, as if it had been told so at that time.

        What was asked for since then stays as it was.

        Parameters
        ----------
        outcomes, reward, costs, **seen
            As in `tell`.
        ticket : Request, Ticket or int
            What was told, or its number.

        Raises
        ------
        ValueError
            As in `tell`; or if the ticket was not told.
        """
        with self._records.up_to_date() as fold:
            of = told_ticket(fold, ticket)
            feedback = feedback_of(fold, of, outcomes, reward, costs, seen)
            try:
                check_feedback(feedback, of, self.policy, fold.current.support)
            except StrangeArms as error:
                raise by_name(fold, of, error) from None
            event = fold.reported("correct", of.number, feedback)
            self._records.rewrite(event | {"line": fold.told[of.number]})

    def undo(self) -> dict[str, Any]:
        """Take back the last tell, cancel or correction, and return it as in `history`.

        Raises
        ------
        ValueError
            If there is nothing to take back, or another process has written since this one looked: call it
            again if what `history` shows last is still meant.
        """
        with self._records.lock:
            known = len(self._records.fold.events)
            with self._records.up_to_date() as fold:
                if len(fold.events) != known:
                    raise ValueError(
                        "undo must be of what was seen last, got newer events of another process: look at the"
                        " history, and call it again"
                    )
                line = last_to_undo(fold)
                if line is None:
                    raise ValueError("undo must follow a tell, cancel or correction, got none that is left")
                self._records.rewrite({"event": "undo", "line": line})
                return row_of(self._records.fold, line)

    def history(self) -> list[dict[str, Any]]:
        """Return all events, oldest first, by name.

        Returns
        -------
        list of dict
            Each with ``line`` (in the file), ``event``, ``at`` (UTC), ``undone``, and what it is about.
        """
        with self._records.up_to_date() as fold:
            return [row_of(fold, line) for line in range(1, len(fold.events) + 1)]

    def summary(self) -> Summary:
        """Return how many rounds were told, what they earned, and what was learned, by name."""
        with self._records.up_to_date() as fold:
            return summary_of(fold)

    def plot(self, most: int = 20, *, ax: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the mean outcomes of the base arms that were seen most often, by name.

        Parameters
        ----------
        most : int
            How many base arms.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If left out, nothing
            is written: a notebook shows the picture, a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            With a bar for each base arm.
        """
        from cmab.plotting._style import written

        return written(draw(self.summary(), integer("most", most, 1), ax), path)
