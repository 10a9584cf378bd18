"""The registry of looks: each name has the same look in all figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from cmab.plotting._style import COLOURS, DASHES, MARKERS, look

#: Looks of common names, so that figures of different programs agree.
_RESERVED = {"CUCB": 0, "Thompson": 1, "CTS": 1, "Clairvoyant": 4, "Random": 5, "RandomPolicy": 5}
_MOST = len(DASHES) * len(MARKERS)
_FIRST = [number for number in range(len(COLOURS)) if number not in _RESERVED.values()]
_ORDER = [*_FIRST, *(number for number in range(_MOST) if number not in _FIRST)]
_known: ContextVar[dict[str, int]] = ContextVar("_known")
# Looks for all threads and contexts except those within `own_looks`.
_EVERYWHERE: dict[str, int] = {}


def numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the number of the look of each name in a figure; a name keeps the number it had before."""
    asked = list(dict.fromkeys(names))
    known = _known.get(_EVERYWHERE)
    # Names with a reserved look come first; the other names get the remaining looks.
    in_turn = sorted(asked, key=lambda name: name not in _RESERVED)
    for name in in_turn:
        if name not in known:
            known[name] = _free(set(known.values()), _RESERVED.get(name))
    found: dict[str, int] = {}
    for name in in_turn:
        # After 49 names, looks are used again, but not twice in one figure unless it has more than 49 names.
        taken = set(found.values())
        found[name] = _free(taken, known[name]) if known[name] in taken else known[name]
    return {name: found[name] for name in asked}


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the colour, line style and marker of each name, the same in all figures of a program.

    Parameters
    ----------
    names : iterable of str
        The names in a figure; 49 names have different looks.

    Returns
    -------
    dict of str to dict
        For each name, keyword arguments of matplotlib's ``plot``.

    Examples
    --------
    >>> from cmab.plotting import looks
    >>> looks(["CUCB"])["CUCB"] == looks(["mine", "CUCB"])["CUCB"]
    True
    """
    return {name: look(number) for name, number in numbers(names).items()}


@contextmanager
def own_looks(names: Iterable[str] = ()) -> Iterator[None]:
    """Return a context with looks of its own, independent of earlier figures; `names` get the first looks."""
    token = _known.set({})
    try:
        numbers(names)
        yield
    finally:
        _known.reset(token)


def _free(taken: set[int], wanted: int | None) -> int:
    """Return the wanted number if it is free, otherwise the first free number, if any."""
    order = _ORDER if wanted is None else [wanted, *_ORDER]
    return next((number for number in order if number not in taken), len(taken) % _MOST)
