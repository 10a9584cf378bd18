"""One look for each name, in all figures: the registry that they ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from cmab.plotting._style import COLOURS, DASHES, MARKERS, look

#: Looks of names that are met everywhere, so that figures of different programs agree, too.
_RESERVED = {"CUCB": 0, "Thompson": 1, "CTS": 1, "Clairvoyant": 4, "Random": 5, "RandomPolicy": 5}
_MOST = len(DASHES) * len(MARKERS)
_FIRST = [number for number in range(len(COLOURS)) if number not in _RESERVED.values()]
_ORDER = [*_FIRST, *(number for number in range(_MOST) if number not in _FIRST)]
_known: ContextVar[dict[str, int]] = ContextVar("_known")
# For all threads and contexts but those within `own_looks`.
_EVERYWHERE: dict[str, int] = {}


def numbers(names: Iterable[str]) -> dict[str, int]:
    """Return for each name of a figure the number of its look: that which it had before, if it had one."""
    asked = list(dict.fromkeys(names))
    known = _known.get(_EVERYWHERE)
    # Those with a look of their own first: the others take what is left.
    in_turn = sorted(asked, key=lambda name: name not in _RESERVED)
    for name in in_turn:
        if name not in known:
            known[name] = _free(set(known.values()), _RESERVED.get(name))
    found: dict[str, int] = {}
    for name in in_turn:
        # After 49 names looks come again, but never twice in a figure that can do without.
        taken = set(found.values())
        found[name] = _free(taken, known[name]) if known[name] in taken else known[name]
    return {name: found[name] for name in asked}


def looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return colour, line style and marker of each name, the same in all figures of a program.

    Parameters
    ----------
    names : iterable of str
        Those of a figure: 49 of them look different.

    Returns
    -------
    dict of str to dict
        Arguments of matplotlib's ``plot``.

    Examples
    --------
    >>> from cmab.plotting import looks
    >>> looks(["CUCB"])["CUCB"] == looks(["mine", "CUCB"])["CUCB"]
    True
    """
    return {name: look(number) for name, number in numbers(names).items()}


@contextmanager
def own_looks(names: Iterable[str] = ()) -> Iterator[None]:
    """Give a context whose figures agree with each other, whatever was drawn before, first of all `names`."""
    token = _known.set({})
    try:
        numbers(names)
        yield
    finally:
        _known.reset(token)


def _free(taken: set[int], wanted: int | None) -> int:
    """Return the wanted number if it is free, else the first one that is; when all are taken, any."""
    order = _ORDER if wanted is None else [wanted, *_ORDER]
    return next((number for number in order if number not in taken), len(taken) % _MOST)
