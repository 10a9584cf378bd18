"""Campaigns identify arms by name, survive crashes, and can be shared by several processes."""

from __future__ import annotations

import copy
import logging
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cmab.arrays import IntArray
from cmab.bounds.certificate import RegretCertificate, certified, statistics_for, support_for
from cmab.campaign.names import forgotten
from cmab.campaign.posterior import (
    CascadeFeedback,
    Estimate,
    HiddenOutcomes,
    check_hidden,
    posterior,
    prior_of,
)
from cmab.campaign.replay import Body, Replay, Rewrites, Translation, standing_rounds, versions
from cmab.errors import (
    ClosedTicketError,
    DamagedStoreError,
    NewerEventsError,
    OtherReportError,
    SameReportError,
    StoreTimeoutError,
    UnknownTicketError,
    UsedKeyError,
)
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle, feedback_of
from cmab.policies.adaptive import learner_for
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
    support_of,
)
from cmab.validation import check_flag, integer, real, shown

if TYPE_CHECKING:
    from cmab.campaign.store import Event, Store
    from cmab.campaign.summary import Summary

Told = Feedback | Mapping[Any, Any] | Collection[tuple[Any, Any]]
Result = TypeVar("Result")

log = logging.getLogger("cmab.campaign")
_NONE = float("nan")
#: The number of events between two snapshots, usually and if outcomes are hidden.
_EVERY, _EVERY_HIDDEN = 1_000, 100
#: How often an ask that was overtaken chooses again. After that, its last choice is stored.
_CHOICES = 4
_UNDONE_BY_UNDO = ("tell", "cancel", "correct")


@dataclass(frozen=True, eq=False)
class Request:
    """The answer of `Campaign.ask`: play `names`, then report the feedback under this `number`.

    Attributes
    ----------
    number : int
        The number of the ticket, from 0. All processes that use the campaign share the count.
    names : tuple
        The names of the entries to play, for example people, edges or pairs. For an `Explorer`: the names of
        the base arms to sample.
    ticket : Ticket
        The ticket, which has the same entries by number.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.db"), rng=0)
    ...     campaign.ask()
    Request(number=0, names=(0, 1))
    """

    number: int
    names: tuple[Hashable, ...]
    ticket: Ticket

    def __repr__(self) -> str:
        return f"Request(number={self.number}, names={self.names!r})"

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Health:
    """The state of a campaign and its store, for monitoring.

    Attributes
    ----------
    store : str
        The address, without the password.
    events, rounds, told, pending : int
        The numbers of events, of tickets, and of reported and pending tickets.
    oldest_pending, last_told : float or None
        The seconds since the oldest pending ticket was issued, and since the last report.
    since_snapshot : int
        The number of events after the last snapshot, which a new process replays.
    overtaken, repeated : int
        How often this process was overtaken by another writer, and repeated a call of the database.
    error : str or None
        The last error of the policy in this process, for example a fit that failed.
    """

    store: str
    events: int
    rounds: int
    told: int
    pending: int
    oldest_pending: float | None
    last_told: float | None
    since_snapshot: int
    overtaken: int
    repeated: int
    error: str | None


