"""Distributions over super arms, and the probabilities of prefixes and positions that follow from them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any

from cmab.logs.log import LoggedRound
from cmab.validation import shown

Played = tuple[Hashable, ...]
Chances = Mapping[Any, float]
#: A mapping of super arms to probabilities, for all rounds or as a function of a round.
Target = Chances | Callable[[LoggedRound], Chances]

_ROUNDING = 1e-9


class Choices:
    """A distribution over super arms: tuples are lists, frozensets are sets."""

    def __init__(self, argument: str, given: Any) -> None:
        if not isinstance(given, Mapping) or not given:
            raise ValueError(f"{argument} must give a probability for each super arm, got {shown(given)}")
        kinds = {type(key) for key in given}
        if not (kinds <= {tuple} or kinds <= {frozenset}):
            bad = next(key for key in given if not isinstance(key, tuple | frozenset)) if kinds else given
            raise ValueError(
                f"super arms of {argument} must be all tuples of names, or all frozensets, got {shown(bad)}"
            )
        self.are_sets = kinds == {frozenset}
        self.chances: dict[Any, float] = {}
        for key, chance in given.items():
            # Real includes NumPy's numbers and fractions.
            known = isinstance(chance, Real) and not isinstance(chance, bool)
            if not known or not 0.0 <= float(chance) <= 1.0 + _ROUNDING:
                raise ValueError(f"probabilities of {argument} must lie in [0, 1], got {shown(chance)}")
            if float(chance) > 0.0:
                self.chances[key] = float(chance)
        if abs(math.fsum(self.chances.values()) - 1.0) > _ROUNDING:
            raise ValueError(
                f"probabilities of {argument} must sum to 1, got {math.fsum(self.chances.values())}"
            )

    def of(self, played: Played) -> float:
        """Return the probability of a super arm."""
        return self.chances.get(frozenset(played) if self.are_sets else played, 0.0)

    @cached_property
    def by_set(self) -> Choices:
        """The distribution of the sets of names, without their order."""
        sums: defaultdict[frozenset[Hashable], float] = defaultdict(float)
        for key, chance in self.chances.items():
            sums[frozenset(key)] += chance
        return Choices("target", sums)

    @cached_property
    def by_prefix(self) -> dict[Played, float]:
        """The probability of each possible beginning of a list."""
        sums: defaultdict[Played, float] = defaultdict(float)
        for key, chance in self.chances.items():
            for k in range(1, len(key) + 1):
                sums[key[:k]] += chance
        return dict(sums)

    @cached_property
    def by_position(self) -> dict[tuple[int, Hashable], float]:
        """The probability of each name at each position."""
        sums: defaultdict[tuple[int, Hashable], float] = defaultdict(float)
        for key, chance in self.chances.items():
            for place in enumerate(key):
                sums[place] += chance
        return dict(sums)

    @cached_property
    def continued(self) -> dict[Played, list[tuple[Played, float]]]:
        """The beginnings that are one entry longer than each beginning, and their probabilities."""
        longer: defaultdict[Played, list[tuple[Played, float]]] = defaultdict(list)
        for prefix, chance in self.by_prefix.items():
            longer[prefix[:-1]].append((prefix, chance))
        return dict(longer)


def choices_of(argument: str, given: object, rounds: Sequence[LoggedRound]) -> list[Choices]:
    """Return the distribution of each round; a callable receives the round as it was before the choice."""
    if isinstance(given, Mapping):
        return [Choices(argument, given)] * len(rounds)
    if not callable(given):
        raise TypeError(
            f"{argument} must be a mapping of super arms to probabilities, or a function of a LoggedRound"
            f" that returns one, got {shown(given)}"
        )
    # Callables often return the same mapping for many rounds. Keep the mapping, so that its id is not reused,
    # and a copy, to detect changes.
    known: dict[int, tuple[Any, Any, Choices]] = {}
    found = []
    for row in rounds:
        answer = given(row.before())
        if id(answer) not in known or known[id(answer)][1] != answer:
            choices = Choices(argument, answer)
            known[id(answer)] = (answer, dict(answer), choices)
        found.append(known[id(answer)][2])
    return found
