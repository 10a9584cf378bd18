"""Conversion of contexts and reports by name into those of a session, by number."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np

from cmab._ask_tell import StrangeArms
from cmab.campaigns._fold import Fold
from cmab.campaigns.request import Request
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket
from cmab.validation import integer, shown


def restricted(fold: Fold[Any], context: Context | None, available: Collection[Hashable]) -> Context:
    """Return the context with the flags of the entries that are available by name."""
    if context is not None and context.available is not None:
        raise ValueError("available must be given once, by name or in the context, got both")
    if isinstance(available, str) or not isinstance(available, Collection):
        raise ValueError(f"available must be a list of names, got {shown(available)}")
    flags = np.zeros(len(fold.choices.own), np.bool_)
    flags[fold.choices.find(available)] = True
    rest = {} if context is None else {name: getattr(context, name) for name in context.parts}
    return Context(available=flags, **rest)


def feedback_of(
    fold: Fold[Any], of: Ticket, outcomes: Any, reward: float, costs: Any, seen: dict[str, Any]
) -> Feedback:
    """Return the feedback, by number, of a report by name."""
    if costs is not None and (seen or isinstance(outcomes, Feedback) or of.pulls != 1):
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
            "a report must be outcomes, such as {name: 1.0}, or keywords of the oracle, such as joined and"
            f" carried for influence, got {given}"
        )
    if seen:
        if isinstance(fold.policy, Explorer):
            raise ValueError(f"a report to an explorer must be outcomes, got {', '.join(seen)}")
        told: Feedback = fold.policy.oracle.feedback_of(of.super_arm, **seen)
        return told if np.isnan(reward) else told.with_reward(reward)
    if isinstance(outcomes, Feedback):
        if not np.isnan(reward):
            raise ValueError(f"reward must be part of the Feedback, got {shown(reward)} as an argument")
        return outcomes
    pairs = _pairs(outcomes)
    names, values = zip(*pairs, strict=True) if pairs else ((), ())
    arms = fold.arms.find(names)
    if of.pulls == 1:
        for name, outcome in pairs:
            if outcome is None or (isinstance(outcome, float) and np.isnan(outcome)):
                raise ValueError(
                    f"outcomes must be numbers, got {outcome} of {shown(name)}; leave out unobserved outcomes"
                )
        if costs is None and set(map(type, values)) == {float}:  # the usual case: the arrays are plain
            return Feedback(np.array(arms), np.array(values), reward=reward)
        rows = None if costs is None else _rows(fold, arms, costs)
        return Feedback(arms, list(values), reward=reward, costs=rows or None)
    for name, drawn_of in pairs:
        if np.shape(drawn_of) != (of.pulls,):
            raise ValueError(f"outcomes must be lists of {of.pulls} each, got {shown(drawn_of)} of {name!r}")
    drawn = np.array(values, np.float64).reshape(len(arms), of.pulls)
    pulls, squares = np.full(len(arms), drawn.shape[1]), (drawn**2).sum(axis=1)
    return Feedback(arms, drawn.sum(axis=1), reward=reward, pulls=pulls, squares=squares)


def _rows(fold: Fold[Any], arms: list[int], costs: Any) -> list[Any]:
    """Return the resource use of each of these arms, from a mapping of names to numbers."""
    pairs = _pairs(costs, "costs")
    found = fold.arms.find([name for name, _ in pairs])
    rows = {arm: used for arm, (_, used) in zip(found, pairs, strict=True)}
    if set(rows) != set(arms):
        names = [fold.arms.own[arm] for arm in sorted(set(rows) ^ set(arms))]
        raise ValueError(f"costs must have the same arms as outcomes, got a difference in {shown(names)}")
    return [rows[arm] for arm in arms]


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


def by_name(fold: Fold[Any], of: Ticket, error: StrangeArms) -> ValueError:
    """Return an error that lists by name the base arms that cannot have been observed."""
    names = [fold.arms.own[arm] for arm in error.args[1]]
    played = [fold.choices.own[entry] for entry in of.super_arm]
    return ValueError(
        f"outcomes must be of base arms that ticket {of.number}, {shown(played)}, can trigger, got also"
        f" {shown(names)}"
    )


def pending_ticket(fold: Fold[Any], ticket: Request | Ticket | int | None) -> Ticket:
    """Return the pending ticket; if it was reported before, raise an error that points to `correct`."""
    if isinstance(ticket, Request):
        ticket = ticket.ticket
    if isinstance(ticket, Ticket):
        own = fold.current._open.get(ticket.number)
        if own is not None and own.session == ticket.session:
            return own
    try:
        return fold.current._find(ticket)
    except ValueError:
        number = ticket.number if isinstance(ticket, Ticket) else ticket
        if not isinstance(number, int) or number not in fold.told:
            raise
        if isinstance(ticket, Ticket) and ticket.session != fold.ticket(number).session:
            raise
    raise ValueError(
        f"ticket must be pending, got {number}, which was reported before; correct() replaces its report"
    )


def told_ticket(fold: Fold[Any], ticket: Request | Ticket | int | None) -> Ticket:
    """Return the ticket, which must have been reported."""
    if isinstance(ticket, Request):
        ticket = ticket.ticket
    if ticket is None:
        raise ValueError("ticket must be a Request, a Ticket or its number, got None")
    number = integer("ticket", ticket.number if isinstance(ticket, Ticket) else ticket)
    if number not in fold.told:
        why = ", which is still pending; tell() reports it" if number in fold.current.pending else ""
        raise ValueError(f"ticket must be one that was reported, got {shown(number)}{why}")
    of = fold.ticket(number)
    if isinstance(ticket, Ticket) and ticket.session != of.session:
        raise ValueError(f"ticket must be of this campaign, got number {number} of another one")
    return of
