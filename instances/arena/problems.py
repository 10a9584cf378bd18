"""The table of the problems of the arena."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cmab.arena import Problem
from instances.arena._linear_problems import LINEAR
from instances.arena._lists import LISTS
from instances.arena._rounds import FEATURES, ROUNDS
from instances.arena._spreading import SPREADING

_PART = 5
# The first number with which matchings, paths, trees, sets, influence, lists and assortments are in both
# parts.
# It was chosen before any two entries were compared.
_SALT = 2


def with_held_out(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of a family, of which a fifth is marked as held out.

    Of each five consecutive problems, the one with the smallest SHA-256 hash of ``"NAME 2"`` is held out.
    Therefore problems that are added at the end do not change the parts of the others.
    """
    listed = list(problems)
    names = [problem.name for problem in listed]
    held = {min(names[i : i + _PART], key=_hash) for i in range(0, len(names) - _PART + 1, _PART)}
    return [replace(problem, held_out=problem.name in held) for problem in listed]


def _hash(name: str) -> str:
    return hashlib.sha256(f"{name} {_SALT}".encode()).hexdigest()


#: All problems by name. The families are linear problems, problems in which chosen nodes reach others, lists
#: and assortments, rounds that differ, and rounds with features.
PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for family in (LINEAR, SPREADING, LISTS, ROUNDS, FEATURES)
    for problem in with_held_out(family)
}

#: The recorded results of all entries at the quick level.
RECORDED = Path(__file__).with_name("recorded.json.gz")
