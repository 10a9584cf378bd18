"""Campaigns identify arms by name, survive crashes, and can be shared by several processes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

from cmab._ask_tell import StrangeArms, check_budgets, check_feedback, interval_of, support_of
from cmab.campaigns._admission import (
    admit,
    beginning,
    changed,
    checked_author,
    learner_of,
)
from cmab.campaigns._expiry import age, older
from cmab.campaigns._fold import Fold
from cmab.campaigns._records import Records, repeated
from cmab.campaigns._rows import last_to_undo, row_of
from cmab.campaigns._schema import Event
from cmab.campaigns._words import by_name, feedback_of, pending_ticket, restricted, told_ticket
from cmab.campaigns.request import Request
from cmab.campaigns.stores.addresses import store_of
from cmab.campaigns.summary import Summary, draw, summary_of
from cmab.cascades.estimates import Estimate
from cmab.certificates.regret_certificate import RegretCertificate
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle
from cmab.policy import Policy
from cmab.saving._generators import position_of
from cmab.saving._state import copied
from cmab.seeding import Seed, root
from cmab.session import Session
from cmab.validation import check_flag, integer, real, shown

Told = Feedback | Mapping[Any, Any] | Collection[tuple[Any, Any]]

_NONE = float("nan")


class Campaign:
    """A `Session` that identifies arms by name and records every event in a journal.

    Each `ask`, `tell`, `cancel`, `correct` and `undo` appends an event to a file or a database, and the event
    is on the disk before the call returns. To continue after a crash or a restart, construct the campaign
    again with the same `where`. Several processes and threads can use the same campaign at the same time:
    each call locks it and first reads the events that other processes have added.

    Parameters
    ----------
    learner : Policy, Explorer or Oracle
        The learner. For an oracle, a new campaign uses `AdaptiveCTS` with the bounded interval `support`, or
        with [0, 1]. Journals of version 0.1, whose default was `CTS`, continue with `CTS`.
    where : str or path-like
        The path of a journal file; or the path of a SQLite file, which ends with ``.db``, ``.sqlite`` or
        ``.sqlite3``, or is written as ``"sqlite:///PATH#NAME"``. If the file or the campaign `NAME` in it
        does not exist, it is created. A relative path is resolved against the current folder once, when the
        campaign is constructed.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The seed of a new campaign. An existing journal contains the state of its own generator, so `rng` has
        no effect on it. If `rng` is a generator, the campaign copies its state and does not advance it.
    support : tuple of float, optional
        The interval that outcomes must lie in, as in `Session`. An existing journal contains its interval; a
        different one raises ``ValueError``.
    accept_changes : bool
        If False, raise ``ValueError`` and list the changes if the arms or the parameters of the learner, such
        as `k` or a scale, differ from those in the journal. If True, accept these changes. Statistics are
        matched by name, so a different order of the same names is always accepted. If True, the reports in
        the journal are also used without a check that the present learner accepts them; use this if its code
        has changed. If False, parameters that were left out have the defaults of the version that wrote the
        journal; if True, they have the present defaults.
    propensity_draws : int
        If positive, each ask is logged with its propensity and the propensities of its positions, estimated
        from this number of further choices if they are not known exactly (see `cmab.logs.Propensity`). An ask
        then takes as long as this number of asks. If 0, only propensities that the policy states
        (`Policy.propensity`) are logged.
    expires : datetime.timedelta or int, optional
        The age at which a ticket without a report is cancelled: a time, or a number of tickets that were
        issued after it. Each ask first cancels the tickets that have reached this age; the next report of
        such a ticket is rejected. `undo` does not take back these cancellations. If omitted, tickets do not
        expire.
    author : str, optional
        The name that each event of this campaign contains, for example of a person or a worker. `history`
        returns it. `signed` returns the campaign with another author.

    Raises
    ------
    TypeError
        If `learner` is not a policy, an explorer or an oracle.
    ValueError
        If two arms have the same name, or a name is not a string, a number or a tuple of these; if the file
        is damaged, is not a journal, or was written with another class of policy or a different `support`; if
        an event in it cannot follow the events before it; or if a budget is smaller than the amount already
        spent.
    OSError
        If the file cannot be read, written or locked. The message contains the path and a remedy.

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

    def __init__(
        self,
        learner: Policy[Any] | Oracle,
        where: str | os.PathLike[str],
        *,
        rng: Seed = None,
        support: tuple[float, float] | None = None,
        accept_changes: bool = False,
        propensity_draws: int = 0,
        expires: timedelta | int | None = None,
        author: str | None = None,
    ) -> None:
        store = store_of(where)
        self.policy = learner_of(learner, store, support)
        self._expires, self._author = age("expires", expires), checked_author(author)
        #: The number of events that actions expect; None for any number.
        self._expected: int | None = None
        self._draws = integer("propensity_draws", propensity_draws, 0)
        check_flag("accept_changes", accept_changes)
        # Validate all arguments before the file is created.
        generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
        support_of(self.policy, interval_of(support))
        self._records = Records(self.policy, store, is_same=not accept_changes)
        is_there = store.exists()
        first = None if is_there else beginning(self._records.fold, generator, support)
        with store.held(create=True):
            self._records.resume()
            fold, events = self._records.fold, store.read()
            known = [fold.events[line - 1] for line in fold.descriptions]
            if not (events or fold.events):
                self._records.append(first or beginning(fold, generator, support), self._author)
            else:
                admit(fold, [*known, *events], support, accept_changes)
                fold.extend(events)
                check_budgets(self.policy, fold.current.state)
                self._describe_changes()
        if self._records.is_long:
            self._records.keep_checkpoint()

    def _describe_changes(self) -> None:
        """Append a description of the learner and of new names, unless the last one is the same."""
        fold = self._records.fold
        now = changed(fold)
        is_new = any(now.get(key) != of for key, of in fold.described.items())
        if now["choices"] or now["names"] or is_new:
            self._records.append(now, self._author)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, in this or another process, is a campaign on the same file.
        same = self._records.fold.is_same
        made = partial(
            Campaign,
            accept_changes=not same,
            propensity_draws=self._draws,
            expires=self._expires,
            author=self._author,
        )
        return made, (self.policy, self._records.store.address)

    def __repr__(self) -> str:
        return f"Campaign({self.policy!r}, {self._records.store.where!r})"

    @property
    def pending(self) -> tuple[int, ...]:
        """The numbers of the pending tickets, which have no reported feedback."""
        with self._records.readable() as fold:
            return fold.current.pending

    @property
    def is_done(self) -> bool:
        """Whether the stopping rule of an explorer holds or budgets are spent; False for other policies."""
        with self._records.readable() as fold:
            return fold.current.is_done

    @property
    def session(self) -> Session[Any]:
        """A copy of the current session, which identifies arms by number."""
        with self._records.readable() as fold:
            return copy(fold.current)

    def recommend(self) -> list[Hashable]:
        """Return the names of the arms that the explorer currently recommends.

        Raises
        ------
        TypeError
            If the policy is not an `Explorer`.
        """
        with self._records.readable() as fold:
            return [fold.arms.own[arm] for arm in fold.current.recommend()]

    @repeated
    def ask(
        self,
        context: Context | None = None,
        *,
        available: Collection[Hashable] | None = None,
        instead_of: Request | Ticket | int | None = None,
    ) -> Request:
        """Return a request with the names to play in the next round.

        Parameters
        ----------
        context : Context, optional
            The context of the round, with arms identified by number.
        available : collection, optional
            The names of the entries that can be chosen in this round. If omitted, all of them.
        instead_of : Request, Ticket or int, optional
            A pending request, its ticket or its number, which is cancelled in the same step: both events are
            written, or none.

        Raises
        ------
        ValueError
            As in `Session.ask`, or if a name is unknown, or `instead_of` is not pending.
        TypeError
            If `context` is not a `Context`.
        """
        with self._records.up_to_date(self._author, self._expected) as fold:
            is_alone = self._expires is None or not older(fold, self._expires)
            if is_alone and instead_of is None:
                return self._asked(fold, context, available)
            former = None if instead_of is None else pending_ticket(fold, instead_of).number
            with self._records.together():
                self._expire(fold)
                request = self._asked(fold, context, available)
                if former in fold.current.pending:
                    self._records.act({"event": "cancel", "ticket": former}, fold.current.cancel, former)
                return request

    @repeated
    def ask_many(
        self, n: int, context: Context | None = None, *, available: Collection[Hashable] | None = None
    ) -> list[Request]:
        """Return `n` requests at once, which is faster than `n` calls of `ask`.

        The requests are those of `n` calls of `ask` one after the other. They are written to the disk
        together: if the call raises an error, none of them was issued.

        Parameters
        ----------
        n : int
            The number of requests, at least 1.
        context, available
            As in `ask`, for all of these requests.

        Raises
        ------
        ValueError
            As in `ask`, or if `n` is not a positive integer.
        TypeError
            As in `ask`.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from cmab import CUCB, Campaign
        >>> from oracles import TopK
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.jsonl"), rng=0)
        ...     first, second = campaign.ask_many(2)
        ...     campaign.tell_many([{"ticket": one, "outcomes": {0: 1.0}} for one in (first, second)])
        ...     campaign.session.state.counts
        array([2, 0, 0, 0, 0])
        """
        n = integer("n", n, 1)
        with self._records.up_to_date(self._author, self._expected) as fold, self._records.together():
            self._expire(fold)
            return [self._asked(fold, context, available) for _ in range(n)]

    def _asked(
        self, fold: Fold[Any], context: Context | None, available: Collection[Hashable] | None
    ) -> Request:
        session = fold.current
        if available is not None:
            context = restricted(fold, context, available)
        before = pickle.dumps(position_of(session.rng))
        draws = self._draws
        made = partial(fold.asked, before=before, state=copied(session.state) if draws else None, draws=draws)
        ticket: Ticket = self._records.act(made, session.ask, context)
        names = map(fold.choices.own.__getitem__, ticket.super_arm.tolist())
        return Request(ticket.number, tuple(names), ticket)

    def _expire(self, fold: Fold[Any]) -> None:
        """Cancel the tickets that have expired."""
        for number in [] if self._expires is None else older(fold, self._expires):
            event = {"event": "cancel", "ticket": number, "expired": True}
            self._records.act(event, fold.current.cancel, number)

    @repeated
    def tell(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        **seen: Any,
    ) -> None:
        """Report the feedback of a ticket by name and update the policy.

        Leave out arms without an observed outcome. If only `reward` is given, the round has no observed
        outcomes. The policy does not learn from it, but the summary and the regret bound use it.

        Parameters
        ----------
        outcomes : mapping, list of pairs, or Feedback, optional
            The observed outcome of each base arm, by name. For a ticket of an explorer with several pulls,
            the value is a list of that many outcomes.
        ticket : Request, Ticket or int, optional
            The request, its ticket or its number. It can be omitted if exactly one ticket is pending.
        reward : float, optional
            The reward of the round, in any unit that all rounds share, such as people or euros. Every finite
            number is taken.
        costs : mapping, optional
            The resources that each of these base arms used, by name: one number for each resource.
        **seen
            A report in terms of the oracle, instead of `outcomes`. For influence these are ``joined=``, and
            ``carried=``, ``unseen=`` or ``known=`` (see `oracles.InfluenceOracle.feedback_of`).

        Raises
        ------
        ValueError
            As in `Session.tell`; or if a name is unknown, or the ticket cannot have led to this report.
        TypeError
            If `outcomes` is not a mapping, a list of pairs or a `Feedback`.
        """
        with self._records.up_to_date(self._author, self._expected) as fold:
            self._report(fold, outcomes, ticket, reward=reward, costs=costs, **seen)

    @repeated
    def tell_many(
        self, reports: Iterable[Mapping[str, Any]], *, corrections: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Report the feedback of several tickets at once, which is faster than several calls of `tell`.

        The reports are written to the disk together. If one of them is invalid, the campaign takes none.

        Parameters
        ----------
        reports : iterable of mappings
            The arguments of `tell` for each report, by name, such as
            ``{"ticket": 3, "outcomes": {"Ann": 1.0}}``.
        corrections : iterable of mappings
            The arguments of `correct` for each correction, which are written together with the reports.

        Raises
        ------
        ValueError
            As in `tell` and `correct`. The message starts with the number of the first invalid report, from
            1; corrections follow the reports.
        TypeError
            As in `tell`, or if a report is not a mapping.

        Examples
        --------
        The example of `ask_many` uses both methods.

        >>> import tempfile, pathlib
        >>> from cmab import CUCB, Campaign
        >>> from oracles import TopK
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.jsonl"), rng=0)
        ...     requests = campaign.ask_many(3)
        ...     campaign.tell_many([{"ticket": each, "outcomes": {}, "reward": 1.0} for each in requests])
        ...     campaign.pending
        ()
        """
        first, again = list(reports), list(corrections)
        for report in [*first, *again]:
            if not isinstance(report, Mapping):
                raise TypeError(f"reports must be mappings of arguments of tell, got {shown(report)}")
        with self._records.up_to_date(self._author, self._expected) as fold:
            if not again:
                with self._records.together():
                    for place, report in enumerate(first, 1):
                        with _numbered(place):
                            self._report(fold, **report)
                return
            events, told = [], set()
            for place, report in enumerate([*first, *again], 1):
                with _numbered(place):
                    kind = "tell" if place <= len(first) else "correct"
                    event = self._checked(fold, kind, **report)
                    if event["ticket"] in told:
                        raise ValueError(f"each ticket must be reported once, got {event['ticket']} again")
                    told.add(event["ticket"])
                    events.append(event)
            self._records.rewrite(*events)

    def _checked(
        self,
        fold: Fold[Any],
        kind: str,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        **seen: Any,
    ) -> Event:
        """Return the event of a valid report, of kind ``"tell"`` or ``"correct"``, without an effect."""
        of = pending_ticket(fold, ticket) if kind == "tell" else told_ticket(fold, ticket)
        feedback = feedback_of(fold, of, outcomes, reward, costs, seen)
        try:
            check_feedback(feedback, of, self.policy, fold.current.support)
        except StrangeArms as error:
            raise by_name(fold, of, error) from None
        event = fold.reported(kind, of.number, feedback)
        return event if kind == "tell" else event | {"line": fold.told[of.number]}

    def _report(
        self,
        fold: Fold[Any],
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        **seen: Any,
    ) -> None:
        of = pending_ticket(fold, ticket)
        feedback = feedback_of(fold, of, outcomes, reward, costs, seen)
        try:
            self._records.act(fold.reported("tell", of.number, feedback), fold.current.tell, feedback, of)
        except StrangeArms as error:
            raise by_name(fold, of, error) from None

    @repeated
    def cancel(
        self,
        ticket: Request | Ticket | int | None = None,
        *,
        older_than: timedelta | int | None = None,
    ) -> tuple[int, ...]:
        """Close tickets without feedback; the policy learns nothing from them.

        Use this if a super arm was not played, or if its feedback will never arrive.

        Parameters
        ----------
        ticket : Request, Ticket or int, optional
            The request, its ticket or its number.
        older_than : datetime.timedelta or int, optional
            Instead of `ticket`: cancel all pending tickets of at least this age. The age is a time, or the
            number of tickets that were issued after a ticket.

        Returns
        -------
        tuple of int
            The numbers of the cancelled tickets.

        Raises
        ------
        ValueError
            As in `Session.cancel`; or if neither or both of `ticket` and `older_than` are given.
        """
        limit = age("older_than", older_than)
        if ticket is None and limit is None:
            raise ValueError("ticket must be a Request, a Ticket or its number, got None")
        if ticket is not None and limit is not None:
            raise ValueError("one of ticket and older_than must be given, got both")
        with self._records.up_to_date(self._author, self._expected) as fold:
            numbers = [pending_ticket(fold, ticket).number] if limit is None else older(fold, limit)
            with self._records.together():
                for number in numbers:
                    event = {"event": "cancel", "ticket": number}
                    self._records.act(event, fold.current.cancel, number)
            return tuple(numbers)

    def signed(self, author: str | None) -> Campaign:
        """Return this campaign with another author of further events.

        Both objects share the state and the connection, so that a server can use one for each user.

        Parameters
        ----------
        author : str or None
            The name that each further event contains; None for no name.

        Raises
        ------
        ValueError
            If `author` is not a printable string of 1 to 200 characters.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from cmab import CUCB, Campaign
        >>> from oracles import TopK
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.jsonl"), rng=0)
        ...     request = campaign.signed("Ann").ask()
        ...     campaign.history()[-1]["author"]
        'Ann'
        """
        return self._with(_author=checked_author(author))

    def expecting(self, n_events: int) -> Campaign:
        """Return this campaign, whose actions are refused unless it has this number of events.

        The number is compared while the campaign is locked, so no other process can add an event between the
        comparison and the action. Use this if an action was decided on the events of `history`.

        Parameters
        ----------
        n_events : int
            The number of events, ``len(history())``. The actions of the returned campaign raise
            ``ValueError`` if another process has added events since then.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from cmab import CUCB, Campaign
        >>> from oracles import TopK
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.jsonl"), rng=0)
        ...     decided = campaign.expecting(len(campaign.history()))
        ...     decided.ask().number
        0
        """
        return self._with(_expected=integer("n_events", n_events, 0))

    def _with(self, **changes: Any) -> Campaign:
        """Return this campaign with other attributes, on the same records."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other

    def close(self) -> None:
        """Close the connection to a database; the next call opens it again."""
        with self._records.lock:
            self._records.store.close()

    @repeated
    def correct(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        **seen: Any,
    ) -> None:
        """Replace the feedback that was reported for a ticket.

        The policy then has the state that it would have if `tell` had received this feedback originally.
        Requests that were made since then stay unchanged.

        Parameters
        ----------
        outcomes, reward, costs, **seen
            As in `tell`.
        ticket : Request, Ticket or int
            The request, its ticket or its number. The ticket must have been reported before.

        Raises
        ------
        ValueError
            As in `tell`, or if no feedback has been reported for the ticket.
        """
        with self._records.up_to_date(self._author, self._expected) as fold:
            self._records.rewrite(
                self._checked(fold, "correct", outcomes, ticket, reward=reward, costs=costs, **seen)
            )

    @repeated
    def undo(self) -> dict[str, Any]:
        """Undo the last tell, cancel or correction, and return its event as in `history`.

        Raises
        ------
        ValueError
            If there is no event to undo; or if another process has added events since the last call of this
            campaign. In the second case, look at the last event of `history` and call `undo` again if that is
            the event to undo.
        """
        with self._records.lock:
            known = len(self._records.fold.events)
            with self._records.up_to_date(self._author, self._expected) as fold:
                if self._expected is None and len(fold.events) != known:
                    raise ValueError(
                        "undo must take back an event that this campaign has read, got newer events of"
                        " another process; look at the last event of history(), and call undo() again"
                    )
                line = last_to_undo(fold)
                if line is None:
                    raise ValueError("undo must follow a tell, cancel or correction, got none left to undo")
                self._records.rewrite({"event": "undo", "line": line})
                return row_of(self._records.fold, line)

    def history(self) -> list[dict[str, Any]]:
        """Return all events by name, oldest first.

        Returns
        -------
        list of dict
            One dictionary for each event. It has ``line`` (the line number in the file), ``event`` (the
            kind), ``at`` (the time in UTC), ``undone``, ``author`` if the event has one, and the contents of
            the event.
        """
        with self._records.readable() as fold:
            return [row_of(fold, line) for line in range(1, len(fold.events) + 1)]

    def estimates(self, *, level: float = 0.9, rng: Seed = 0) -> list[Estimate]:
        """Return the posterior of the mean of each base arm by name, from all reports.

        Parameters
        ----------
        level, rng
            As in `Session.estimates`.

        Raises
        ------
        ValueError
            As in `Session.estimates`.
        """
        return self.session.estimates(level=level, rng=rng)

    def regret_bound(
        self,
        *,
        delta: float = 0.05,
        reward_range: tuple[float, float] | None = None,
        independent: bool = False,
        rng: Seed = 0,
    ) -> RegretCertificate:
        """Return an upper bound on the regret so far and on the gap of the present choice.

        Parameters
        ----------
        delta, reward_range, independent, rng
            As in `regret_bound`.

        Raises
        ------
        TypeError
            As in `Session.regret_bound`.
        ValueError
            As in `Session.regret_bound`.
        """
        with self._records.readable() as fold:
            return fold.current.regret_bound(
                delta=delta, reward_range=reward_range, independent=independent, rng=rng
            )

    def summary(self, *, delta: float | None = 0.05) -> Summary:
        """Return the number of reported rounds, their mean reward, statistics of the arms and a certificate.

        Parameters
        ----------
        delta : float, optional
            The probability with which a bound of the certificate is ever wrong, in (0, 1). If None, the
            summary has no certificate, which saves a few calls of the oracle.

        Raises
        ------
        ValueError
            If `delta` is out of its range.
        """
        level = None if delta is None else real("delta", delta, 0.0, 1.0, inside=True)
        with self._records.readable() as fold:
            return summary_of(fold, level)

    def plot(self, most: int = 20, *, ax: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
        """Plot the mean outcomes of the base arms that were observed most often, by name.

        Parameters
        ----------
        most : int
            The number of base arms in the plot.
        ax : matplotlib Axes, optional
            The axes to draw in. If omitted, a new figure is created.
        path : str or path-like, optional
            The file to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If omitted, no
            file is written: a notebook shows the picture, a script shows it with
            ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            The axes, with one bar for each base arm.
        """
        from cmab.plotting._style import written

        return written(draw(self.summary(delta=None), integer("most", most, 1), ax), path)


@contextmanager
def _numbered(place: int) -> Iterator[None]:
    """Add the number of a report to the errors of a block."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"report {place}: {error}") from None