class Campaign:
    """A learner that identifies arms by name and stores every event in a database.

    Each `ask`, `tell`, `cancel`, `correct` and `undo` adds an event, which is on the disk before the call
    returns. To continue after a crash or a restart, construct the campaign again with the same `where`.
    Several processes and threads can use the same campaign at the same time. No call holds a lock of the
    database, and reading calls do not wait for writing ones. A call that raises an error has changed nothing.

    Every call accepts ``timeout=``, the number of seconds to wait for the database.

    Parameters
    ----------
    learner : Policy, Explorer or Oracle
        The learner. For an oracle, it is `AdaptiveCTS` with the bounded interval `support`, or with [0, 1].
    where : str or path-like
        The path of a SQLite file, which ends with ``.db``, ``.sqlite`` or ``.sqlite3``;
        ``"sqlite:///PATH#NAME"``; or ``"postgresql://USER:PASSWORD@HOST/DATABASE#NAME"``. A database can hold
        many campaigns with different names. If the campaign does not exist, it is created.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The seed of a new campaign. An existing campaign has its own, so that `rng` has no effect on it.
    support : tuple of float, optional
        The interval that outcomes must lie in, as in `Session`. It is stored with the campaign.
    expires : datetime.timedelta or int, optional
        The age at which a ticket without a report is cancelled: a time, or a number of tickets that were
        issued after it. It is stored with the campaign. Each ask first cancels the tickets that have reached
        this age. A later report of such a ticket is still accepted. If omitted, the stored age applies.
    accept_changes : bool
        If False, raise ``ValueError`` and list the changes if the arms or the parameters of the learner
        differ from those in the store. If True, accept these changes, and compute the state from the events
        without a snapshot; use this also if the code of your own learner has changed. Statistics are matched
        by name, so a different order of the same names is always accepted.
    propensity_draws : int
        If positive, each ask is stored with its propensity and the propensities of its positions, estimated
        from this number of further choices if they are not known exactly (see `cmab.offline.Propensity`). An
        ask then takes as long as this number of asks. If 0, only propensities that the policy states
        (`Policy.propensity`) are stored.
    author : str, optional
        The name that each event of this object contains, for example of a person or a worker.
    timeout : float
        The number of seconds that a call waits for the database, also for one that is not started yet.

    Raises
    ------
    TypeError
        If `learner` is not a policy, an explorer or an oracle.
    ValueError
        If two arms have the same name, or a name is not a string, a number or a tuple of these; if the
        campaign has other names, another learner or another `support`; or if a budget is smaller than the
        amount already spent.
    cmab.errors.DamagedStoreError, cmab.errors.NewerVersionError
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
        expires: timedelta | int | None = None,
        accept_changes: bool = False,
        propensity_draws: int = 0,
        author: str | None = None,
        timeout: float = 120.0,
    ) -> None:
        check_flag("accept_changes", accept_changes)
        self._draws = integer("propensity_draws", propensity_draws, 0)
        self._author = _checked_author(author)
        limit, declared = _checked_age("expires", expires), interval_of(support)
        if hasattr(learner, "nodes") and hasattr(learner, "edges"):
            raise TypeError(
                "learner must be a policy, or an oracle such as InfluenceMaximization(graph, k), got the"
                " graph itself"
            )
        if not isinstance(learner, Oracle):
            check_policy_instance(learner)
        generator = _generator(copy.deepcopy(rng))
        self._shared = _Shared(_store(where, real("timeout", timeout, 0.0)), accept_changes)
        store = self._shared.store
        #: The number of events that actions expect; None for any number.
        self._expected: int | None = None
        is_there = store.exists()
        first = store.at(1) if is_there else None
        stored = declared if first is None else interval_of(first.body["support"])
        if is_there and declared is not None and stored != declared:
            raise ValueError(f"support must be that of {store.where}, {stored}, got {support}")
        self.policy: Policy[Any] = learner_for(learner, stored)
        self.support = support_of(self.policy, stored)
        self._shared.begin(self.policy)
        if not is_there:
            beginning = {
                "token": secrets.token_hex(8),
                "seed": int(generator.integers(2**63)),
                "support": None if declared is None else [repr(end) for end in declared],
                "expires": _age_body(limit),
            }
            self._shared.create(beginning, self._author)
        self._shared.open()
        check_budgets(self.policy, self._shared.replay.state)  # before anything is written
        self._check_learner(accept_changes)
        if expires is not None and _age_body(limit) != self._shared.of.last["expires"]:
            self._describe(expires=_age_body(limit))

    def _check_learner(self, accept_changes: bool) -> None:
        """Describe the learner and its names in a new event if they have changed and this is accepted."""
        of, where, learner = self._shared.of, self._shared.store.where, self._shared.learner
        kept = of.last["learner"]["class"]
        if kept != learner["class"]:
            raise ValueError(f"{where} must be a campaign of {learner['class']}, got {kept}")
        found = of.changes()
        if found and not accept_changes:
            raise ValueError(
                f"{where} must be a campaign of this learner, got other names or parameters:"
                f" {shown('; '.join(found), 400)}. To continue with the present names and parameters, pass"
                " accept_changes=True: Campaign then matches the statistics by name"
            )
        if found or versions() != of.last["versions"]:
            self._describe()

    def _describe(self, **more: Any) -> None:
        """Add an event with the present learner, its names and other options."""
        of = self._shared.of
        with self._shared.acting():
            while True:
                n_names = len(of.texts.stored)
                body = of.description() | {"expires": of.last["expires"]} | more
                event = self._shared.event("changed", None, body, self._author)
                if self._shared.write([event], names=of.texts.stored[n_names:], n_names=n_names):
                    return

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, in this or another process, is a campaign on the same store.
        shared = self._shared
        options = {"propensity_draws": self._draws, "author": self._author, "timeout": shared.store.timeout}
        made = partial(Campaign, accept_changes=shared.accept_changes, **options)
        return made, (self.policy, self.address)

    def __repr__(self) -> str:
        return f"Campaign({self.policy!r}, {self._shared.store.where!r})"

    # Reading.

    @property
    def address(self) -> str:
        """The path or URL that opens the campaign again, with the password."""
        return self._shared.store.address

    @property
    def pending(self) -> tuple[int, ...]:
        """The numbers of the pending tickets, which have no reported feedback."""
        return tuple(self._shared.current().pending)

    @property
    def is_done(self) -> bool:
        """Whether the stopping rule of an explorer holds or budgets are spent; False for other policies."""
        return self.policy.is_done(self._shared.current().state)

    @property
    def state(self) -> Any:
        """A copy of the state of the policy, without hidden outcomes."""
        return self._shared.current().twin().state

    @property
    def n_events(self) -> int:
        """The number of events, which grows with every action of any process."""
        return self._shared.current().number

    def recommend(self) -> list[Hashable]:
        """Return the names of the arms that the explorer currently recommends.

        Raises
        ------
        TypeError
            If the policy is not an `Explorer`.
        """
        if not isinstance(self.policy, Explorer):
            raise TypeError(f"policy must be an Explorer to recommend arms, got {type(self.policy).__name__}")
        return [self._shared.of.arms.own[arm] for arm in self.policy.recommend(self._shared.current().state)]

    def history(self, *, timeout: float | None = None) -> list[dict[str, Any]]:
        """Return all events by name, oldest first.

        Returns
        -------
        list of dict
            One dictionary for each event. It has ``line`` (its number), ``event`` (the kind), ``at`` (the
            time in UTC), ``undone``, ``author`` if the event has one, and the contents of the event.
        """
        with self._shared.store.within(timeout):
            self._shared.current()
            events = list(self._shared.store.read())
            rewrites, of = Rewrites.of(events), self._shared.of
            return [of.row(event, event.number in rewrites.undone) for event in events]

    def health(self, *, timeout: float | None = None) -> Health:
        """Return counts, ages and the last error, for monitoring."""
        shared, now = self._shared, time.time()
        with shared.store.within(timeout):
            replay, snapshots = shared.current(), shared.store.snapshots()
        oldest = min((event.at for event in replay.pending.values()), default=None)
        return Health(
            store=shared.store.where,
            events=replay.number,
            rounds=replay.asked,
            told=replay.told,
            pending=len(replay.pending),
            oldest_pending=None if oldest is None else now - oldest,
            last_told=None if replay.last_told is None else now - replay.last_told,
            since_snapshot=replay.number - (snapshots[0] if snapshots else 0),
            overtaken=shared.store.overtaken,
            repeated=shared.store.repeated,
            error=shared.error,
        )

    def completed_states(self, n: int, *, rng: Seed = 0) -> list[Any]:
        """Return states that are completed by hidden outcomes, drawn from their posterior.

        Use them to estimate means from reports of who joined, where the outcomes of some ties are hidden.

        Parameters
        ----------
        n : int
            The number of draws.
        rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
            The source of randomness of the draws.

        Returns
        -------
        list
            `n` states, or a copy of the present state if no outcome is hidden.
        """
        replay = self._shared.current()
        if replay.hidden is None:
            return [replay.twin().state]
        hidden, chain, generator = replay.hidden, self._shared.chain(replay).copy(), _generator(rng)
        found = []
        for _ in range(integer("n", n, 1)):
            chain = hidden.continued(chain, generator)
            found.append(hidden.completed(self.policy, replay.state, chain))
        return found

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
        level, prior = real("level", level, 0.0, 1.0, inside=True), prior_of(self.policy)
        if prior is None:
            raise ValueError(
                "policy must draw from Beta posteriors on the support (0, 1) to have estimates, got"
                f" {self.policy!r}"
            )
        replay = self._shared.current()
        if replay.hidden is None:
            chain = HiddenOutcomes(prior, replay.state).chain()
        else:
            chain = self._shared.chain(replay).copy()
        rows = zip(*(part.tolist() for part in posterior(chain, level, _generator(rng))), strict=True)
        return [Estimate(name, *row) for name, row in zip(self._shared.of.arms.own, rows, strict=True)]

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
            As in `regret_bound`.
        ValueError
            As in `regret_bound`, or if rounds had values, costs or features in their context, because their
            optimum differs from that of other rounds.
        """
        replay = self._shared.current()
        oracle, stats = statistics_for(self.policy, replay.state)
        return certified(
            oracle,
            stats,
            replay.played,
            delta=delta,
            support=support_for(self.policy, self.support),
            reward_range=reward_range,
            independent=independent,
            rng=rng,
        )

    def summary(self, *, delta: float | None = 0.05, timeout: float | None = None) -> Summary:
        """Return the number of reported rounds, their mean reward, statistics of the arms and a certificate.

        Parameters
        ----------
        delta : float, optional
            The probability with which a bound of the certificate is ever wrong, in (0, 1). If None, the
            summary has no certificate, which saves a few calls of the oracle.
        timeout : float, optional
            The number of seconds to wait for the database.

        Raises
        ------
        ValueError
            If `delta` is out of its range.
        """
        from cmab.campaign.summary import summary_of

        level = None if delta is None else real("delta", delta, 0.0, 1.0, inside=True)
        with self._shared.store.within(timeout):
            return summary_of(self, self._shared.current(), self._shared.rounds(), level)

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
        from cmab.campaign.summary import draw
        from cmab.plotting.style import written

        return written(draw(self.summary(delta=None), integer("most", most, 1), ax), path)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the campaign to a table or to a text file.

        Parameters
        ----------
        path : str or path-like
            A file that ends with ``.csv`` or ``.parquet`` gets the rounds, one row for each outcome (see
            `Log.rows`). A file that ends with ``.jsonl`` gets the history, one event in each line.
        """
        from cmab.campaign.summary import export_campaign

        export_campaign(self, path)

    # Acting.

    def ask(
        self,
        context: Context | None = None,
        *,
        available: Collection[Hashable] | None = None,
        instead_of: Request | Ticket | int | None = None,
        key: str | None = None,
        timeout: float | None = None,
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
            stored, or none.
        key : str, optional
            A text that identifies this call. Another call with the same key returns the same request, also
            in another process. Use it if an answer can get lost.
        timeout : float, optional
            The number of seconds to wait for the database.

        Raises
        ------
        ValueError
            As in `Session.ask`, or if a name is unknown.
        TypeError
            If `context` is not a `Context`.
        cmab.errors.TicketError
            If `instead_of` is not pending.
        """
        return self._ask(1, context, available, instead_of, key, timeout)[0]

    def ask_many(
        self,
        n: int,
        context: Context | None = None,
        *,
        available: Collection[Hashable] | None = None,
        timeout: float | None = None,
    ) -> list[Request]:
        """Return `n` requests at once, which is faster than `n` calls of `ask`.

        The requests are those of `n` calls of `ask` one after the other. They are stored together: if the
        call raises an error, none of them was issued.

        Parameters
        ----------
        n : int
            The number of requests, at least 1.
        context, available, timeout
            As in `ask`, for all of these requests.

        Raises
        ------
        ValueError
            As in `ask`, or if `n` is not a positive integer.

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
        return self._ask(integer("n", n, 1), context, available, None, None, timeout)

    def _ask(
        self,
        n: int,
        context: Context | None,
        available: Collection[Hashable] | None,
        instead_of: Any,
        key: str | None,
        timeout: float | None,
    ) -> list[Request]:
        shared = self._shared
        if context is not None:
            check_context(context, self.policy)
        if available is not None:
            context = self._restricted(context, available)
        with shared.store.within(timeout):
            if key is not None and (found := shared.store.with_key(_checked_key(key))) is not None:
                return [self._answered(found, key)]
            replay = shared.current() if shared.is_contended else shared.known()
            choice = self._chosen(n, replay, context, 0)
            for attempt in range(1, 1_000_000):
                with shared.acting():
                    events = self._ask_events(choice, context, instead_of, key)
                    if shared.write(events, expected=self._expected):
                        asked = [event for event in events if event.kind == "ask"]
                        return [self._request(event, context) for event in asked]
                if key is not None and (found := shared.store.with_key(key)) is not None:
                    return [self._answered(found, key)]
                if attempt < _CHOICES:
                    choice = self._chosen(n, shared.known(), context, attempt)
        raise AssertionError("the loop ends with a stored event")

    def _chosen(self, n: int, replay: Replay, context: Context | None, attempt: int) -> list[Any]:
        """Return the super arms, their pulls and propensities that the policy chooses, without a lock."""
        # A choice that is repeated has other random numbers, so that overtaken writers do not choose alike.
        salt = secrets.randbits(32) if attempt else 0
        found = []
        try:
            for number in range(replay.asked, replay.asked + n):
                rng = replay.of.generator(number, salt)
                state = self._shared.completed(replay, rng)
                super_arm, pulls = choose(self.policy, state, rng, context)
                found.append((super_arm, pulls, self._propensity(replay, number, super_arm, context)))
                if n > 1 and replay.of._reserves:
                    replay = replay.twin()
                    self.policy.reserve(replay.state, Ticket(number, super_arm, pulls, "", context))
        except Exception as error:
            self._shared.error = f"{type(error).__name__}: {error}"
            log.warning("%s: the policy cannot choose: %s", self._shared.store.where, self._shared.error)
            raise
        return found

    def _propensity(
        self, replay: Replay, number: int, super_arm: IntArray, context: Context | None
    ) -> dict[str, Any]:
        if replay.hidden is not None or isinstance(self.policy, Explorer):
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
        self, choice: list[Any], context: Context | None, instead_of: Any, key: str | None
    ) -> list[Event]:
        """Return the events of new tickets, after those of expired ones."""
        shared, replay = self._shared, self._shared.replay
        of, event = replay.of, partial(shared.event, author=self._author)
        limit = _age_of(of.last["expires"])
        former = None if instead_of is None else self._pending_event(instead_of).ticket
        events = []
        for ticket in [] if limit is None else _older(replay, limit):
            events.append(event("cancel", ticket, {"expired": True}, after=len(events)))
        for number, (super_arm, pulls, chances) in enumerate(choice, replay.asked):
            ticket = Ticket(number, super_arm, pulls, "", context)
            body = of.ask_body(ticket, **chances)
            events.append(event("ask", number, body, after=len(events), key=key))
        if former is not None and all(one.ticket != former for one in events):
            events.append(event("cancel", former, {}, after=len(events)))
        return events

    def _request(self, event: Event, context: Context | None = None) -> Request:
        of, number = self._shared.of, event.ticket
        assert number is not None
        names = tuple(of.choices.listed[place] for place in event.body["super_arm"])
        ticket = of.ticket(number, event.body)
        if context is not None:
            ticket = Ticket(number, ticket.super_arm, ticket.pulls, ticket.session, context, ticket.gone)
        return Request(number, names, ticket)

    def _answered(self, event: Event, key: str) -> Request:
        if event.kind != "ask":
            raise UsedKeyError(f"key must be of a request, got {shown(key)}, the key of a report")
        self._shared.current()
        return self._request(event)

    def tell(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        key: str | None = None,
        timeout: float | None = None,
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
        key : str, optional
            A text that identifies this call. Another call with the same key and ticket has no effect. Use it
            if an answer can get lost.
        timeout : float, optional
            The number of seconds to wait for the database.
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
        report = {"outcomes": outcomes, "ticket": ticket, "reward": reward, "costs": costs, **seen}
        with self._shared.store.within(timeout):
            if key is not None and self._is_answered(_checked_key(key), ticket):
                return
            try:
                self._act(lambda: [self._report_event("tell", 0, key=key, **report)])
            except SameReportError:
                if key is None or not self._is_answered(key, ticket):
                    raise

    def _is_answered(self, key: str, ticket: Any) -> bool:
        """Return whether a report with this key is stored; raise an error if it is another call."""
        found = self._shared.store.with_key(key)
        if found is None:
            return False
        if found.kind != "tell" or (ticket is not None and found.ticket != _number_of(ticket)):
            raise UsedKeyError(
                f"key must be new or of this report, got {shown(key)} of ticket {found.ticket}"
            )
        return True

    def tell_many(
        self,
        reports: Iterable[Mapping[str, Any]],
        *,
        corrections: Iterable[Mapping[str, Any]] = (),
        timeout: float | None = None,
    ) -> None:
        """Report the feedback of several tickets at once, which is faster than several calls of `tell`.

        The reports are stored together. If one of them is invalid, the campaign takes none.

        Parameters
        ----------
        reports : iterable of mappings
            The arguments of `tell` for each report, by name, such as
            ``{"ticket": 3, "outcomes": {"Ann": 1.0}}``.
        corrections : iterable of mappings
            The arguments of `correct` for each correction, which are stored together with the reports.
        timeout : float, optional
            The number of seconds to wait for the database.

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
        ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.db"), rng=0)
        ...     requests = campaign.ask_many(3)
        ...     campaign.tell_many([{"ticket": each, "outcomes": {}, "reward": 1.0} for each in requests])
        ...     campaign.pending
        ()
        """
        kinds = [("tell", report) for report in reports] + [("correct", report) for report in corrections]
        for _, report in kinds:
            if not isinstance(report, Mapping):
                raise TypeError(f"reports must be mappings of arguments of tell, got {shown(report)}")

        def made() -> list[Event]:
            events: list[Event] = []
            for kind, report in kinds:
                with _numbered(len(events) + 1):
                    event = self._report_event(kind, len(events), **report)
                    if any(event.ticket == other.ticket for other in events):
                        raise ValueError(f"each ticket must be reported once, got {event.ticket} again")
                events.append(event)
            return events

        with self._shared.store.within(timeout):
            self._act(made)

    def correct(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        timeout: float | None = None,
        **seen: Any,
    ) -> None:
        """Replace the feedback that was reported for a ticket.

        The policy then has the state that it would have if `tell` had received this feedback originally.
        Requests that were made since then stay unchanged.

        Parameters
        ----------
        outcomes, reward, costs, timeout, **seen
            As in `tell`.
        ticket : Request, Ticket or int
            The request, its ticket or its number. The ticket must have been reported before.

        Raises
        ------
        ValueError
            As in `tell`, or if no feedback has been reported for the ticket.
        """
        report = {"outcomes": outcomes, "ticket": ticket, "reward": reward, "costs": costs, **seen}
        with self._shared.store.within(timeout):
            self._act(lambda: [self._report_event("correct", 0, **report)])

    def cancel(
        self,
        ticket: Request | Ticket | int | None = None,
        *,
        older_than: timedelta | int | None = None,
        timeout: float | None = None,
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
        timeout : float, optional
            The number of seconds to wait for the database.

        Returns
        -------
        tuple of int
            The numbers of the cancelled tickets.

        Raises
        ------
        ValueError
            If neither or both of `ticket` and `older_than` are given.
        cmab.errors.TicketError
            If the ticket is not pending.
        """
        limit = _checked_age("older_than", older_than)
        if (ticket is None) == (limit is None):
            raise ValueError("either ticket or older_than must be given, got both or neither")

        def made() -> list[Event]:
            replay = self._shared.replay
            if limit is None:
                numbers: Sequence[Any] = [self._pending_event(ticket).ticket]
            else:
                numbers = _older(replay, limit)
            make = partial(self._shared.event, "cancel", body={}, author=self._author)
            return [make(number, after=at) for at, number in enumerate(numbers)]

        with self._shared.store.within(timeout):
            if limit is not None:
                self._shared.current()
            return tuple(event.ticket for event in self._act(made) if event.ticket is not None)

    def undo(self, *, timeout: float | None = None) -> dict[str, Any]:
        """Undo the last tell, cancel or correction, and return its event as in `history`.

        Raises
        ------
        ValueError
            If there is no event to undo.
        cmab.errors.NewerEventsError
            If another process has added events since the last call of this campaign. Look at the last event
            of `history` and call `undo` again if that is the event to undo.
        """
        shared = self._shared
        with shared.store.within(timeout), shared.acting():
            rewrites = Rewrites.of(shared.store.read(kinds=("correct", "undo")))
            target = shared.store.last(_UNDONE_BY_UNDO, rewrites.undone)
            if target is None or target.number > shared.replay.number:
                if shared.catch_up():
                    raise NewerEventsError(
                        "undo must take back an event that this campaign has read, got newer events of"
                        " another process; look at the last event of history(), and call undo() again"
                    )
                raise ValueError("undo must follow a tell, cancel or correction, got none left to undo")
            event = shared.event("undo", target.ticket, {"line": target.number}, self._author)
            expected = shared.replay.number if self._expected is None else self._expected
            if not shared.write([event], expected=expected):
                raise AssertionError("a write with an expected number is stored or raises an error")
            return shared.of.row(target, True)

    def forget(self, name: Hashable, *, timeout: float | None = None) -> None:
        """Erase a name from the store. The rounds remain, under a number.

        Names are in a table of their own; the events and snapshots hold their numbers only. Erase the name
        from your own files, too. If it is still in the graph the next time, it is a new name.

        Parameters
        ----------
        name : hashable
            The name of a person or an item; that of a tie is erased with its ends.
        timeout : float, optional
            The number of seconds to wait for the database.

        Raises
        ------
        ValueError
            If the campaign does not have the name.
        """
        shared = self._shared
        with shared.store.within(timeout), shared.acting():
            place = shared.of.texts.known_place(name)
            if place is None:
                raise ValueError(f"name must be a name of the campaign, got {shown(name)}")
            while True:
                event = shared.event("forget", None, {"name": place}, self._author)
                if shared.store.forget(place, forgotten(place), event):
                    shared.take([event])
                    return
                shared.catch_up()

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
        ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.db"), rng=0)
        ...     request = campaign.signed("Ann").ask()
        ...     campaign.history()[-1]["author"]
        'Ann'
        """
        return self._with(_author=_checked_author(author))

    def expecting(self, n_events: int) -> Campaign:
        """Return this campaign, whose actions are refused unless it has this number of events.

        The number is part of the primary key of the next event, so no other process can add an event between
        the comparison and the action. Use this if an action was decided on the events of `history`.

        Parameters
        ----------
        n_events : int
            The number of events, ``len(history())``. The actions of the returned campaign raise
            `cmab.errors.NewerEventsError` if there are newer events.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from cmab import CUCB, Campaign
        >>> from oracles import TopK
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.db"), rng=0)
        ...     decided = campaign.expecting(len(campaign.history()))
        ...     decided.ask().number
        0
        """
        return self._with(_expected=integer("n_events", n_events, 0))

    def _with(self, **changes: Any) -> Campaign:
        """Return this campaign with other attributes, on the same store and state."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other

    def close(self) -> None:
        """Close the connections to the database; the next call opens them again."""
        self._shared.store.close()

    def _act(self, made: Callable[[], list[Event]]) -> list[Event]:
        """Store the events that `made` returns for the latest state, and return them."""
        shared = self._shared
        with shared.acting():
            while True:
                try:
                    events = made()
                except (ValueError, TypeError):
                    if shared.catch_up():  # the reason may be an event that was not read yet
                        continue
                    raise
                if not events or shared.write(events, expected=self._expected):
                    return events

    def _pending_event(self, ticket: Any) -> Event:
        """Return the event of a pending ticket, or the error of a ticket that is not."""
        pending = self._shared.replay.pending
        if ticket is None:
            if len(pending) != 1:
                raise ValueError(
                    f"ticket must be given unless exactly one is pending, got {len(pending)} pending"
                )
            return next(iter(pending.values()))
        number = _number_of(ticket)
        found = pending.get(number)
        if found is None:
            raise self._not_pending(number)
        self._check_own(ticket, found)
        return found

    def _check_own(self, ticket: Any, event: Event) -> None:
        """Raise an error if a ticket is of another campaign."""
        own = ticket.ticket if isinstance(ticket, Request) else ticket
        is_other = isinstance(own, Ticket) and not own.session.startswith(
            f"{self._shared.of.first['token']}:"
        )
        if is_other:
            raise UnknownTicketError(
                f"ticket must be of this campaign, got number {event.ticket} of another one"
            )

    def _not_pending(self, number: int) -> ValueError:
        asked, told, is_cancelled = self._course_of(number)
        if asked is None:
            pending = tuple(self._shared.replay.pending)
            return UnknownTicketError(
                f"ticket must be issued by this campaign, got {number}; pending: {pending}"
            )
        if told is not None:
            return OtherReportError(f"ticket must be pending, got {number}, which was reported before")
        if is_cancelled:
            return ClosedTicketError(f"ticket must be pending, got {number}, which was cancelled")
        return ClosedTicketError(f"ticket must be pending, got {number}, which has expired")

    def _course_of(self, number: int) -> tuple[Event | None, Event | None, bool]:
        """Return the ask of a ticket, its standing report, and whether it was cancelled by hand."""
        store = self._shared.store
        events = [event for event in store.of_ticket(number) if event.number <= self._shared.replay.number]
        rewrites = Rewrites.of(events)
        standing = [event for event in events if event.number not in rewrites.undone]
        asked = next((event for event in standing if event.kind == "ask"), None)
        told = next((event for event in standing if event.kind == "tell"), None)
        closed = any(event.kind == "cancel" and not event.body.get("expired") for event in standing)
        if told is not None and told.number in rewrites.corrections:
            told = told._replace(body=rewrites.corrections[told.number].body)
        return asked, told, closed

    def _report_event(
        self,
        kind: str,
        after: int,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        costs: Mapping[Any, Any] | None = None,
        key: str | None = None,
        **seen: Any,
    ) -> Event:
        """Return the event of a valid report, of kind ``"tell"`` or ``"correct"``."""
        shared, of = self._shared, self._shared.of
        told: Event | None = None
        if kind == "tell" and (ticket is None or _number_of(ticket) in shared.replay.pending):
            asked = self._pending_event(ticket)
        else:
            if ticket is None:
                raise ValueError("ticket must be a Request, a Ticket or its number, got None")
            number = _number_of(ticket)
            found, told, is_cancelled = self._course_of(number)
            if found is None or (kind == "tell" and told is None and is_cancelled):
                raise self._not_pending(number)
            if kind == "correct" and told is None:
                why = (
                    "which is still pending; tell() reports it" if not is_cancelled else "which was cancelled"
                )
                raise ValueError(f"ticket must be one that was reported, got {number}, {why}")
            asked = found
            self._check_own(ticket, asked)
        assert asked.ticket is not None
        of_ticket = of.ticket(asked.ticket, asked.body)
        feedback = self._feedback_of(of_ticket, outcomes, reward, costs, seen)
        try:
            if feedback.is_hidden:
                check_hidden(feedback, self.policy)
            check_feedback(feedback, of_ticket, self.policy, self.support)
        except StrangeArms as error:
            names = [of.arms.own[arm] for arm in error.args[1]]
            played = [of.choices.own[entry] for entry in of_ticket.super_arm]
            raise ValueError(
                f"outcomes must be of base arms that ticket {asked.ticket}, {shown(played)}, can trigger, got"
                f" also {shown(names)}"
            ) from None
        if isinstance(feedback, CascadeFeedback) and prior_of(self.policy) is not None:
            _ = feedback.problem  # raises an error if no outcomes explain the report
        body = of.report_body(feedback)
        if kind == "correct":
            assert told is not None
            self._check_learnable(feedback, of_ticket)
            body["line"] = told.number
        elif told is not None:
            self._refuse_again(asked.ticket, told.body, body)
        return shared.event(kind, asked.ticket, body, self._author, after=after, key=key)

    def _refuse_again(self, number: int, told: Body, body: Body) -> None:
        """Raise the error of a second report."""
        kept = {name: value for name, value in told.items() if name != "line"}
        if kept == body:
            raise SameReportError(
                f"ticket must be pending, got {number}, which was reported with this content"
            )
        raise OtherReportError(
            f"ticket must be pending, got {number}, which was reported before with other content; correct()"
            " replaces the report"
        )

    def _check_learnable(self, feedback: Feedback, ticket: Ticket) -> None:
        """Raise the error of a policy that cannot learn from a correction, before it is stored."""
        told = feedback.plain if isinstance(feedback, CascadeFeedback) else feedback
        self.policy.update(self._shared.replay.twin().state, told, ticket, np.random.default_rng(0))

    def _restricted(self, context: Context | None, available: Collection[Hashable]) -> Context:
        """Return the context with the flags of the entries that are available by name."""
        if context is not None and context.available is not None:
            raise ValueError("available must be given once, by name or in the context, got both")
        if isinstance(available, str) or not isinstance(available, Collection):
            raise ValueError(f"available must be a list of names, got {shown(available)}")
        flags = np.zeros(len(self._shared.of.choices.own), np.bool_)
        flags[self._shared.of.choices.find(available)] = True
        rest = {} if context is None else {name: getattr(context, name) for name in context.parts}
        return Context(available=flags, **rest)

    def _feedback_of(
        self, ticket: Ticket, outcomes: Any, reward: float, costs: Any, seen: dict[str, Any]
    ) -> Feedback:
        """Return the feedback, by number, of a report by name."""
        if costs is not None and (seen or isinstance(outcomes, Feedback) or ticket.pulls != 1):
            raise ValueError(
                f"costs must be passed with outcomes by name, or be part of the Feedback, got {shown(costs)}"
            )
        if outcomes is None and not seen and not np.isnan(reward):
            return Feedback([], [], reward=reward)  # only the reward is known
        if (outcomes is None) == (not seen):
            given = (
                f"both outcomes and {', '.join(seen)}"
                if seen
                else "neither; outcomes={} reports that nothing was observed, and keeps only the reward"
            )
            raise ValueError(
                "a report must be outcomes, such as {name: 1.0}, or keywords of the oracle, such as joined"
                f" and carried for influence, got {given}"
            )
        if seen:
            if isinstance(self.policy, Explorer):
                raise ValueError(f"a report to an explorer must be outcomes, got {', '.join(seen)}")
            told = feedback_of(self.policy.oracle, ticket.super_arm, **seen)
            return told if np.isnan(reward) else told.with_reward(reward)
        if isinstance(outcomes, Feedback):
            if not np.isnan(reward):
                raise ValueError(f"reward must be part of the Feedback, got {shown(reward)} as an argument")
            return outcomes
        return self._by_name(ticket, _pairs(outcomes), reward, costs)

    def _by_name(self, ticket: Ticket, pairs: list[tuple[Any, Any]], reward: float, costs: Any) -> Feedback:
        """Return the feedback of outcomes by name."""
        names, values = zip(*pairs, strict=True) if pairs else ((), ())
        arms = self._shared.of.arms.find(names)
        if ticket.pulls == 1:
            for name, outcome in pairs:
                if outcome is None or (isinstance(outcome, float) and np.isnan(outcome)):
                    raise ValueError(
                        f"outcomes must be numbers, got {outcome} of {shown(name)}; leave out unobserved"
                        " outcomes"
                    )
            if costs is None and set(map(type, values)) == {float}:  # the usual case: the arrays are plain
                return Feedback(np.array(arms), np.array(values), reward=reward)
            rows = None if costs is None else self._costs(arms, _pairs(costs, "costs"))
            return Feedback(arms, list(values), reward=reward, costs=rows or None)
        for name, drawn_of in pairs:
            if np.shape(drawn_of) != (ticket.pulls,):
                raise ValueError(
                    f"outcomes must be lists of {ticket.pulls} each, got {shown(drawn_of)} of {name!r}"
                )
        drawn = np.array(values, np.float64).reshape(len(arms), ticket.pulls)
        pulls, squares = np.full(len(arms), drawn.shape[1]), (drawn**2).sum(axis=1)
        return Feedback(arms, drawn.sum(axis=1), reward=reward, pulls=pulls, squares=squares)

    def _costs(self, arms: list[int], pairs: list[tuple[Any, Any]]) -> list[Any]:
        """Return the resource use of each of these arms, from pairs of names and numbers."""
        found = self._shared.of.arms.find([name for name, _ in pairs])
        rows = {arm: used for arm, (_, used) in zip(found, pairs, strict=True)}
        if set(rows) != set(arms):
            names = [self._shared.of.arms.own[arm] for arm in sorted(set(rows) ^ set(arms))]
            raise ValueError(f"costs must have the same arms as outcomes, got a difference in {shown(names)}")
        return [rows[arm] for arm in arms]


