"""Instances that a registered demo makes: environment, oracle, and how a super arm is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_args, get_type_hints

from cmab.arrays import IntArray
from cmab.environment import Environment
from cmab.oracle import Oracle
from cmab.saving._digest import short_hash
from cmab.studies import _registry
from cmab.studies._graphs import inside
from cmab.studies._specification import called


class Problem(Protocol):
    """What the function ``demo.problem`` of a registered demo makes of its parameters."""

    @property
    def environment(self) -> Environment:
        """What is played."""

    @property
    def oracle(self) -> Oracle:
        """What all learners use."""

    @property
    def draw(self) -> Callable[[IntArray], Any] | None:
        """Draws a super arm, if that can be drawn."""


class Made(NamedTuple):
    """A problem, the hashes of the files that it is made of, and the package of its code."""

    problem: Problem
    files: list[str]
    package: str


def demo_of(table: Mapping[str, Any], files: Path | None, where: str) -> Made:
    """Return what a demo makes of a table; ``{file = "name"}`` is the path of a file in the study's folder.

    Raises
    ------
    ValueError
        If there is no such demo, or it refuses its parameters.
    """
    try:
        command = _registry.load("demos", str(table["demo"]))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    demo = getattr(command, "demo", None)
    if demo is None:
        raise ValueError(f"{where} must name a demo that makes a problem, got {table['demo']!r}")
    given: dict[str, Any] = {}
    digests, hints = [], get_type_hints(demo.problem)
    for name, value in table.items():
        if name == "demo":
            continue
        given[name] = value
        # Paths that are written out would lead anywhere.
        if isinstance(value, dict) or Path in (hints.get(name), *get_args(hints.get(name))):
            path = inside(value, files, f"{where}.{name}")
            given[name] = path
            digests.append(short_hash(path.read_bytes()))
    return Made(called(demo.problem, given, where), digests, command.__module__.partition(".")[0])
