"""Rounds as flat tables with one row for each outcome."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

_WHOLE = ("number", "state", "reward", "propensity", "pulls", "asked", "told")
#: Attributes that are lists, and the prefixes of their columns.
_LISTS = {"names": "chosen", "by_position": "by_position", "by_prefix": "by_prefix"}


def rows_of(rounds: Iterable[Any], arms: Iterable[Hashable]) -> list[dict[str, Any]]:
    """Return a row for each outcome, and one row without an arm for each round without outcomes.

    All rows have the same columns. A name that is a tuple, such as a tie, has one column for each part.
    """
    listed = list(rounds)
    parts = max((len(name) for name in arms if isinstance(name, tuple)), default=0)
    heads = [f"arm_{i + 1}" for i in range(parts)] or ["arm"]
    facts = list(dict.fromkeys(fact for row in listed for fact in row.facts))
    wide = {name: max((len(getattr(row, name) or ()) for row in listed), default=0) for name in _LISTS}
    return [
        {
            **{name: getattr(row, name) for name in _WHOLE},
            **{head: cell for name, size in wide.items() for head, cell in _numbered(row, name, size)},
            **{f"facts.{fact}": row.facts.get(fact) for fact in facts},
            **dict(zip(heads, _padded(_parts(arm), len(heads)), strict=True)),
            "outcome": outcome,
        }
        for row in listed
        for arm, outcome in (row.outcomes.items() or [((), None)])
    ]


def _numbered(row: Any, name: str, size: int) -> Iterator[tuple[str, Any]]:
    cells = [written(cell) for cell in getattr(row, name) or ()]
    for place, cell in enumerate(_padded(cells, size), 1):
        yield f"{_LISTS[name]}_{place}", cell


def _parts(name: Any) -> Sequence[Any]:
    return name if isinstance(name, tuple) else (name,)


def _padded(cells: Sequence[Any], size: int) -> list[Any]:
    return [*cells, *[None] * (size - len(cells))]


def written(name: Any) -> Any:
    """Return a name as text for people: a tie by its two ends."""
    return " – ".join(map(str, name)) if isinstance(name, tuple) else name
