"""Campaigns identify arms by name, survive crashes, and can be shared by several processes."""

from __future__ import annotations

import copy
import itertools
import json
import logging
import math
import os
import secrets
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.bounds.certificate import Certify, RegretCertificate
from cmab.campaign.names import feedback_of
from cmab.campaign.posterior import (
    Beliefs,
    CascadeFeedback,
    Chain,
    Estimate,
    check_hidden,
    prior_of,
    shares_prior,
)
from cmab.campaign.replay import Body, Replay, read_campaign, row_of, rows_of, standing_of, versions
from cmab.campaign.replica import Replica
from cmab.campaign.store import FORMAT, Event, Store
from cmab.errors import (
    ChangedLearnerError,
    ClosedTicketError,
    NewerEventsError,
    NothingToUndoError,
    OtherReportError,
    SameReportError,
    UnknownTicketError,
    UsedKeyError,
)
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle
from cmab.policies.adaptive import learner_for
from cmab.policies.models import ModelPolicy
from cmab.policy import Policy, check_policy_instance
from cmab.propensities import estimate_propensity
from cmab.seeding import Seed, root
from cmab.session import (
    StrangeArms,
    check_budgets,
    check_context,
    check_feedback,
    choose,
    interval_of,
    only,
    support_of,
)
from cmab.validation import check_flag, integer, real, shown

Told = Feedback | Mapping[Any, Any] | Collection[tuple[Any, Any]]

log = logging.getLogger("cmab.campaign")
_UNDONE_BY_UNDO = ("tell", "cancel", "correct", "undo")