class _Shared:
    """The store and the state in memory that the objects of `Campaign.signed` share.

    The state is replaced and never changed, so threads that read need no lock.
    """

    def __init__(self, store: Store, accept_changes: bool) -> None:
        self.store, self.accept_changes = store, accept_changes
        #: Whether another process has overtaken the last write of this one.
        self.is_contended = False
        self.error: str | None = None
        self.of: Translation
        self.replay: Replay
        self._policy: Policy[Any]
        self._lock, self._chain_lock = threading.RLock(), threading.RLock()
        _all_shared.add(self)

    def begin(self, policy: Policy[Any]) -> None:
        """Set the policy, and check its names before anything is stored."""
        self._policy, self.of = policy, Translation(policy)
        self.learner = self.of.description()["learner"]

    def create(self, beginning: Body, author: str | None) -> None:
        """Create the campaign, unless another process does."""
        of = Translation(self._policy)
        body = of.description() | beginning
        self.store.create([_event(1, "campaign", None, body, author)], of.texts.stored)

    def forked(self) -> None:
        """Start again in a child process, whose locks other threads of the parent may hold."""
        self._lock, self._chain_lock = threading.RLock(), threading.RLock()
        self.__dict__.pop("replay", None)

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Hold the lock of the actions of this process."""
        if not self._lock.acquire(timeout=max(self.store.left(), 0.001)):
            raise StoreTimeoutError(f"{self.store.where}: another call of this process has not ended in time")
        try:
            if "replay" not in self.__dict__:
                self.open()
            yield
        finally:
            self._lock.release()

    def known(self) -> Replay:
        """Return the state that this process knows."""
        if "replay" not in self.__dict__:
            with self.acting():
                pass
        return self.replay

    def current(self) -> Replay:
        """Return the state after the events of all processes, or the known one while an action runs."""
        self.known()
        if self._lock.acquire(blocking=False):
            try:
                self.catch_up()
            finally:
                self._lock.release()
        return self.replay

    def open(self) -> None:
        """Compute the state of all events, from a snapshot if possible."""
        with self._lock:
            if not self.store.exists():
                raise DamagedStoreError(
                    f"{self.store.where} must have a campaign, got none; restore a backup"
                )
            of = Translation(self._policy, self.store.names())
            for event in self.store.read(kinds=("campaign", "changed")):
                of.learn(event)
            self.of = of
            self._replay()

    def event(
        self,
        kind: str,
        ticket: int | None,
        body: Body,
        author: str | None = None,
        *,
        after: int = 0,
        key: str | None = None,
    ) -> Event:
        """Return an event with the next number, or that of `after` events later."""
        return _event(self.replay.number + 1 + after, kind, ticket, body, author, key)

    def write(
        self,
        events: Sequence[Event],
        *,
        expected: int | None = None,
        names: Sequence[str] = (),
        n_names: int = 0,
    ) -> bool:
        """Store events that follow the known ones; if the writer was overtaken, read newer events.

        Raises
        ------
        NewerEventsError
            If `expected` is given, and the campaign has another number of events.
        """
        is_rewrite = any(event.kind in ("correct", "undo") for event in events)
        is_current = expected is None or expected == self.replay.number
        after = None if is_rewrite or not is_current else self._after(self.replay, events)
        if is_current and self.store.append(events, names, n_names):
            self.is_contended = False
            for event in events:
                self._describe(event)
            before = self.replay.number
            self._publish(after)
            # The process that writes the event with a round number stores the snapshot.
            if self.replay.number // self._every > before // self._every:
                self._keep_snapshot()
            return True
        self.is_contended = True
        self.catch_up()
        if expected is not None and self.replay.number != expected:
            raise NewerEventsError(
                f"{self.store.where} must have the {expected:,} events that were read before, got"
                f" {self.replay.number:,}; read them again"
            )
        return False

    def take(self, events: Sequence[Event]) -> None:
        """Process stored events that follow the known ones."""
        for event in events:
            self._describe(event)
        is_rewrite = any(event.kind in ("correct", "undo") for event in events)
        self._publish(None if is_rewrite else self._after(self.replay, events))

    def catch_up(self) -> bool:
        """Process the events of other processes; return whether there were any."""
        events = self.store.newer(self.replay.number)
        if events:
            self.take(events)
        return bool(events)

    def rounds(self) -> list[Any]:
        """Return all rounds as they stand."""
        return list(standing_rounds(self.store.read()))

    def chain(self, replay: Replay) -> Any:
        """Return the chain of the hidden outcomes, which is extended by one thread at a time."""
        assert replay.hidden is not None
        with self._chain_lock:
            return replay.hidden.chain()

    def completed(self, replay: Replay, rng: np.random.Generator) -> Any:
        """Return the state for a choice, completed by drawn outcomes if some are hidden."""
        if replay.hidden is None:
            return replay.state
        chain = replay.hidden.continued(self.chain(replay).copy(), rng)
        return replay.hidden.completed(self._policy, replay.state, chain)

    def _after(self, replay: Replay, events: Sequence[Event]) -> Replay:
        """Return the state after further events."""
        twin = replay.twin()
        for event in events:
            twin.apply(event, self._ask_of)
        return twin

    def _publish(self, after: Replay | None) -> None:
        """Replace the state. After a correction or an undo, compute it from the events."""
        if after is None:
            self._replay()
        else:
            self.replay = after

    @property
    def _every(self) -> int:
        """The number of events between two snapshots."""
        return _EVERY if self.replay.hidden is None else _EVERY_HIDDEN

    def _describe(self, event: Event) -> None:
        """Take over the names of a description of another process, or a forgotten name."""
        if event.kind == "changed" and event.number > self.of.descriptions[-1].line:
            for name in self.store.names()[len(self.of.texts.stored) :]:
                self.of.texts.add(name)
            self.of.learn(event)
        elif event.kind == "forget":
            self.of.forget(event.body["name"])

    def _ask_of(self, ticket: int) -> Event:
        """Return the event of a ticket that is not pending."""
        return next(event for event in self.store.of_ticket(ticket) if event.kind == "ask")

    def _replay(self) -> None:
        """Compute the state of all events, from the last snapshot that corrections leave valid."""
        rewrites = Rewrites.of(self.store.read(kinds=("correct", "undo")))
        replay = self._snapshot(rewrites) or Replay.fresh(self.of)
        first = replay.number
        for event in self.store.read(first):
            if event.kind == "changed":
                self._describe(event)
            if event.number in rewrites.undone:
                replay.number = event.number
            else:
                replay.apply(event, self._ask_of, rewrites.corrections.get(event.number))
        self.replay = replay
        if replay.number - first > self._every:
            self._keep_snapshot()

    def _snapshot(self, rewrites: Rewrites) -> Replay | None:
        """Return the state of the last valid snapshot."""

        def reports(number: int) -> list[CascadeFeedback]:
            found = []
            for event in self.store.read(kinds=("tell",)):
                if event.number <= number and event.number not in rewrites.undone:
                    body = rewrites.corrections.get(event.number, event).body
                    if "cascade" in body and event.ticket is not None:
                        found.append(self.of.feedback(body, self._ask_of(event.ticket).body))
            return found  # type: ignore[return-value]

        if self.accept_changes:
            return None
        for number in self.store.snapshots():
            if not rewrites.allow(number):
                continue
            data = self.store.snapshot(number)
            try:
                found = None if data is None else Replay.unpacked(self.of, data, reports)
            except (ValueError, KeyError) as error:
                log.warning(
                    "%s: the snapshot after event %d is not used: %s", self.store.where, number, error
                )
                continue
            if found is not None:
                return found
        return None

    def _keep_snapshot(self) -> None:
        """Store a snapshot if possible; without one, a new process replays more events."""
        try:
            self.store.keep_snapshot(self.replay.number, self.replay.packed())
        except (ValueError, OSError) as error:
            log.warning("%s: no snapshot was stored: %s", self.store.where, error)


_all_shared: weakref.WeakSet[_Shared] = weakref.WeakSet()


def _in_child() -> None:
    for shared in list(_all_shared):
        shared.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _store(where: str | os.PathLike[str], timeout: float) -> Store:
    try:
        from cmab.campaign.store import Store
    except ImportError as error:
        raise ImportError(f'Campaign needs SQLAlchemy: pip install "cmab[campaign]" ({error})') from None
    return Store(where, timeout)


def _event(
    number: int, kind: str, ticket: int | None, body: Body, author: str | None, key: str | None = None
) -> Event:
    from cmab.campaign.store import Event

    return Event(number, kind, ticket, time.time(), author, key, body)


def _generator(rng: Seed) -> np.random.Generator:
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))


def _number_of(ticket: Any) -> int:
    if isinstance(ticket, Request | Ticket):
        return ticket.number
    return integer("ticket", ticket)


def _checked_author(author: Any) -> str | None:
    is_text = isinstance(author, str) and 0 < len(author) <= 200 and author.isprintable()
    if author is not None and not is_text:
        raise ValueError(f"author must be a printable string of 1 to 200 characters, got {shown(author)}")
    return author  # type: ignore[no-any-return]


def _checked_key(key: Any) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= 200:
        raise ValueError(f"key must be a string of 1 to 200 characters, got {shown(key)}")
    return key


def _checked_age(name: str, value: Any) -> timedelta | int | None:
    """Return a validated age: a time, a number of rounds, or None."""
    if value is None or isinstance(value, timedelta):
        if value is not None and value < timedelta(0):
            raise ValueError(f"{name} must be a time of at least 0, got {value}")
        return value
    return integer(name, value, 0)


def _age_body(age: timedelta | int | None) -> Any:
    return {"seconds": age.total_seconds()} if isinstance(age, timedelta) else age


def _age_of(body: Any) -> timedelta | int | None:
    return timedelta(seconds=body["seconds"]) if isinstance(body, dict) else body


def _older(replay: Replay, limit: timedelta | int) -> list[int]:
    """Return the pending tickets that are at least as old as `limit`, the oldest first.

    The age of a ticket in rounds is the number of tickets that were issued after it.
    """
    if isinstance(limit, timedelta):
        latest = time.time() - limit.total_seconds()
        return sorted(number for number, event in replay.pending.items() if event.at <= latest)
    return sorted(number for number in replay.pending if replay.asked - 1 - number >= limit)


def _pairs(outcomes: Any, what: str = "outcomes") -> list[tuple[Any, Any]]:
    """Return the pairs of names and outcomes in a mapping, or in a list of pairs as JSON has them."""
    if isinstance(outcomes, str) or not isinstance(outcomes, Collection):
        raise TypeError(f"{what} must be a mapping of names to {what}, got {shown(outcomes)}")
    pairs = list(outcomes.items() if isinstance(outcomes, Mapping) else outcomes)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(
                f"{what} must be a mapping of names to {what}, or a list of such pairs, got {shown(pair)}"
            )
    return pairs


@contextmanager
def _numbered(place: int) -> Iterator[None]:
    """Add the number of a report to the errors of a block."""
    try:
        yield
    except (TypeError, ValueError) as error:
        error.args = (f"report {place}: {error}", *error.args[1:])
        raise
