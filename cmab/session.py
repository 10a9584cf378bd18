"""Sessions, which run a policy on rounds that are played outside the program."""

from __future__ import annotations

import math
import os
import secrets
import threading
from collections.abc import Collection, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Generic, overload

import numpy as np

from cmab import archive
from cmab.arrays import IntArray
from cmab.explorer import Explorer
from cmab.feedback import LARGEST, Context, Feedback, Ticket, check_outcomes
from cmab.oracle import Oracle, names_of
from cmab.policies.adaptive import learner_for
from cmab.policy import Policy, State, check_policy_instance, refuse_parts
from cmab.seeding import Seed, root
from cmab.statistics import ArmStatistics
from cmab.validation import arm_indices, integer, shown

#: The format of saved sessions.
_FORMAT = 7
# The share of all base arms up to which a report is checked by itself.
_SHORT = 0.02


class Session(Generic[State]):
    """A policy with its state and its random generator, for rounds that are played outside the program.

    `ask` returns a ticket with a super arm. Play it, then report the observed feedback with `tell`. Several
    tickets can be pending at the same time, and their feedback can arrive late and in any order. The policy's
    round counter counts the reported rounds.

    Several threads can share a session, because its methods lock it. Arguments are checked before anything
    changes. If the policy raises an error while it learns, the ticket remains pending.

    Other functions take the policy and the state of a session: `regret_bound` returns a bound on the regret,
    and `cmab.exploration.certificate.certificate` the certificate of an explorer. A `Campaign` also learns
    from reports with hidden outcomes.

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

    @overload
    def __init__(
        self: Session[ArmStatistics],
        policy: Oracle,
        rng: Seed = None,
        *,
        support: tuple[float, float] | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self, policy: Policy[State], rng: Seed = None, *, support: tuple[float, float] | None = None
    ) -> None: ...

    def __init__(
        self, policy: Policy[Any] | Oracle, rng: Seed = None, *, support: tuple[float, float] | None = None
    ) -> None:
        learner: Policy[Any] = learner_for(policy, interval_of(support))
        check_policy_instance(learner)
        self.policy = learner
        self.rng = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
        self.state: State = learner.initial_state(self.rng)
        self._is_explorer = isinstance(learner, Explorer)
        self._set_support(support)
        # The name tells the tickets of this session from those of other sessions.
        self._id = secrets.token_hex(8)
        self._asked = 0
        self._open: dict[int, Ticket] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        with self._lock:
            return f"Session({self.policy!r}, asked={self._asked}, pending={len(self._open)})"

    def __getstate__(self) -> dict[str, Any]:
        # A copy or pickle has its own lock, state and generator, all from the same moment.
        with self._lock:
            own = {"_open": dict(self._open), "state": deepcopy(self.state), "rng": deepcopy(self.rng)}
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
            policy, number = self.policy, self._asked
            chosen, pulls = policy.select(self.state, self.rng, context), 1
            if self._is_explorer:
                pulls = policy.pulls(self.state)  # type: ignore[attr-defined]
            # The usual case: few distinct entries in an array, which plain Python checks faster than numpy.
            is_array = type(chosen) is np.ndarray and chosen.dtype == np.int64 and chosen.ndim == 1
            entries = chosen.tolist() if is_array else []
            is_plain = context is None and 0 < len(entries) == len({*entries}) and min(entries) >= 0
            if not (is_plain and max(entries) < self._n_choices):
                chosen = check_choice(policy, chosen, context)
            # The caller may change the returned array, so the session keeps its own copy.
            kept = chosen.copy()
            ours = Ticket(number, kept, pulls, self._id, context)
            if self._reserves:
                policy.reserve(self.state, ours)
            self._open[number] = ours
            self._asked += 1
            return Ticket(number, chosen, pulls, self._id, context)

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
            told = self._open.get(ticket.number) if type(ticket) is Ticket else None
            if told is None or ticket.session != told.session:  # type: ignore[union-attr]
                told = self._find(ticket)
            # The usual case: single outcomes of the super arm itself, from a constructor that checked them.
            outcomes, (low, high) = feedback.outcomes, self.support or (-LARGEST, LARGEST)
            is_plain = self._is_linear and feedback.pulls is None and feedback.squares is None
            is_plain = is_plain and feedback.arms.tobytes() == told.super_arm.tobytes() and len(outcomes) > 0
            # False for nan. The methods `min` and `max` take twice as long for few outcomes.
            is_plain = is_plain and low <= np.minimum.reduce(outcomes)
            if not (is_plain and np.maximum.reduce(outcomes) <= high):
                check_feedback(feedback, told, self.policy, self.support)
            self.policy.update(self.state, feedback, told, self.rng)
            del self._open[told.number]

    def _set_support(self, declared: Any) -> None:
        """Set the interval of valid outcomes to the declared one, otherwise to that of the policy."""
        self._declared = interval_of(declared)
        self.support = support_of(self.policy, self._declared)
        # Facts of the policy that every call needs.
        self._n_choices, self._is_linear = range_of_choices(self.policy), False
        if not self._is_explorer:
            self._is_linear = self.policy.oracle.is_linear
        self._reserves = type(self.policy).reserve is not Policy.reserve

    def _find(self, ticket: Ticket | int | None) -> Ticket:
        """Return the pending ticket with this number, or the only pending ticket."""
        if ticket is None:
            if len(self._open) != 1:
                raise ValueError(
                    f"ticket must be given unless exactly one is pending, got {len(self._open)} pending"
                )
            return next(iter(self._open.values()))
        if isinstance(ticket, Ticket) and ticket.session != self._id:
            raise ValueError(f"ticket must be of this session, got number {ticket.number} of another one")
        number = integer("ticket", ticket.number if isinstance(ticket, Ticket) else ticket)
        if number not in self._open:
            pending = f"one of {shown(list(self._open))}" if self._open else "but none is"
            raise ValueError(f"ticket must be pending, {pending}, got {number}")
        return self._open[number]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state, the open tickets and the random generator to `path`, for `load`.

        A loaded session makes exactly the same choices as this one. The file is a NumPy archive without
        pickled objects, with a checksum. It is replaced in one step. It does not contain the policy, only a
        description from which `load` detects a different policy.

        Parameters
        ----------
        path : str or path-like
            The path of the file.

        Raises
        ------
        ValueError
            As in `to_bytes`.
        OSError
            If the file cannot be written. An existing file at a path then stays unchanged.
        """
        archive.write_bytes(path, self.to_bytes())

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
                "state": archive.flattened(self.state, "state", arrays),
            }
            return archive.packed(document, arrays)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | bytes,
        policy: Policy[State] | Oracle,
        *,
        accept_changes: bool = False,
    ) -> Session[State]:
        """Return the session saved at `path`, with `policy` as its policy.

        Parameters
        ----------
        path : str, path-like or bytes
            The path of a file that `save` wrote, or the bytes of `to_bytes`.
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
        if isinstance(path, bytes):
            data, name = path, "the bytes"
        else:
            data, name = Path(path).read_bytes(), str(path)
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
        session.rng = archive.generator_from(document["rng"])
        session._open = {entry[0]: _read(entry, arrays) for entry in document["open"]}
        check_budgets(session.policy, session.state)
        return session

    def _labels(self) -> list[str]:
        """Return hashes of the names of entries and base arms in their order."""
        learner: Any = self.policy  # an explorer without an oracle has `n_arms`
        oracle = getattr(learner, "oracle", None)
        names: Any = [range(learner.n_arms)] if oracle is None else names_of(oracle)
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


def check_choice(policy: Policy[Any], super_arm: Any, context: Context | None) -> IntArray:
    """Return the answer of `select` as an array of distinct, available entries, or raise ``ValueError``."""
    is_explorer = isinstance(policy, Explorer)
    source = "super_arm" if is_explorer else f"the super arm of {type(policy.oracle).__name__}.solve"
    chosen = arm_indices(source, super_arm, range_of_choices(policy))
    if context is not None and context.available is not None and not context.available[chosen].all():
        gone = chosen[~context.available[chosen]]
        raise ValueError(f"{source} must have available entries only, got also {shown(gone.tolist())}")
    return chosen


def choose(
    policy: Policy[State], state: State, rng: np.random.Generator, context: Context | None = None
) -> tuple[IntArray, int]:
    """Return the validated super arm that a policy chooses, and the number of pulls of each entry."""
    chosen = check_choice(policy, policy.select(state, rng, context), context)
    return chosen, policy.pulls(state) if isinstance(policy, Explorer) else 1


def check_context(context: Context, policy: Policy[Any]) -> None:
    """Raise an error if `context` is not a context for the base arms of the policy."""
    if not isinstance(context, Context):
        raise TypeError(f"context must be a Context(available, features, values), got {shown(context)}")
    if isinstance(policy, Explorer):
        refuse_parts(policy, context)
    n_arms = policy.n_arms if isinstance(policy, Explorer) else policy.oracle.n_arms
    context.check(n_arms, range_of_choices(policy))


def only(context: Context | None, available: Any, n_choices: int) -> Context:
    """Return the context with the flags of the entries that are available by number."""
    if context is not None and context.available is not None:
        raise ValueError("available must be given once, by number or in the context, got both")
    if isinstance(available, str) or not isinstance(available, Collection | np.ndarray):
        raise ValueError(f"available must be a list of numbers, got {shown(available)}")
    flags = np.zeros(n_choices, np.bool_)
    flags[arm_indices("available", list(available), n_choices)] = True
    rest = {} if context is None else {name: getattr(context, name) for name in context.parts}
    return Context(available=flags, **rest)


def check_budgets(policy: Policy[Any], state: Any) -> None:
    """Raise ``ValueError`` if a budget is overspent.

    This can happen if a campaign continues with smaller budgets.
    """
    left_of = getattr(policy, "budgets_left", None)
    if left_of is None:
        return
    left = left_of(state)
    if (left < -1e-6).any():  # tolerance for the rounding of sums of costs
        raise ValueError(
            "budgets must cover the amounts already spent and the possible use by pending tickets, got"
            f" budgets that leave {shown(left.tolist())}"
        )


def range_of_choices(policy: Policy[Any]) -> int:
    """Return the number of entries that `select` chooses from."""
    return policy.n_arms if isinstance(policy, Explorer) else policy.oracle.n_choices


class StrangeArms(ValueError):
    """An error about base arms that a ticket cannot trigger; its second argument is their list."""

    def __str__(self) -> str:
        return str(self.args[0])


def check_feedback(
    feedback: Feedback, ticket: Ticket, policy: Policy[Any], support: tuple[float, float] | None
) -> None:
    """Raise ``ValueError`` if the ticket cannot have led to this feedback."""
    if isinstance(policy, Explorer):
        _check_samples(feedback, ticket)
    else:
        # A wrong arm would go unnoticed, and an increased count cannot be undone.
        strange = _strange_arms(feedback.arms, ticket.super_arm, policy.oracle)
        if strange:
            raise StrangeArms(
                f"feedback.arms must be arms that ticket {ticket.number} can trigger, got also"
                f" {shown(strange)}; the numbers are those of the time of `ask`",
                strange,
            )
    if support is not None:
        check_outcomes(feedback, support)


def _strange_arms(arms: IntArray, super_arm: IntArray, oracle: Oracle) -> list[int]:
    """Return the base arms of a report that the super arm cannot trigger."""
    # Finding all arms that can be triggered takes a pass over the graph, so short reports explain themselves.
    is_short = len(arms) < _SHORT * oracle.n_arms and int(arms.max(initial=-1)) < oracle.n_arms
    if is_short and oracle._explains(super_arm, arms):
        return []
    possible = oracle.triggered_arms(super_arm)
    if len(possible) <= 100:  # sets are faster for few entries
        return sorted(set(arms.tolist()) - set(possible.tolist()))
    strange: list[int] = arms[np.isin(arms, possible, invert=True)].tolist()
    return strange


def _check_samples(feedback: Feedback, ticket: Ticket) -> None:
    """Raise ``ValueError`` unless the feedback has the arms and pulls of the explorer's ticket."""
    pulls = feedback.pulls if feedback.pulls is not None else np.ones(len(feedback.arms), np.int64)
    if not np.array_equal(np.sort(feedback.arms), np.sort(ticket.super_arm)) or (pulls != ticket.pulls).any():
        raise ValueError(
            f"feedback must hold the {len(ticket)} arms of ticket {ticket.number} with {ticket.pulls} pulls"
            f" of each, got arms {shown(feedback.arms.tolist())} with pulls {shown(pulls.tolist())}"
        )


def support_of(policy: Policy[Any], declared: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the interval of valid outcomes: `declared`, or else the support of a policy that learns."""
    own = interval_of(policy.support) if policy.learns else None
    support = own if declared is None else declared
    if isinstance(policy, Explorer):
        _check_narrower(support, policy.support)
    return support


def _check_narrower(support: tuple[float, float] | None, widest: tuple[float, float] | None) -> None:
    """Raise ``ValueError`` unless `support` is within the interval for which the certificate is valid."""
    if (
        support is not None
        and widest is not None
        and not (widest[0] <= support[0] <= support[1] <= widest[1])
    ):
        raise ValueError(f"support must lie in the support of the explorer, {widest}, got {support}")


def interval_of(support: Any) -> tuple[float, float] | None:
    """Return `support` as a pair of increasing numbers, which may be infinite, or None."""
    if support is None:
        return None
    is_list = isinstance(support, Sequence | np.ndarray) and not isinstance(support, str | bytes)
    try:
        low, high = (float(end) for end in support) if is_list else (math.nan, math.nan)
    except (TypeError, ValueError, OverflowError):
        low, high = math.nan, math.nan
    if not low < high:
        raise ValueError(f"support must be a pair of increasing numbers (low, high), got {shown(support)}")
    return low, high
