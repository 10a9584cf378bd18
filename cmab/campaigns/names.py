"""The names in a journal, and their numbers in the present learner."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.campaigns._schema import PLAIN
from cmab.validation import meant, shown


class Names:
    """A list of names with two orders: the numbers of the learner and the places in the journal.

    The journal assigns places in the order in which names first appear, and never changes them. So the events
    of a name stay with the name, even if a graph is read in another order. If edges are undirected, both
    orientations of an edge are the same name.
    """

    def __init__(self, noun: str, own: list[Hashable], is_undirected: bool = False) -> None:
        self._noun, self.own, self._is_undirected = noun, own, is_undirected
        try:
            self.number = dict(zip(own, range(len(own)), strict=True))
        except TypeError:
            for name in own:  # `written` raises a clear error for the name that has no hash
                written(name)
            raise
        if len(self.number) < len(own):
            raise ValueError(
                f"names of {self.plural} must differ from each other, got {shown(_repeated(own))} twice"
            )
        self.known: dict[Hashable, int] = {}
        #: All names with a place, in the order of their places.
        self.listed: list[Hashable] = []
        self._numbers: list[int] = []
        self._places = np.full(len(own), -1)

    @property
    def plural(self) -> str:
        """The noun for these things in the plural."""
        return "entries of super arms" if self._noun.startswith("entry") else f"{self._noun}s"

    def counted(self, some: list[Any]) -> str:
        """Return the number of some entries with noun and verb: "1 tie is", "2 ties are"."""
        return f"1 {self._noun} is" if len(some) == 1 else f"{len(some):,} {self.plural} are"

    def grow(self, names: Collection[Any]) -> None:
        """Assign the next places to these names, which are in the form of the journal."""
        new, first = read_all(names), len(self.listed)
        if self._is_undirected:
            new = list(map(self.form_of, new))
        if first == 0 and new == self.own:  # as for a learner that has not changed
            self.known, self.listed = self.number, new
            self._numbers, self._places = list(range(len(new))), np.arange(len(new))
            return
        known = {**self.known, **dict(zip(new, range(first, first + len(new)), strict=True))}
        if len(known) < first + len(new):
            twice = _repeated([*self.known, *new])
            raise ValueError(f"names of {self.plural} must have one place each, got {shown(twice)} twice")
        numbers = np.array([self.number.get(name, -1) for name in new], np.int64)
        there = numbers >= 0
        self._places[numbers[there]] = first + np.flatnonzero(there)
        self.known, self.listed = known, [*self.listed, *new]
        self._numbers = [*self._numbers, *numbers.tolist()]

    def unknown(self) -> list[Any]:
        """Return the names without a place, in the form of the journal."""
        return written_all([name for name in self.own if name not in self.known])

    def gone(self) -> list[int]:
        """Return the places of the names that the learner no longer has."""
        return [place for place, number in enumerate(self._numbers) if number < 0]

    def places(self, numbers: IntArray) -> list[int]:
        """Return the places of the entries with these numbers."""
        listed: list[int] = self._places[numbers].tolist()
        return listed

    def numbers(self, places: list[int]) -> IntArray:
        """Return the number of the entry at each of these places; -1 if the learner no longer has it."""
        return np.array([self._numbers[place] for place in places], np.int64)

    def numbers_from(self, place: int) -> IntArray:
        """Return the numbers of the names with this place or a later one, or with none."""
        return np.flatnonzero((self._places >= place) | (self._places < 0))

    def by_place(self, values: AnyArray) -> AnyArray:
        """Reorder an array of the learner by place; places that the learner does not have become zeros."""
        rows = np.zeros((len(self._numbers), *values.shape[1:]), values.dtype)
        rows[self._places] = values
        return rows

    def by_number(self, rows: AnyArray) -> AnyArray:
        """Reorder rows by place into the order of the learner; entries without a row become zeros."""
        values = np.zeros((len(self.own), *rows.shape[1:]), rows.dtype)
        there = self._places < len(rows)
        values[there] = rows[self._places[there]]
        return values

    def find(self, names: Collection[Any]) -> list[int]:
        """Return the numbers of names; raise ``ValueError`` if a name is unknown."""
        try:
            return list(map(self.number.__getitem__, names))
        except (KeyError, TypeError):  # an unknown name, or a name in another form
            return [self._found(read(name)) for name in names]

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


def _repeated(names: Iterable[Hashable]) -> Hashable:
    """Return the first name that occurs a second time."""
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("the names differ from each other")


def nouns(choices: list[Hashable], arms: list[Hashable]) -> tuple[str, str]:
    """Return the nouns for the entries of a super arm and for the base arms."""
    if choices == arms:
        return "base arm", "base arm"
    is_network = bool(arms) and all(isinstance(arm, tuple) for arm in arms)
    return ("node", "tie") if is_network else ("entry of a super arm", "base arm")


def written(name: Hashable) -> Any:
    """Return a name in the form of JSON: strings and numbers unchanged, tuples as lists."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, tuple):
        return [written(part) for part in name]
    if name is None or isinstance(name, str | int) or (isinstance(name, float) and math.isfinite(name)):
        return name
    raise ValueError(
        f"names must be strings, finite numbers or tuples of these, to be stored in a file, got {shown(name)}"
    )


def written_all(names: Sequence[Hashable]) -> list[Any]:
    """Return names in the form of JSON, as `written` does, in less time for many names."""
    if set(map(type, names)) <= PLAIN:
        return list(names)
    if set(map(type, names)) == {tuple}:
        ends: Iterable[Any] = chain.from_iterable(names)  # type: ignore[arg-type]
        if set(map(type, ends)) <= PLAIN:
            return list(map(list, names))  # type: ignore[arg-type]
    return list(map(written, names))


def read_all(values: Collection[Any]) -> list[Hashable]:
    """Return the names that have these forms in JSON, as `read` does, in less time for many names."""
    kinds = set(map(type, values))
    if list not in kinds:
        return list(values)
    if kinds == {list} and list not in set(map(type, chain.from_iterable(values))):
        return list(map(tuple, values))
    return list(map(read, values))


def read(value: Any) -> Hashable:
    """Return the name that has this form in JSON."""
    return tuple(read(part) for part in value) if isinstance(value, list) else value


def missing(name: object, known: Collection[Hashable], *, is_tie: bool) -> str:
    """Return a hint for a name that a network does not have: similar names, and how to add the name.

    A tie starts with the names of its two ends. The network's names are the ends of the `known` ties.
    """
    if is_tie and known and not (isinstance(name, tuple) and len(name) > 1):
        return f"{meant(name, known) or '.'} A tie is written with both names, such as {next(iter(known))!r}"
    hint, why = meant(name, known), "The network has nothing of this name"
    if is_tie and isinstance(name, tuple) and len(name) > 1:
        ends = {end for tie in known if isinstance(tie, tuple) for end in tie[:2]}
        strange = [end for end in name[:2] if end not in ends]
        # Two known ends are not misspelled, so the only suggestion is the tie in the other direction.
        turned = f": is {name[::-1]!r} meant?" if name[::-1] in known else ""
        hint = "".join(meant(end, ends) for end in strange) or turned
        why = "The network has both ends, but no tie between them"
        if turned:
            why = "The network has the tie in the other direction only"
        if strange:
            why = f"{strange[0]!r} is not in the network"
    return (
        f"{hint or '.'} {why}. If it exists, add it to the graph (a row of its file), and make the campaign"
        " again with the new graph and accept_changes=True"
    )
