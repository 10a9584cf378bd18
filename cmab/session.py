"""Sessions, which run a policy on rounds that are played outside the program."""

from __future__ import annotations

import os
import secrets
import threading
import zlib
from collections.abc import Collection
from copy import copy, deepcopy
from typing import IO, Any, Generic

import numpy as np

from cmab import archive
from cmab._ask_tell import (
    check_budgets,
    check_context,
    check_feedback,
    choose,
    in_form,
    interval_of,
    names_of,
    only,
    prior_of,
    range_of_choices,
    support_of,
)
from cmab.archive import moved, position_of
from cmab.arrays import FloatArray, IntArray
from cmab.bounds.certificate import (
    Played,
    RegretCertificate,
    certified,
    note_round,
    statistics_for,
    support_for,
)
from cmab.campaign.posterior import CascadeFeedback, Estimate, HiddenOutcomes, posterior
from cmab.exploration.certificate import Certificate, certificate
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle
from cmab.policies.adaptive import learner_for
from cmab.policies.compiled_policy import restorer
from cmab.policy import Policy, State, check_policy_instance
from cmab.seeding import Seed, root
from cmab.statistics import ArmStatistics
from cmab.validation import integer, real, shown

#: The format of saved sessions.
_FORMAT = 6


class Session(Generic[State]):
    """A policy with its state and its random generator, for rounds that are played outside the program.

    `ask` returns a ticket with a super arm. Play it, then report the observed feedback with `tell`. Several
    tickets can be pending at the same time, and their feedback can arrive late and in any order. The policy's
    round counter counts the reported rounds.

    Several threads can share a session, because its methods lock it. A call that raises an error changes
    nothing.

    Parameters
    ----------
    policy : Policy, Explorer or Oracle
        The policy or explorer that chooses and learns. For an oracle, it is `AdaptiveCTS` with the bounded
        interval `support`, or with [0, 1].
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The seed of the policy's own randomness.
    support : tuple of float, optional
        The interval of valid outcomes: `tell` rejects outcomes outside it. The default is the support of the
        policy, or all numbers if the policy has no support or does not learn. If outcomes can be unbounded,
        pass ``(-np.inf, np.inf)``. The confidence bounds of the policy then remain valid under two
        conditions: the means are in the policy's support, and the outcomes are sub-Gaussian with a scale of
        at most half the length of this support. The certificates of explorers do not remain valid, so for an
        explorer the interval must be within its support.

    Raises
    ------
    TypeError
        If `policy` is not a policy, for example if it is the class and not an instance.
    ValueError
        If `support` is not an interval, or is wider than the support of an explorer.

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

    def __init__(
        self, policy: Policy[State] | Oracle, rng: Seed = None, *, support: tuple[float, float] | None = None
    ) -> None:
        learner: Policy[State] = learner_for(policy, interval_of(support))
        check_policy_instance(learner)
        self.policy = learner
        self.rng = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
        self.state = learner.initial_state(self.rng)
        self._set_support(support)
        # The name tells the tickets of this session from those of other sessions and of copies.
        self._id = secrets.token_hex(8)
        self._asked = 0
        self._open: dict[int, Ticket] = {}
        self._played = Played()
        #: The reports with hidden outcomes, from the first one on.
        self._hidden: HiddenOutcomes | None = None
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        with self._lock:
            return f"Session({self.policy!r}, asked={self._asked}, pending={len(self._open)})"

    def __getstate__(self) -> dict[str, Any]:
        # A copy or pickle has its own lock, state and generator, all from the same moment.
        with self._lock:
            own = {"_open": dict(self._open), "state": archive.copied(self.state), "rng": deepcopy(self.rng)}
            own |= {"_played": copy(self._played), "_hidden": copy(self._hidden)}
            return {**self.__dict__, **own, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    @property
    def pending(self) -> tuple[int, ...]:
        """The numbers of the pending tickets, which have no reported feedback."""
        with self._lock:
            return tuple(self._open)

    @property
    def is_done(self) -> bool:
        """Whether the stopping rule of an explorer holds or budgets are spent; False for other policies."""
        with self._lock:
            return self.policy.is_done(self.state)

    @property
    def budgets_left(self) -> FloatArray:
        """Lower bounds on the remaining budgets (`PrimalDualCUCB`); empty for policies without budgets."""
        with self._lock:
            left = getattr(self.policy, "budgets_left", None)
            return np.empty(0) if left is None else np.array(left(self.state), np.float64)

    @property
    def change_points(self) -> IntArray:
        """The rounds after which the policy restarted, as `GLRRestart` does when it detects a change."""
        with self._lock:
            # The state of any policy can have this attribute.
            return np.array(getattr(self.state, "restarts", ()), np.int64)

    def recommend(self) -> IntArray:
        """Return the arms that the explorer currently recommends.

        Raises
        ------
        TypeError
            If the policy is not an `Explorer`.
        """
        if not isinstance(self.policy, Explorer):
            raise TypeError(f"policy must be an Explorer to recommend arms, got {type(self.policy).__name__}")
        with self._lock:
            return self.policy.recommend(self.state)

    def certificate(self) -> Certificate:
        """Return the explorer's current certificate: the arms, their guarantee and the distance to stopping.

        Raises
        ------
        TypeError
            If the policy is not an `Explorer`.
        """
        if not isinstance(self.policy, Explorer):
            raise TypeError(f"policy must be an Explorer to certify arms, got {type(self.policy).__name__}")
        with self._lock:
            return certificate(self.policy, self.state)

    def regret_bound(
        self,
        *,
        delta: float = 0.05,
        reward_range: tuple[float, float] | None = None,
        independent: bool = False,
        rng: Seed = 0,
    ) -> RegretCertificate:
        """Return an upper bound on the regret so far and on the gap of the present choice.

        The regret is that of the rounds with feedback. If some entries were unavailable in a round, the round
        is compared to the best super arm of all entries.

        Parameters
        ----------
        delta, reward_range, independent, rng
            As in `regret_bound`. The session knows the rewards, the unreported outcomes and the support.

        Raises
        ------
        TypeError
            If the policy is an explorer, or if its state is not an `ArmStatistics`.
        ValueError
            As in `regret_bound`, or if rounds had values, costs or features in their context, because their
            optimum differs from that of other rounds.

        Examples
        --------
        >>> from cmab import CUCB, Feedback, Session
        >>> from oracles import TopK
        >>> session = Session(CUCB(TopK(2, k=1)), rng=0)
        >>> for _ in range(200):
        ...     ticket = session.ask()
        ...     session.tell(Feedback(ticket, [0.9 if ticket.super_arm[0] == 1 else 0.1]))
        >>> session.regret_bound(delta=0.1)
        RegretCertificate(...)
        """
        with self._lock:
            policy, state, played = self.policy, archive.copied(self.state), copy(self._played)
            support = self.support
        oracle, stats = statistics_for(policy, state)
        return certified(
            oracle,
            stats,
            played,
            delta=delta,
            support=support_for(policy, support),
            reward_range=reward_range,
            independent=independent,
            rng=rng,
        )

    def estimates(self, *, level: float = 0.9, rng: Seed = 0) -> list[Estimate]:
        """Return the posterior of the mean of each base arm, from observed and hidden outcomes.

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

        Examples
        --------
        >>> import networkx as nx
        >>> from cmab import CTS, Session
        >>> from oracles import DegreeHeuristic
        >>> oracle = DegreeHeuristic(nx.DiGraph([("ann", "bob"), ("ann", "cy")]), k=1)
        >>> session = Session(CTS(oracle), rng=0)
        >>> for _ in range(8):
        ...     ticket = session.ask()
        ...     session.tell(oracle.feedback_of(ticket.super_arm, joined=["bob"]), ticket)
        >>> [(name, round(mean, 2)) for name, mean, low, high in session.estimates()]
        [(('ann', 'bob'), 0.9), (('ann', 'cy'), 0.1)]
        """
        level, prior = real("level", level, 0.0, 1.0, inside=True), prior_of(self.policy)
        if prior is None:
            raise ValueError(
                "policy must draw from Beta posteriors on the support (0, 1) to have estimates, got"
                f" {self.policy!r}"
            )
        with self._lock:
            state: Any = self.state
            told = HiddenOutcomes(prior, state) if self._hidden is None else self._hidden
            chain = told.chain().copy()
        generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
        names = names_of(self.policy.oracle)[1]
        found = (part.tolist() for part in posterior(chain, level, generator))
        return [Estimate(*row) for row in zip(names, *found, strict=True)]

    def ask(self, context: Context | None = None, *, available: Collection[int] | None = None) -> Ticket:
        """Return a new ticket with the super arm to play.

        Parameters
        ----------
        context : Context, optional
            The context of the round.
        available : collection of int, optional
            The numbers of the entries that can be chosen in this round. If omitted, those of the context, or
            all of them. `Context.available` has a flag for each entry instead.

        Raises
        ------
        ValueError
            If the oracle of the policy returns a super arm that does not consist of distinct integers in its
            range, or that contains unavailable entries; or if the policy cannot use the context; or if
            `available` repeats a number or contains one that no entry has.
        TypeError
            If `context` is not a `Context`.

        Examples
        --------
        >>> from cmab import CUCB, Session
        >>> from oracles import TopK
        >>> Session(CUCB(TopK(n_arms=5, k=2)), rng=0).ask(available=[1, 3, 4]).super_arm
        array([1, 3])
        """
        if context is not None:
            check_context(context, self.policy)
        if available is not None:
            context = only(context, available, range_of_choices(self.policy))
        with self._lock:
            before = position_of(self.rng)
            try:
                super_arm, pulls = choose(self.policy, self._believed(), self.rng, context)
            except BaseException:
                self.rng = moved(self.rng, before)  # so that a repeated call gives the same answer
                raise
            number = self._asked
            # The caller may change the returned array, so the session keeps its own copy.
            ours = self._ticket(number, super_arm.copy(), pulls, context)
            self.policy.reserve(self.state, ours)
            self._open[number] = ours
            self._asked += 1
            return Ticket(number, super_arm, pulls, ours.session, context)

    def cancel(self, ticket: Ticket | int) -> None:
        """Close a ticket without feedback; the policy learns nothing from it.

        Use this if the super arm was not played, or if its feedback will never arrive.

        Parameters
        ----------
        ticket : Ticket or int
            The ticket or its number.

        Raises
        ------
        ValueError
            If the ticket is from another session, was never issued, or was already reported or cancelled.
        """
        with self._lock:
            if ticket is None:
                raise ValueError("ticket must be a Ticket or its number, got None")
            del self._open[self._find(ticket).number]

    def tell(self, feedback: Feedback, ticket: Ticket | int | None = None) -> None:
        """Report the feedback of a ticket and update the policy.

        Parameters
        ----------
        feedback : Feedback
            The observed outcomes. For a policy: outcomes of base arms that the super arm of the ticket can
            trigger. For an explorer: outcomes of all arms of the ticket, with the requested number of pulls.
        ticket : Ticket or int, optional
            The ticket or its number. It can be omitted if exactly one ticket is pending.

        Raises
        ------
        ValueError
            If the ticket is from another session, was never issued, was already reported, or is omitted while
            several are pending; if the ticket cannot trigger an arm; or if an outcome is outside `support`.
        TypeError
            If `feedback` is not a `Feedback`.
        """
        if not isinstance(feedback, Feedback):
            raise TypeError(f"feedback must be a Feedback(arms, outcomes, reward), got {shown(feedback)}")
        with self._lock:
            told = self._find(ticket)
            check_feedback(feedback, told, self.policy, self.support)
            # If the update fails, the session restores the state before it.
            restored, drawn = restorer(self.policy, self.state, feedback), position_of(self.rng)
            try:
                self._learn(feedback, told)
            except BaseException:
                self.state, self.rng = restored(), moved(self.rng, drawn)
                raise
            del self._open[told.number]

    def _learn(self, feedback: Feedback, told: Ticket) -> None:
        """Update the state with the observed outcomes, and keep a report with hidden outcomes."""
        hidden, prior = self._hidden, prior_of(self.policy) if feedback.is_hidden else None
        state: Any = self.state
        if isinstance(feedback, CascadeFeedback):
            if prior is not None:
                _ = feedback.problem  # raises an error before anything is changed
                hidden = HiddenOutcomes(prior, state) if hidden is None else hidden
            observed = feedback.plain
        else:
            observed = feedback
        self.policy.update(self.state, observed, told, self.rng)
        note_round(self._played, self.policy, told, observed)
        if hidden is not None:
            hidden.tell(feedback)
            self._hidden = hidden

    def _believed(self) -> State:
        """Return the state, completed by hidden outcomes that are drawn from their posterior."""
        if self._hidden is None:
            return self.state
        state: Any = self.state
        chain = self._hidden.drawn(self.rng)
        completed: Any = self._hidden.completed(self.policy, state, chain)
        return completed  # type: ignore[no-any-return]

    def completed_states(self, n: int, *, rng: Seed = 0) -> list[State]:
        """Return states that are completed by hidden outcomes, drawn from their posterior.

        Use them to estimate means from reports of who joined, where the outcomes of some ties are hidden. The
        session does not change.

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

        Examples
        --------
        >>> import networkx as nx
        >>> from cmab import Session
        >>> from oracles import InfluenceMaximization
        >>> oracle = InfluenceMaximization(nx.DiGraph([(0, 1), (1, 2)]), k=1)
        >>> session = Session(oracle, rng=0)
        >>> session.tell(oracle.feedback_of(session.ask().super_arm, joined=[0, 1]))
        >>> [state.counts.tolist() for state in session.completed_states(1)]
        [[1, 1]]
        """
        n = integer("n", n, 1)
        with self._lock:
            if self._hidden is None:
                return [archive.copied(self.state)]
            chain, state = self._hidden.chain().copy(), self.state
            source = np.random.default_rng(root(rng))
            drawn: list[Any] = []
            for _ in range(n):
                chain = self._hidden.continued(chain, source)
                drawn.append(self._hidden.completed(self.policy, state, chain))  # type: ignore[arg-type]
            return drawn

    def with_policy(self, policy: Policy[Any]) -> Session[Any]:
        """Return a session that continues with another policy; statistics are matched by name.

        Use this if arms, people or edges were added or removed, or for another policy on the same statistics.
        This session does not change. The statistics of removed arms are dropped; a `Campaign` keeps them.

        Parameters
        ----------
        policy : Policy
            A policy with plain `ArmStatistics` as state. The state of the present policy must be plain
            `ArmStatistics`, too. Arms are matched by the `arm_labels` of the oracle: nodes and edges of a
            graph, the names from `Oracle.named`, and otherwise the numbers of the arms.

        Raises
        ------
        TypeError
            If `policy` is not a policy.
        ValueError
            If the state of a policy is not plain `ArmStatistics`; or if a ticket is pending and the numbers
            of existing entries change, because feedback identifies arms by number.

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
        if self._hidden is not None and (names[0] != names[1] or prior_of(policy) is None):
            raise ValueError(
                "policy must have the same arms and draw from Beta posteriors after reports with hidden"
                f" outcomes, got {policy!r}; a Campaign can learn them again from its journal"
            )
        if other._open and any(had != has[: len(had)] for had, has in zip(*names, strict=True)):
            raise ValueError(
                "tickets must be reported or cancelled before the numbers of entries change, got"
                f" {other.pending} pending"
            )
        (_, old), (_, new) = names
        if getattr(self.policy.oracle, "is_undirected", False):
            new = in_form(new, old)
        stats: ArmStatistics = other.state
        other.state = stats.relabelled(old, new)
        other._played = other._played.without(int(stats.counts.sum() - other.state.counts.sum()))
        other.policy, prior = policy, prior_of(policy)
        if other._hidden is not None and prior is not None:
            other._hidden = other._hidden.with_prior(prior)
        other._set_support(other._declared)
        return other

    def _ticket(self, number: int, super_arm: IntArray, pulls: int, context: Context | None) -> Ticket:
        """Return a ticket of this session; a checksum in its name detects changes of the super arm."""
        # Copies of a session number their tickets alike, but may choose other super arms. The checksum tells
        # these tickets apart.
        name = f"{self._id}:{zlib.crc32(super_arm.tobytes()):08x}"
        return Ticket(number, super_arm, pulls, name, context)

    @property
    def _closed(self) -> int:
        """The number of reported or cancelled tickets."""
        return self._asked - len(self._open)

    def _set_support(self, declared: Any) -> None:
        """Set the interval of valid outcomes to the declared one, otherwise to that of the policy."""
        self._declared = interval_of(declared)
        self.support = support_of(self.policy, self._declared)

    def _find(self, ticket: Ticket | int | None) -> Ticket:
        """Return the pending ticket with this number, or the only pending ticket."""
        if ticket is None:
            if len(self._open) != 1:
                raise ValueError(
                    f"ticket must be given unless exactly one is pending, got {len(self._open)} pending"
                )
            return next(iter(self._open.values()))
        if isinstance(ticket, Ticket) and ticket.session.rpartition(":")[0] != self._id:
            raise ValueError(f"ticket must be of this session, got number {ticket.number} of another one")
        number = integer("ticket", ticket.number if isinstance(ticket, Ticket) else ticket)
        if number not in self._open:
            pending = f"one of {shown(list(self._open))}" if self._open else "but none is"
            raise ValueError(f"ticket must be pending, {pending}, got {number}")
        found = self._open[number]
        if isinstance(ticket, Ticket) and ticket.session != found.session:
            raise ValueError(
                f"ticket must be of this session, got number {number} of a copy of it, or of one loaded"
                " from the same file, which chose another super arm"
            )
        return found

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the state, the open tickets and the random generator to `path`, for `load`.

        A loaded session makes exactly the same choices as this one. The file is a NumPy archive without
        pickled objects, with a checksum. It is replaced in one step. It does not contain the policy, only a
        description from which `load` detects a different policy.

        Parameters
        ----------
        path : str, path-like or binary file object
            The path of the file, or an object with a method ``write`` that takes bytes.

        Raises
        ------
        TypeError
            If `path` is a file that is open for text.
        ValueError
            As in `to_bytes`.
        OSError
            If the file cannot be written. An existing file at a path then stays unchanged.
        """
        archive.write(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the contents of the file that `save` writes; `load` accepts them as well.

        Raises
        ------
        ValueError
            If the generator is not from NumPy, or the state has parts that are not arrays, numbers or text.

        Examples
        --------
        >>> from cmab import CUCB, Session
        >>> from oracles import TopK
        >>> session = Session(CUCB(TopK(n_arms=5, k=2)), rng=0)
        >>> ticket = session.ask()
        >>> Session.load(session.to_bytes(), CUCB(TopK(n_arms=5, k=2))).pending
        (0,)
        """
        with self._lock:
            if self._hidden is not None:
                raise ValueError(
                    "a session with hidden outcomes must be a Campaign to be saved, which stores its reports"
                )
            arrays: dict[str, Any] = {}
            document = {
                "format": _FORMAT,
                "learner": archive.described(self.policy),
                "labels": self._labels(),
                "session": self._id,
                "support": self._declared,
                "asked": self._asked,
                "open": [_written(ticket, arrays) for ticket in self._open.values()],
                "rng": archive.generator_state(self.rng),
                "played": self._played.listed(),
                "state": archive.flattened(self.state, "state", arrays),
            }
            return archive.packed(document, arrays)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | bytes | IO[bytes],
        policy: Policy[State] | Oracle,
        *,
        accept_changes: bool = False,
    ) -> Session[State]:
        """Return the session saved at `path`, with `policy` as its policy.

        Parameters
        ----------
        path : str, path-like, bytes or binary file object
            The path of a file that `save` wrote, an object with a method ``read`` that returns its contents,
            or the bytes of `to_bytes`.
        policy : Policy, Explorer or Oracle
            The same policy or oracle, constructed again. Its base arms must be those of the saved session in
            the same order, so a graph must be read in the same order of nodes and edges.
        accept_changes : bool
            If True, accept changed parameters of the policy and the oracle, such as another scale or `k`.
            A different order of the base arms is never accepted, and neither is a change of a parameter on
            which the policy's memory depends.

        Raises
        ------
        ValueError
            If the file is damaged or has another format; if it was saved with other base arms, another class
            of policy or other parameters; or if a budget is smaller than the amount already spent.
        """
        if not isinstance(policy, Oracle):
            check_policy_instance(policy)
        data, name = archive.read_bytes(path)
        document, arrays = archive.unpacked(data, name)
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise ValueError(f"{name} must be a session that this version of cmab saved, got another format")
        # The seed has no effect, because the generator is replaced by the one in the file.
        session = cls(learner_for(policy, interval_of(document["support"])), rng=0)
        if document["labels"] != session._labels():
            raise ValueError(
                f"{name} must have the base arms of the policy in the same order, got others: the statistics"
                " would belong to the wrong arms; read the graph in the same order as before"
            )
        mine = archive.described(session.policy)
        changed = archive.differences(document["learner"], mine)
        if document["learner"]["class"] != mine["class"] or (changed and not accept_changes):
            raise ValueError(
                f"{name} must be a session of {session.policy!r}, got {shown('; '.join(changed), 300)}; call"
                " Session.load(..., accept_changes=True) to continue with other parameters"
            )
        names = {text.partition(" ")[0].rpartition(".")[2] for text in changed}
        kept: Any = session.policy
        while kept is not None:  # the policy, and the policies that it wraps
            if bad := names.intersection(getattr(kept, "memory_parameters", ())):
                raise ValueError(
                    f"{name} must be a session with the same {', '.join(sorted(bad))}, on which its memory"
                    f" depends, got {shown('; '.join(changed), 300)}"
                )
            kept = getattr(kept, "policy", None)
        try:
            session.state = archive.filled(session.state, document["state"], arrays)
        except ValueError as error:
            raise ValueError(f"{name} must hold a state of this policy: {error}") from None
        session._id, session._asked = document["session"], document["asked"]
        session._set_support(document["support"])
        session._played = Played.of(document["played"])
        session.rng = archive.generator_from(document["rng"])
        session._open = {entry[0]: _read(entry, arrays) for entry in document["open"]}
        check_budgets(session.policy, session.state)
        return session

    def _labels(self) -> list[str]:
        """Return hashes of the names of entries and base arms in their order."""
        oracle = getattr(self.policy, "oracle", None)
        names: Any = [range(self.policy.n_arms)] if oracle is None else names_of(oracle)
        return list(map(archive.labels_hash, names))


def _written(ticket: Ticket, arrays: dict[str, Any]) -> list[Any]:
    """Return the entries of a pending ticket in an archive, and add its arrays."""
    context, at = ticket.context, f"ticket.{ticket.number}"
    parts = {} if context is None else {name: getattr(context, name) for name in context.parts}
    arrays |= {f"{at}.{name}": part for name, part in parts.items()} | {at: ticket.super_arm}
    return [ticket.number, ticket.pulls, ticket.session, ticket.gone, list(parts)]


def _read(entry: list[Any], arrays: dict[str, Any]) -> Ticket:
    """Return the pending ticket with these entries of an archive."""
    number, pulls, session, gone, parts = entry
    named = {name: arrays[f"ticket.{number}.{name}"] for name in parts}
    context = Context(**named) if parts else None
    return Ticket(number, arrays[f"ticket.{number}"], pulls, session, context, gone)
