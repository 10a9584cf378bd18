"""Names of things in a journal, and the numbers that a learner has for them today."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.validation import meant, shown


class Names:
    """One list of names in two orders: the learner's numbers, and the journal's places.

    Places are given once and for ever, in the order in which names came first, so that what was written of a
    name stays with it, in whatever order a graph is read. Where edges have no direction, both forms of one
    are its name.
    """

    def __init__(self, noun: str, own: list[Hashable], is_undirected: bool = False) -> None:
        self._noun, self.own, self._is_undirected = noun, own, is_undirected
        try:
            self.number = {name: i for i, name in enumerate(own)}
        except TypeError:
            for name in own:  # one that has no hash is none that can be written, which says it in words
                written(name)
            raise
        if len(self.number) < len(own):
            twice = next(name for i, name in enumerate(own) if self.number[name] != i)
            raise ValueError(f"names of {self.plural} must differ from each other, got {shown(twice)} twice")
        self.known: dict[Hashable, int] = {}
        self._numbers: list[int] = []
        self._places = np.full(len(own), -1)

    @property
    def plural(self) -> str:
        """The noun for these things in the plural."""
        return "entries of super arms" if self._noun.startswith("entry") else f"{self._noun}s"

    def counted(self, some: list[Any]) -> str:
        """Return how many some are, with the verb: "1 tie is", "2 ties are"."""
        return f"1 {self._noun} is" if len(some) == 1 else f"{len(some):,} {self.plural} are"

    @property
    def listed(self) -> list[Hashable]:
        """All names that have a place, in their order."""
        return list(self.known)

    def grow(self, names: Iterable[Any]) -> None:
        """Give the next places to these names, as they are written in the journal."""
        for written in names:
            name, place = self.form_of(read(written)), len(self._numbers)
            if self.known.setdefault(name, place) != place:
                raise ValueError(f"names of {self.plural} must have one place each, got {shown(name)} twice")
            number = self.number.get(name, -1)
            self._numbers.append(number)
            if number >= 0:
                self._places[number] = place

    def unknown(self) -> list[Any]:
        """Return the names without a place yet, as they are written."""
        return [written(name) for name in self.own if name not in self.known]

    def gone(self) -> list[int]:
        """Return the places of the names that the learner has no more."""
        return [place for place, number in enumerate(self._numbers) if number < 0]

    def places(self, numbers: IntArray) -> list[int]:
        """Return where the things of these numbers stand."""
        listed: list[int] = self._places[numbers].tolist()
        return listed

    def numbers(self, places: list[int]) -> IntArray:
        """Return the number of what stands at each of these places, -1 where it is gone."""
        return np.array([self._numbers[place] for place in places], np.int64)

    def by_place(self, values: AnyArray) -> AnyArray:
        """Return an array of the learner in the order of the places, zeros where it has none."""
        rows = np.zeros((len(self._numbers), *values.shape[1:]), values.dtype)
        rows[self._places] = values
        return rows

    def by_number(self, rows: AnyArray) -> AnyArray:
        """Return rows by place in the order of the learner, zeros for what came later."""
        values = np.zeros((len(self.own), *rows.shape[1:]), rows.dtype)
        there = self._places < len(rows)
        values[there] = rows[self._places[there]]
        return values

    def find(self, names: Collection[Any]) -> list[int]:
        """Return the numbers of names; raise ``ValueError`` for an unknown one."""
        try:
            return list(map(self.number.__getitem__, names))
        except (KeyError, TypeError):  # a name in another form, or none
            return [self._found(read(name)) for name in names]

    def _found(self, name: Any) -> int:
        """Return the number of a name, or raise ``ValueError`` with the one that may have been meant."""
        try:
            return self.number[self.form_of(name)]
        except TypeError:
            raise ValueError(f"{self.plural} must be called by their names, got {shown(name)}") from None
        except KeyError:
            pass
        is_network = all(isinstance(own, tuple) for own in self.own)
        hint = missing(name, self.number, is_tie=True) if is_network else meant(name, self.number)
        raise ValueError(f"{self.plural} must be among the {len(self.own)} known, got {shown(name)}{hint}")

    def form_of(self, name: Hashable) -> Hashable:
        """Return a name as the learner writes it; one that it does not know as it is."""
        if self._is_undirected and name not in self.number and isinstance(name, tuple) and len(name) > 1:
            turned = (name[1], name[0], *name[2:])
            return turned if turned in self.number else name
        return name


def nouns(choices: list[Hashable], arms: list[Hashable]) -> tuple[str, str]:
    """Return the nouns for what a super arm consists of and for base arms."""
    if choices == arms:
        return "base arm", "base arm"
    is_network = bool(arms) and all(isinstance(arm, tuple) for arm in arms)
    return ("node", "tie") if is_network else ("entry of a super arm", "base arm")


def written(name: Hashable) -> Any:
    """Return a name as JSON: texts and numbers as they are, tuples as lists of them."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, tuple):
        return [written(part) for part in name]
    if name is None or isinstance(name, str | int) or (isinstance(name, float) and math.isfinite(name)):
        return name
    raise ValueError(
        f"names must be texts, numbers or tuples of these, finite, to be kept in a file, got {shown(name)}"
    )


def read(value: Any) -> Hashable:
    """Return the name that was written."""
    return tuple(read(part) for part in value) if isinstance(value, list) else value


def missing(name: object, known: Collection[Hashable], *, is_tie: bool) -> str:
    """Return what may be meant by a name that a network does not have, and how it is added.

    A tie begins with the names of its two ends; those of the `known` ties are the names that a network has.
    """
    if is_tie and known and not (isinstance(name, tuple) and len(name) > 1):
        return f"{meant(name, known) or '.'} A tie is written with both names, such as {next(iter(known))!r}"
    hint, why = meant(name, known), "The network has nothing of this name"
    if is_tie and isinstance(name, tuple) and len(name) > 1:
        ends = {end for tie in known if isinstance(tie, tuple) for end in tie[:2]}
        strange = [end for end in name[:2] if end not in ends]
        # Two known people are not misspelt: only the tie the other way may be meant.
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