@dataclass(frozen=True, eq=False)
class Request:
    """The answer of `Campaign.ask`: play `names`, then report the feedback under this `number`.

    Attributes
    ----------
    number : int
        The number of the ticket, from 0. All processes that use the campaign share the count.
    names : tuple
        The names of the entries to play, for example people, edges or pairs.
    ticket : Ticket
        The ticket, which has the same entries by number.

    Examples
    --------
    >>> from cmab import Request, Ticket
    >>> Request(0, ("ann", "bob"), Ticket(0, [0, 1]))
    Request(number=0, names=('ann', 'bob'))
    """

    number: int
    names: tuple[Hashable, ...]
    ticket: Ticket = field(repr=False)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class Campaign:
    """A learner that identifies arms by name and stores every event in a database.

    Each `ask`, `tell`, `cancel`, `correct` and `undo` adds an event, which is on the disk before the call
    returns. To continue after a crash or a restart, construct the campaign again with the same `where`.
    Several processes and threads can use the same campaign at the same time. No call holds a lock of the
    database, and reading calls do not wait for writing ones. A call that raises a ``ValueError`` or a
    ``TypeError`` has changed nothing. After an ``OSError``, the database may have stored it all the same.

    Parameters
    ----------
    learner : Policy or Oracle
        The learner. For an oracle, it is `AdaptiveCTS` with the bounded interval `support`, or with [0, 1].
        An `Explorer` runs in a `Session`.
    where : str or path-like
        The path of a SQLite file, which ends with ``.db``, ``.sqlite`` or ``.sqlite3``;
        ``"sqlite:///PATH#NAME"``; or ``"postgresql://USER:PASSWORD@HOST/DATABASE#NAME"``. A database can hold
        many campaigns with different names. If the campaign does not exist, it is created.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The seed of a new campaign. An existing campaign has its own, so that `rng` has no effect on it.
    support : tuple of float, optional
        The interval that outcomes must lie in, as in `Session`. It is stored with the campaign.
    expires : datetime.timedelta, optional
        The age at which a ticket without a report is cancelled. It is stored with the campaign. Each ask
        first cancels the tickets that have reached this age. A later report of such a ticket is still
        accepted. If omitted, the stored age applies.
    accept_changes : bool
        If False, raise ``ValueError`` and list the changes if the arms or the parameters of the learner
        differ from those in the store. If True, accept these changes, and compute the state from the events
        without a snapshot; use this also if the code of your own learner has changed. Statistics are matched
        by name, so a different order of the same names is always accepted.
    propensity_draws : int
        If positive, each ask is stored with its propensity and the propensities of its positions, estimated
        from this number of further choices if they are not known exactly (see `cmab.Propensity`). An
        ask then takes as long as this number of asks. If 0, only propensities that the policy states
        (`Policy.propensity`) are stored.
    author : str, optional
        The name that each event of this object contains, for example of a person or a worker.
    timeout : float
        The number of seconds that a call waits for the database, also for one that is not started yet, and
        at most as long again for other calls of this process.
        `within` sets another number for some calls.

    Raises
    ------
    TypeError
        If `learner` is not a policy or an oracle.
    ValueError
        If two arms have the same name, or a name is not a string, a number or a tuple of these; if the
        campaign has another learner or another `support`; or if a budget is smaller than the amount already
        spent.
    cmab.errors.ChangedLearnerError
        If the campaign has other names or parameters.
    cmab.errors.DamagedStoreError, cmab.errors.OtherVersionError
        If the store cannot be read.
    cmab.errors.StoreUnreachableError, cmab.errors.StoreTimeoutError
        If the store does not answer.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import networkx as nx
    >>> from cmab import Campaign
    >>> from oracles import DegreeHeuristic
    >>> friends = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan"), ("cy", "dan")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.db")
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
        expires: timedelta | None = None,
        accept_changes: bool = False,
        propensity_draws: int = 0,
        author: str | None = None,
        timeout: float = 120.0,
    ) -> None:
        check_flag("accept_changes", accept_changes)
        self._draws = integer("propensity_draws", propensity_draws, 0)
        self._author = None if author is None else _checked_text("author", author)
        limit = None if expires is None else real("expires", expires.total_seconds(), 0.0)
        declared = interval_of(support)
        if not isinstance(learner, Oracle):
            check_policy_instance(learner)
        if isinstance(learner, Explorer):
            raise TypeError(f"learner must not be an explorer, which runs in a Session, got {shown(learner)}")
        generator = _generator(copy.deepcopy(rng))
        store = Store(where, real("timeout", timeout, 0.0))
        first = store.first()
        stored = declared if first is None else interval_of(first.body["support"])
        if declared not in (None, stored):
            raise ValueError(f"support must be that of {store.where}, {stored}, got {support}")
        self.policy: Policy[Any] = learner_for(learner, stored)
        self.support = support_of(self.policy, stored)
        self._replica = Replica(store, self.policy, accept_changes)
        if first is None:
            beginning = {
                "format": FORMAT,
                "token": secrets.token_hex(8),
                "seed": int(generator.integers(2**63)),
                "support": None if declared is None else [repr(end) for end in declared],
                "expires": limit,
            }
            store.create(self._event("campaign", None, self._replica.described | beginning))
        self._replica.open()
        check_budgets(self.policy, self._replica.replay.state)  # before anything is written
        self._check_learner(accept_changes, limit)

    def _check_learner(self, accept_changes: bool, limit: float | None) -> None:
        """Describe the learner, its names and the age in a new event if they have changed and may change."""
        of, where, described = self._replica.of, self._replica.store.where, self._replica.described
        kept = of.last["learner"]["class"]
        if kept != described["learner"]["class"]:
            raise ValueError(f"{where} must be a campaign of {described['learner']['class']}, got {kept}")
        found = of.changes()
        if found and not accept_changes:
            raise ChangedLearnerError(where, shown("; ".join(found), 400))
        age = of.last["expires"] if limit is None else limit
        if found or not of.line or (versions(), age) != (of.last["versions"], of.last["expires"]):
            self._act(lambda: [self._event("changed", None, described | {"expires": age})])

    def __repr__(self) -> str:
        return f"Campaign({self.policy!r}, {self._replica.store.where!r})"

    # Reading.

    @property
    def address(self) -> str:
        """The path or URL that opens the campaign again, with the password."""
        return self._replica.store.address

    @property
    def pending(self) -> tuple[int, ...]:
        """The numbers of the pending tickets, which have no reported feedback."""
        return tuple(self._replica.current().pending)

    @property
    def is_done(self) -> bool:
        """Whether budgets are spent; False for policies without budgets."""
        return self.policy.is_done(self._replica.current().state)

    @property
    def state(self) -> Any:
        """A copy of the state of the policy, without hidden outcomes."""
        return self._replica.current().twin().state

    @property
    def n_events(self) -> int:
        """The number of events, which grows with every action of any process."""
        return self._replica.current().number

    def within(self, timeout: float) -> AbstractContextManager[None]:
        """Let the calls of this thread in a block wait at most this number of seconds for the database."""
        return self._replica.store.within(real("timeout", timeout, 0.0))

    def history(self) -> list[dict[str, Any]]:
        """Return all events by name, oldest first.

        Returns
        -------
        list of dict
            One dictionary for each event. It has ``line`` (its number), ``event`` (the kind), ``at`` (the
            time in UTC), ``undone``, ``author`` if the event has one, and the contents of the event.
        """
        self._replica.current()
        return rows_of(list(self._replica.store.read()), self._replica.of.labels)

    def health(self) -> dict[str, Any]:
        """Return counts, ages and the last error, for monitoring.

        Returns
        -------
        dict
            ``store``: the address without the password. ``events``, ``rounds``, ``told`` and ``pending``: the
            numbers of events, of tickets, and of reported and pending tickets. ``oldest_pending`` and
            ``last_told``: the seconds since the oldest pending ticket was issued, and since the last report.
            ``since_snapshot``: the number of events that a new process replays. ``overtaken`` and
            ``repeated``: how often this process was overtaken by another writer, and repeated a call of the
            database. ``error``: the last error of the policy in this process, such as a fit that failed.
        """
        replica, now = self._replica, time.time()
        replay = replica.current()
        oldest = min((event.at for event in replay.pending.values()), default=None)
        return {
            "store": replica.store.where,
            "events": replay.number,
            "rounds": replay.asked,
            "told": replay.told,
            "pending": len(replay.pending),
            "oldest_pending": None if oldest is None else now - oldest,
            "last_told": None if replay.last_told is None else now - replay.last_told,
            "since_snapshot": replay.number - replica.store.snapshot()[0],
            "overtaken": replica.store.overtaken,
            "repeated": replica.store.repeated,
            "error": replica.error,
        }

    def beliefs(self, *, rng: Seed = 0) -> Beliefs:
        """Return the posterior of the means of the base arms, of which `estimates` shows the intervals."""
        prior, replay = shares_prior(self.policy), self._replica.current()
        if prior is None or self.policy.support is None:
            raise ValueError(f"policy must draw from Beta posteriors to have estimates, got {self.policy!r}")
        low, high = self.policy.support
        if replay.hidden is None:
            counts = replay.state.counts.astype(np.float64)
            chain = Chain(prior, counts * (replay.state.means - low) / (high - low), counts)
        else:
            chain = self._replica.chain(replay).copy()
        return Beliefs.of(chain, (low, high), _generator(rng))

    def estimates(self, *, level: float = 0.9, rng: Seed = 0) -> list[Estimate]:
        """Return the posterior of the mean of each base arm by name, from observed and hidden outcomes.

        Parameters
        ----------
        level : float
            The probability of the credible intervals, in (0, 1).
        rng : int, numpy.random.Generator or None
            The seed of the draws from the posterior.

        Returns
        -------
        list of Estimate
            For each base arm its ``name``, ``mean``, ``low`` and ``high``, in the order of the arms.

        Raises
        ------
        ValueError
            If the policy does not draw from Beta posteriors, or if `level` is out of its range.
        """
        level, beliefs = real("level", level, 0.0, 1.0, inside=True), self.beliefs(rng=rng)
        rows = zip(beliefs.means.tolist(), *(one.tolist() for one in beliefs.intervals(level)), strict=True)
        return [Estimate(name, *row) for name, row in zip(self._replica.of.arms.own, rows, strict=True)]

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
        ValueError
            As in `regret_bound`, or if rounds had values, costs or features in their context, because their
            optimum differs from that of other rounds.
        """
        replay = self._replica.current()
        certify = Certify(delta, reward_range, independent, self.support)
        return certify.now(self.policy, replay.state, replay.played, rng)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the campaign to a table or to a text file.

        Parameters
        ----------
        path : str or path-like
            A file that ends with ``.csv`` gets the rounds, one row for each outcome (see `Log.rows`). A file
            that ends with ``.jsonl`` gets the history, one event in each line.
        """
        target = Path(path)
        if target.suffix == ".csv":
            read_campaign(self.address, timeout=self._replica.store.patience.seconds).to_csv(target)
        elif target.suffix == ".jsonl":
            lines = [json.dumps(_plain(row), ensure_ascii=False) for row in self.history()]
            target.write_text("\n".join([*lines, ""]), encoding="utf-8")
        else:
            raise ValueError(f"path must end with .csv or .jsonl, got {target.name}")

    # Acting.

    def ask(
        self,
        context: Context | None = None,
        *,
        names: Collection[Hashable] | None = None,
        available: Collection[Hashable] | None = None,
        instead_of: Request | Ticket | int | None = None,
        key: str | None = None,
        note: str | None = None,
    ) -> Request:
        """Return a request with the names to play in the next round.

        Parameters
        ----------
        context : Context, optional
            The context of the round, with arms identified by number.
        names : collection, optional
            The names of the entries that are played, if you have chosen them yourself. If omitted, the policy
            chooses.
        available : collection, optional
            The names of the entries that can be chosen in this round. If omitted, all of them.
        instead_of : Request, Ticket or int, optional
            A pending request, its ticket or its number, which is cancelled in the same step: both events are
            stored, or none.
        key : str, optional
            A text that identifies this call. Another call with the same key returns the same request, also
            in another process and with other arguments. Use it if an answer can get lost.
        note : str, optional
            A text that the event of the request contains.

        Raises
        ------
        ValueError
            As in `Session.ask`, or if a name is unknown.
        TypeError
            If `context` is not a `Context`.
        cmab.errors.TicketError
            If `instead_of` is not pending.
        """
        return self._ask(1, context, available, instead_of, key, names, note)[0]

    def ask_many(
        self,
        n: int,
        context: Context | None = None,
        *,
        available: Collection[Hashable] | None = None,
        key: str | None = None,
    ) -> list[Request]:
        """Return `n` requests at once, which is faster than `n` calls of `ask`.

        The requests are those of `n` calls of `ask` one after the other. They are stored together: if the
        call raises an error, none of them was issued.

        Parameters
        ----------
        n : int
            The number of requests, at least 1.
        context, available
            As in `ask`, for all of these requests.
        key : str, optional
            A text that identifies this call, as in `ask`. Another call with the same key returns the same
            requests.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from cmab import CUCB, Campaign
        >>> from oracles import TopK
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.db"), rng=0)
        ...     first, second = campaign.ask_many(2)
        ...     campaign.tell_many([{"ticket": one, "outcomes": {0: 1.0}} for one in (first, second)])
        ...     campaign.state.counts
        array([2, 0, 0, 0, 0])
        """
        return self._ask(integer("n", n, 1), context, available, key=key)

    def _ask(
        self,
        n: int,
        context: Context | None,
        available: Collection[Hashable] | None,
        instead_of: Any = None,
        key: str | None = None,
        names: Collection[Hashable] | None = None,
        note: str | None = None,
    ) -> list[Request]:
        replica = self._replica
        if context is not None:
            check_context(context, self.policy)
        if available is not None:
            entries = replica.of.choices.find(available)
            context = only(context, entries, len(replica.of.choices.own))
        if found := self._answer(key, n):
            return found
        is_crowded, replay = replica.is_crowded, replica.current() if replica.is_crowded else replica.replay
        choice = self._chosen(n, replay, context, is_crowded) if names is None else self._own_choice(names)
        for attempt in itertools.count():
            with replica.acting():
                events = self._ask_events(choice, context, instead_of, key, note)
                if stored := replica.write(events):
                    return [self._request(event, context) for event in stored if event.kind == "ask"]
            if found := self._answer(key, n):
                break
            if names is None and (attempt == 0 or replica.of.reserves):
                choice = self._chosen(n, replica.replay, context, True)
        return found

    def _answer(self, key: str | None, n: int) -> list[Request]:
        """Return the `n` requests of a former call with this key, if there was one."""
        first = self._stored("ask", key)
        if first is None:
            return []
        if (kept := first.body.get("n", 1)) != n:
            raise UsedKeyError(f"key must be new or of a call for {n} requests, got that of {kept} requests")
        events = first, *itertools.islice(self._replica.store.read(first.number), n - 1)
        return [self._request(event) for event in events]

    def _own_choice(self, names: Collection[Hashable]) -> list[Any]:
        """Return the super arm of names that the user has chosen, as `_chosen` does."""
        entries = self._replica.of.choices.find(names)
        if not entries or len({*entries}) < len(entries):
            raise ValueError(f"names must be different names, at least one, got {shown(list(names))}")
        return [(np.array(entries, np.int64), {})]

    def _chosen(self, n: int, replay: Replay, context: Context | None, is_crowded: bool) -> list[Any]:
        """Return the super arms that the policy chooses, and their propensities, without a lock."""
        # Writers that overtake each other have other random numbers, so that they do not choose alike.
        salt = secrets.randbits(32) if is_crowded else 0
        found = []
        try:
            for number in range(replay.asked, replay.asked + n):
                rng = replay.of.generator(number, salt)
                state = self._replica.completed(replay, rng)
                super_arm, _ = choose(self.policy, state, rng, context)
                found.append((super_arm, self._propensity(replay, number, super_arm, context)))
                if n > 1 and replay.of.reserves:
                    replay = replay.twin()
                    self.policy.reserve(replay.state, Ticket(number, super_arm, 1, "", context))
        except Exception as error:
            self._replica.error = f"{type(error).__name__}: {error}"
            log.warning("%s: the policy cannot choose: %s", self._replica.store.where, self._replica.error)
            raise
        failed = self.policy.failure(replay.state) if isinstance(self.policy, ModelPolicy) else None
        if failed is not None and failed != self._replica.error:
            log.warning("%s: a fit of the model failed: %s", self._replica.store.where, failed)
        self._replica.error = failed
        return found

    def _propensity(
        self, replay: Replay, number: int, super_arm: IntArray, context: Context | None
    ) -> dict[str, Any]:
        if replay.hidden is not None:
            return {}  # the choice also depends on the drawn outcomes
        if self._draws:
            rng = replay.of.generator(number, 1, purpose=3)
            found = estimate_propensity(
                self.policy, replay.state, super_arm, context, draws=self._draws, rng=rng
            )
            by_position = found.by_position.tolist()
            return {"propensity": found.chance, "by_position": by_position, "draws": found.draws}
        chance = self.policy.propensity(replay.state, super_arm, context)
        return {} if chance is None else {"propensity": real("the propensity of an ask", chance, 0.0, 1.0)}

    def _ask_events(
        self, choice: list[Any], context: Context | None, instead_of: Any, key: str | None, note: str | None
    ) -> list[Event]:
        """Return the events of new tickets, after those of expired ones."""
        replay = self._replica.replay
        former = None if instead_of is None else self._found(instead_of)[0].ticket
        events = [self._event("cancel", old, {"expired": True}) for old in _expired(replay)]
        for number, (super_arm, chances) in enumerate(choice, replay.asked):
            body = replay.of.ask_body(super_arm, context) | chances | ({"note": note} if note else {})
            is_first = number == replay.asked  # it has the key of all of them
            body |= {"n": len(choice)} if is_first and key is not None and len(choice) > 1 else {}
            events.append(self._event("ask", number, body, key if is_first else None))
        if former is not None and all(one.ticket != former for one in events):
            events.append(self._event("cancel", former, {"replaced_by": replay.asked}))
        return events

    def _request(self, event: Event, context: Context | None = None) -> Request:
        of, number = self._replica.of, event.ticket
        assert number is not None
        ticket = of.ticket(number, event.body)
        if context is not None:
            ticket = Ticket(number, ticket.super_arm, ticket.pulls, ticket.session, context, ticket.gone)
        return Request(number, of.names_of(event.body), ticket)

    def tell(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = math.nan,
        played: Collection[Hashable] | None = None,
        key: str | None = None,
        **seen: Any,
    ) -> None:
        """Report the feedback of a ticket by name and update the policy.

        Leave out arms without an observed outcome. If only `reward` is given, the round has no observed
        outcomes. The policy does not learn from it, but the log and the regret bound use it.

        Parameters
        ----------
        outcomes : mapping, list of pairs, or Feedback, optional
            The observed outcome of each base arm, by name. Outcomes of arms that were removed from the
            campaign since the request are left out.
        ticket : Request, Ticket or int, optional
            The request, its ticket or its number. It can be omitted if exactly one ticket is pending.
        reward : float, optional
            The reward of the round, in any unit that all rounds share, such as people or euros. Every finite
            number is taken.
        played : collection, optional
            The names of the entries that were really played, if they differ from those of the request.
        key : str, optional
            A text that identifies this call. Another call with the same key and report has no effect. Use it
            if an answer can get lost.
        **seen
            A report in terms of the oracle, instead of `outcomes`. For influence these are ``joined=``, and
            ``carried=``, ``unseen=`` or ``known=`` (see `oracles.InfluenceOracle.feedback_of`).

        Raises
        ------
        ValueError
            As in `Session.tell`; or if a name is unknown, or the ticket cannot have led to this report.
        TypeError
            If `outcomes` is not a mapping, a list of pairs or a `Feedback`.
        cmab.errors.SameReportError, cmab.errors.OtherReportError
            If the ticket was reported before, with the same or with other content.
        cmab.errors.UnknownTicketError, cmab.errors.ClosedTicketError
            If the campaign never issued the ticket, or if it was cancelled.
        """
        report = {"outcomes": outcomes, "ticket": ticket, "reward": reward, "played": played, **seen}
        self._act(lambda: self._report_events("tell", key=key, **report))

    def tell_many(self, reports: Iterable[Mapping[str, Any]]) -> None:
        """Report the feedback of several tickets at once, which is faster than several calls of `tell`.

        The reports are stored together. If one of them is invalid, the campaign takes none.

        Parameters
        ----------
        reports : iterable of mappings
            The arguments of `tell` for each report, by name, such as
            ``{"ticket": 3, "outcomes": {"Ann": 1.0}}``.

        Raises
        ------
        ValueError
            As in `tell`. The message starts with the number of the first invalid report, from 1.
        TypeError
            As in `tell`, or if a report is not a mapping.
        """
        listed = list(reports)
        for report in listed:
            if not isinstance(report, Mapping):
                raise TypeError(f"reports must be mappings of arguments of tell, got {shown(report)}")

        def made() -> list[Event]:
            events: list[Event] = []
            for place, report in enumerate(listed):
                try:
                    for event in self._report_events("tell", **report):
                        if any(event.ticket == other.ticket for other in events):
                            raise ValueError(f"each ticket must be reported once, got {event.ticket} again")
                        if event.key is not None and any(event.key == other.key for other in events):
                            raise UsedKeyError(f"each report must have its own key, got {event.key} again")
                        events.append(event)
                except (TypeError, ValueError) as error:
                    error.args = (f"report {place + 1}: {error}", *error.args[1:])
                    raise
            return events

        self._act(made)

    def correct(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = math.nan,
        played: Collection[Hashable] | None = None,
        **seen: Any,
    ) -> None:
        """Replace the feedback that was reported for a ticket.

        The policy then has the state that it would have if `tell` had received this feedback originally.
        Requests that were made since then stay unchanged.

        Parameters
        ----------
        outcomes, reward, played, **seen
            As in `tell`. Without `played`, the names of the request were played.
        ticket : Request, Ticket or int
            The request, its ticket or its number. The ticket must have been reported before.
        """
        report = {"outcomes": outcomes, "ticket": ticket, "reward": reward, "played": played, **seen}
        self._act(lambda: self._report_events("correct", **report))

    def cancel(self, ticket: Request | Ticket | int) -> None:
        """Close a ticket without feedback; the policy learns nothing from it.

        Use this if a super arm was not played, or if its feedback will never arrive.

        Parameters
        ----------
        ticket : Request, Ticket or int
            The request, its ticket or its number.

        Raises
        ------
        cmab.errors.TicketError
            If the ticket is not pending.
        """
        self._act(lambda: [self._event("cancel", self._found(ticket)[0].ticket, {})])

    def undo(self) -> dict[str, Any]:
        """Undo the last tell, cancel or correction, and return its event as in `history`.

        A request that took the place of another one (``instead_of``) is cancelled in the same step.

        Raises
        ------
        cmab.errors.NothingToUndoError
            If there is no event to undo.
        cmab.errors.NewerEventsError
            If another process has told, cancelled, corrected or undone something since the last call of this
            campaign. Look at the last event of `history` and call `undo` again if that is the event to undo.
        """
        replica, known, undone = self._replica, self._replica.replay.number, list[Event]()

        def made() -> list[Event]:
            events = list(replica.store.read(kinds=_UNDONE_BY_UNDO))
            events = [event for event in events if not event.body.keys() & {"expired", "withdrawn"}]
            if events and events[-1].number > known:
                raise NewerEventsError(
                    "undo must take back an event that this campaign has read, got newer events of another"
                    " process; look at the last event of history(), and call undo() again"
                )
            former = {event.body["line"] for event in events if event.kind == "undo"}
            standing = [event for event in events if event.kind != "undo" and event.number not in former]
            if not standing:
                raise NothingToUndoError("undo must follow a tell, cancel or correction, got none left")
            undone[:] = [target] = standing[-1:]
            found = [self._event("undo", target.ticket, {"line": target.number})]
            if (new := target.body.get("replaced_by")) in replica.replay.pending:
                found.append(self._event("cancel", new, {"withdrawn": True}))
            return found

        self._act(made)
        return row_of(undone[0], replica.of.labels, True)

    def note(self, text: str) -> None:
        """Add an event with a text for the readers of `history`; the policy learns nothing from it."""
        self._act(lambda: [self._event("note", None, {"note": text})])

    def forget(self, name: Hashable) -> None:
        """Erase a name from the store. The rounds remain, under a number.

        Only the events that describe the learner have names; the others and the snapshots hold numbers. Erase
        the name from your own files, too: running processes use it as before, and if it is still in the graph
        the next time, it is a new name.

        Parameters
        ----------
        name : hashable
            The name of a person or an item; that of a tie is erased with its ends.

        Raises
        ------
        ValueError
            If the campaign does not have the name.
        """
        replica = self._replica
        with replica.acting():
            replica.catch_up()
            while bodies := replica.of.without(name, f"(forgotten {replica.replay.number + 1})"):
                if replica.write([self._event("forget", None, {})], erased=bodies):
                    return
        raise ValueError(f"name must be a name of the campaign, got {shown(name)}")

    def close(self) -> None:
        """Close the connections to the database; the next call opens them again."""
        self._replica.store.close()

    def _event(self, kind: str, ticket: int | None, body: Body, key: str | None = None) -> Event:
        """Return a new event, which gets its number when it is stored."""
        return Event(1, kind, ticket, time.time(), self._author, key, body)

    def _act(self, made: Callable[[], list[Event]]) -> None:
        """Store the events that `made` returns for the latest state."""
        replica = self._replica
        with replica.acting():
            while True:
                try:
                    events = made()
                except (ValueError, TypeError):
                    if replica.catch_up():  # the reason may be an event that was not read yet
                        continue
                    raise
                if not events or replica.write(events):
                    return

    def _found(self, ticket: Any, kind: str = "cancel") -> tuple[Event, Event | None]:
        """Return the ask of a ticket and its standing report, or raise the error that `kind` is not possible.

        A cancellation needs a pending ticket, a report one that may also have expired or be reported, and a
        correction one that was reported.
        """
        replica = self._replica
        pending = replica.replay.pending
        if ticket is None:
            if len(pending) != 1 or kind == "correct":
                raise ValueError(
                    f"ticket must be given unless exactly one is pending, got {len(pending)} pending"
                )
            return next(iter(pending.values())), None
        number = _number_of(ticket)
        own = ticket.ticket if isinstance(ticket, Request) else ticket
        if isinstance(own, Ticket) and own.session != replica.of.first["token"]:
            raise UnknownTicketError(f"ticket must be of this campaign, got number {number} of another one")
        if number in pending:
            if kind == "correct":
                raise ValueError(
                    f"ticket must be reported, got {number}, which is pending; tell() reports it"
                )
            return pending[number], None
        events = {e.number: e for e in replica.store.find(ticket=number) if e.number <= replica.replay.number}
        for each in standing_of(rows_of([*events.values()], replica.of.labels)):
            asked = events[each.asked["line"]]
            if each.told is not None:
                if kind == "cancel":
                    raise OtherReportError(
                        f"ticket must be pending, got {number}, which was reported before;"
                        f" correct({{}}, {number}) leaves its report out"
                    )
                return asked, events[each.told["line"]]
            is_expired = each.closed is not None and "expired" in each.closed
            if kind == "tell" and is_expired:
                return asked, None
            why = "has expired" if is_expired else "was cancelled"
            raise ClosedTicketError(f"ticket must be pending, got {number}, which {why}; ask for a new one")
        raise UnknownTicketError(
            f"ticket must be issued by this campaign, got {number}; pending: {tuple(pending)}"
        )

    def _report_events(
        self,
        kind: str,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = math.nan,
        played: Collection[Hashable] | None = None,
        key: str | None = None,
        **report: Any,
    ) -> list[Event]:
        """Return the event of a valid report, ``"tell"`` or ``"correct"``; none if it was sent before."""
        of = self._replica.of
        first = self._stored("tell", key, ticket)
        asked, told = self._found(ticket if first is None else first.ticket, kind)
        told = first or told  # a report with the same key must be equal, whatever was corrected since
        assert asked.ticket is not None
        others = {} if played is None else self._played_body(played, asked.body)
        of_ticket = of.ticket(asked.ticket, of.played(asked.body, others))
        former = of.labels[asked.body["names"]]
        if isinstance(report.get("outcomes"), Feedback) and former != of.labels[of.line]:
            raise ValueError(
                f"outcomes must be given by name, because ticket {asked.ticket} was issued with other names"
                " or in another order, got a Feedback, which has numbers"
            )
        removed = former.arms if of_ticket.gone else ()
        feedback = feedback_of(report, of_ticket, self.policy, of.arms, reward, removed)
        self._check_report(feedback, of_ticket)
        body = of.report_body(feedback) | others
        if kind == "correct":
            assert told is not None
            # A policy that cannot learn from the correction raises its error before it is stored.
            plain = feedback.plain if isinstance(feedback, CascadeFeedback) else feedback
            self.policy.update(self._replica.replay.twin().state, plain, of_ticket, np.random.default_rng(0))
            body["line"] = told.body.get("line", told.number)
        elif told is not None:
            is_same = of.content(told.body, asked.body) == of.content(body, asked.body)
            if is_same and first is not None:
                return []
            what = f"ticket must be pending, got {asked.ticket}, which was reported"
            if is_same:
                raise SameReportError(f"{what} with this content; nothing is left to do")
            if first is not None and asked.ticket in self._replica.replay.pending:
                raise UsedKeyError(f"key must be new, got {shown(key)} of a report that was taken back")
            raise OtherReportError(f"{what} before with other content; correct() replaces the report")
        return [self._event(kind, asked.ticket, body, key)]

    def _stored(self, kind: str, key: str | None, ticket: Any = None) -> Event | None:
        """Return the stored event with a key, or None; raise an error if the key is of another call."""
        same = () if key is None else self._replica.store.find(key=_checked_text("key", key))
        found = next(iter(same), None)
        if found and (found.kind != kind or (ticket is not None and found.ticket != _number_of(ticket))):
            raise UsedKeyError(
                f"key must be new or of this call, got {shown(key)} of the {found.kind} of"
                f" ticket {found.ticket}"
            )
        if found:
            self._replica.current()  # another process may have stored it, with the names of a new description
        return found

    def _played_body(self, played: Collection[Hashable], asked: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a report that says which entries were really played."""
        if self._replica.of.reserves or asked.get("context", {}).keys() - {"available"}:
            raise ValueError(
                "played must not be given if the policy has budgets or the round has costs or features, which"
                " are those of the request; cancel the request, and ask with names="
            )
        return self._replica.of.ask_body(self._own_choice(played)[0][0], None)

    def _check_report(self, feedback: Feedback, ticket: Ticket) -> None:
        """Raise the error of a report that cannot be true, or that the policy cannot learn from."""
        of = self._replica.of
        try:
            if feedback.is_hidden:
                check_hidden(feedback, self.policy)
            check_feedback(feedback, ticket, self.policy, self.support)
        except StrangeArms as error:
            names = [of.arms.own[arm] for arm in error.args[1]]
            played = [of.choices.own[entry] for entry in ticket.super_arm]
            raise ValueError(
                f"outcomes must be of base arms that ticket {ticket.number}, {shown(played)}, can trigger,"
                f" got also {shown(names)}"
            ) from None
        if isinstance(feedback, CascadeFeedback) and prior_of(self.policy) is not None:
            _ = feedback.problem  # raises an error if no outcomes explain the report


def _generator(rng: Seed) -> np.random.Generator:
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))


def _number_of(ticket: Any) -> int:
    return ticket.number if isinstance(ticket, Request | Ticket) else integer("ticket", ticket)


def _checked_text(name: str, text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= 200 or "\0" in text:
        raise ValueError(f"{name} must be a string of 1 to 200 characters without NUL, got {shown(text)}")
    return text


def _expired(replay: Replay) -> list[int]:
    """Return the pending tickets that are at least as old as tickets may be, the oldest first."""
    limit = replay.of.last["expires"]
    latest = -math.inf if limit is None else time.time() - limit
    return sorted(number for number, event in replay.pending.items() if event.at <= latest)


def _plain(value: Any) -> Any:
    """Return a value of the history for JSON, in which mappings with names become lists of pairs."""
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(part) for key, part in value.items()}
        return [[_plain(key), _plain(part)] for key, part in value.items()]
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
