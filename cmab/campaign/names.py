"""The names of a campaign: in the events, by the numbers of a learner, and in reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from cmab import oracle
from cmab.arrays import IntArray
from cmab.feedback import Feedback, Ticket
from cmab.policy import Policy
from cmab.validation import meant, shown


def tuples(value: Any) -> Any:
    """Return a name in JSON, which has lists in place of tuples, as a name."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def replaced(label: Hashable, name: Hashable, new: Hashable) -> Hashable:
    """Return a name in which one name, which may be a part, is replaced by a new one."""
    if isinstance(label, tuple) and label != name:
        return tuple(replaced(part, name, new) for part in label)
    return new if label == name else label


class Names:
    """The names of a learner by number. Both orientations of an undirected edge are one name."""

    def __init__(self, plural: str, own: list[Hashable], is_undirected: bool = False) -> None:
        self.plural, self.own, self._is_undirected = plural, own, is_undirected
        try:
            self.number = dict(zip(own, range(len(own)), strict=True))
        except TypeError:
            raise ValueError(
                f"names must be strings, finite numbers or tuples of these, got {shown(own)}"
            ) from None
        if len(self.number) < len(own):
            repeated = next(name for name, n in Counter(own).items() if n > 1)
            raise ValueError(
                f"names of {self.plural} must differ from each other, got {shown(repeated)} twice"
            )

    def numbers(self, labels: Iterable[Hashable]) -> IntArray:
        """Return the number of each of these names; -1 if the learner does not have it."""
        return np.array([self.number.get(self.form_of(label), -1) for label in labels], np.int64)

    def find(self, names: Collection[Any]) -> list[int]:
        """Return the numbers of names; raise ``ValueError`` if a name is unknown."""
        if isinstance(names, Mapping):
            raise ValueError(f"{self.plural} must be a list of names, got the mapping {shown(names)}")
        try:
            return list(map(self.number.__getitem__, names))
        except (KeyError, TypeError):  # an unknown name, or a name in another form
            return [self._found(tuples(name)) for name in names]

    def _found(self, name: Any) -> int:
        """Return the number of a name, or raise ``ValueError`` with a similar known name."""
        try:
            return self.number[self.form_of(name)]
        except TypeError:
            raise ValueError(f"{self.plural} must be given by their names, got {shown(name)}") from None
        except KeyError:
            pass
        is_network = all(isinstance(own, tuple) for own in self.own)
        hint = missing(name, self.number, is_tie=True) if is_network else meant(name, self.number)
        raise ValueError(f"{self.plural} must be among the {len(self.own)} known, got {shown(name)}{hint}")

    def form_of(self, name: Hashable) -> Hashable:
        """Return a name in the orientation that the learner uses; an unknown name is returned unchanged."""
        if self._is_undirected and name not in self.number and isinstance(name, tuple) and len(name) > 1:
            turned = (name[1], name[0], *name[2:])
            return turned if turned in self.number else name
        return name


def missing(name: object, known: Collection[Hashable], *, is_tie: bool) -> str:
    """Return a hint for a name that a network does not have: similar names, and how to add the name.

    A tie starts with the names of its two ends. The network's names are the ends of the `known` ties.
    """
    if is_tie and known and not (isinstance(name, tuple) and len(name) > 1):
        return f"{meant(name, known) or '.'} A tie is written with both names, such as {next(iter(known))!r}"
    hint, strange = meant(name, known), []
    if is_tie and isinstance(name, tuple) and len(name) > 1:
        ends = {end for tie in known if isinstance(tie, tuple) for end in tie[:2]}
        strange = [end for end in name[:2] if end not in ends]
        # Two known ends are not misspelled, so the only suggestion is the tie in the other direction.
        turned = f": is {name[::-1]!r} meant?" if name[::-1] in known else ""
        hint = "".join(meant(end, ends) for end in strange) or turned
    why = f" {strange[0]!r} is not in the network." if strange else ""
    return (
        f"{hint or '.'}{why} If it exists, add it to the graph (a row of its file), and make the campaign"
        " again with the new graph and accept_changes=True"
    )


# Reports by name


def feedback_of(
    report: dict[str, Any],
    ticket: Ticket,
    policy: Policy[Any],
    arms: Names,
    reward: float,
    former: Collection[Hashable] = (),
) -> Feedback:
    """Return the feedback, by number, of the arguments of `Campaign.tell`, which are by name.

    `former` are the names of a ticket with arms that were removed; their outcomes are left out.
    """
    outcomes, seen = report.pop("outcomes", None), report
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
        told = oracle.feedback_of(policy.oracle, ticket.super_arm, **seen)
        return told if np.isnan(reward) else told.with_reward(reward)
    if isinstance(outcomes, Feedback):
        if not np.isnan(reward):
            raise ValueError(f"reward must be part of the Feedback, got {shown(reward)} as an argument")
        return outcomes
    pairs = [(tuples(name), value) for name, value in _pairs(outcomes)] if former else _pairs(outcomes)
    pairs = [pair for pair in pairs if pair[0] not in former or arms.form_of(pair[0]) in arms.number]
    for name, outcome in pairs:
        if outcome is None or (isinstance(outcome, float) and np.isnan(outcome)):
            raise ValueError(
                f"outcomes must be numbers, got {outcome} of {shown(name)}; leave out unobserved outcomes"
            )
    return Feedback(arms.find([name for name, _ in pairs]), [value for _, value in pairs], reward=reward)


def _pairs(outcomes: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of names and outcomes in a mapping, or in a list of pairs as JSON has them."""
    if isinstance(outcomes, str) or not isinstance(outcomes, Collection):
        raise TypeError(f"outcomes must be a mapping of names to outcomes, got {shown(outcomes)}")
    pairs = list(outcomes.items() if isinstance(outcomes, Mapping) else outcomes)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(
                f"outcomes must be a mapping of names to outcomes, or a list of such pairs, got {shown(pair)}"
            )
    return pairs
