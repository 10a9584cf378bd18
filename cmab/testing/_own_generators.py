"""Find random numbers that an object draws from generators of its own, which are the same in all runs."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cmab.testing._comparisons import require

#: Packages whose own generators are left alone.
_LIBRARIES = ("cmab", "oracles", "instances", "numpy", "scipy", "numba", "hypothesis")
_LARGEST = 2**31
Play = Callable[[int], list[Any]]


def require_no_own_streams(thing: Any, play: Play, fault: str) -> int:
    """Raise ``AssertionError`` if answers depend on a generator with a seed that is the same in all runs.

    `play` returns the answers of a run with a seed. A seed that a run derives from its own generator differs
    between runs and is allowed, and so is a generator whose numbers do not change the answers. Return the
    number of seeds that were the same in two runs.
    """
    with _recorded(thing) as first:
        usual = play(1)
    if not first:
        return 0
    with _recorded(thing) as second:
        play(2)
    common = [seed for seed in dict.fromkeys(first) if seed in second]
    declared = {repr(part) for name, part in vars(thing).items() if "seed" in name.lower()}
    common = [seed for seed in common if seed not in declared]
    with _recorded(thing, frozenset(common)):
        again = play(1)
    place = next((n for n, pair in enumerate(zip(usual, again, strict=False)) if pair[0] != pair[1]), None)
    text = (
        "the object made generators with the seeds {} in all runs and drew from them: with other seeds,"
        " answer {} is {} instead of {}; draw from rng, otherwise all runs have the same random numbers"
    )
    if place is not None:
        require(False, fault, text, ", ".join(common[:5]), place, again[place], usual[place])
    require(len(usual) == len(again), fault, text, ", ".join(common[:5]), len(usual), "missing", "given")
    return len(common)


@contextmanager
def _recorded(thing: Any, others: frozenset[str] = frozenset()) -> Iterator[list[str]]:
    """Record the seeds of generators that code outside of libraries makes, and replace seeds in `others`."""
    seeds, maker = list[str](), np.random.default_rng
    places = [vars(np.random)]
    for cls in type(thing).__mro__:
        module = sys.modules.get(cls.__module__)
        if module is not None and cls.__module__.split(".")[0] not in (*_LIBRARIES, "builtins", "typing"):
            places.append(vars(module))
    # A module may import the function under another name.
    moved = [(place, name) for place in places for name, value in list(place.items()) if value is maker]
    other = _replaced(maker, seeds, others)
    try:
        for place, name in moved:
            place[name] = other
        yield seeds
    finally:
        for place, name in moved:
            place[name] = maker


def _replaced(maker: Any, seeds: list[str], others: frozenset[str]) -> Any:
    def made(*arguments: Any, **named: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "").split(".")[0]
        given = arguments[0] if arguments else next(iter(named.values()), None)
        is_seed = isinstance(given, int | np.integer | list | tuple)
        if caller in _LIBRARIES or not is_seed:
            return maker(*arguments, **named)
        name = repr(given)
        seeds.append(name)
        return maker(zlib.crc32(name.encode()) % _LARGEST) if name in others else maker(*arguments, **named)

    return made
