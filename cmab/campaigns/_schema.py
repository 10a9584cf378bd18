"""The entries of each kind of event in a journal, and the valid values of each entry."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from cmab.feedback import LARGEST, lie_in
from cmab.saving._generators import check_position, generator_from
from cmab.validation import shown

Event = dict[str, Any]
#: Format 2 adds the seed sequence of the generator, and the times of a ticket never decrease. Format 3 adds
#: arrays, authors and expired tickets.
FORMATS = (1, 2, 3)
_LONGEST_AUTHOR = 200
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_DEEPEST_NAME = 50
#: The types of names, or of their parts, of which all values are valid and the same in JSON.
PLAIN = {str, int, bool, type(None)}
_NUMBERS = ({int}, {float}, {int, float}, set[type]())
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", re.ASCII)
_ENDS = ("inf", "-inf")


class Entry(NamedTuple):
    """The valid values of an entry, as a test and as text."""

    accepts: Callable[[Any], bool]
    words: str


def check_form(event: Any) -> None:
    """Raise ``ValueError`` unless an event has the entries of its kind, each with a valid value."""
    kind = event.get("event") if type(event) is dict else None
    if type(kind) is not str or kind not in _KINDS:
        raise ValueError(f"event must be one of {', '.join(_KINDS)}, got {shown(kind)}")
    needed, accepts = _KINDS[kind]
    if not needed <= event.keys():
        missing = sorted(needed - event.keys())
        raise ValueError(f"an event {kind!r} must have the entries {', '.join(missing)}, got none of them")
    for name, value in event.items():
        if name not in accepts:
            raise ValueError(f"an event {kind!r} cannot have an entry {shown(name)}")
        if not accepts[name](value):
            raise ValueError(f"{name} must be {_WORDS[kind][name]}, got {shown(value)}")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_integers(values: Any) -> bool:
    return type(values) is list and set(map(type, values)) <= {int}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -sys.float_info.max <= value <= sys.float_info.max


def _are_numbers(values: Any) -> bool:
    if type(values) is not list or set(map(type, values)) not in _NUMBERS:
        return False
    return not values or lie_in(values, -LARGEST, LARGEST)


def _are_chances(values: Any) -> bool:
    return type(values) is list and all(_is_number(value) and 0 <= value <= 1 for value in values)


def _are_finite(values: Any) -> bool:
    return type(values) is list and all(map(_is_number, values))


def _are_features(rows: Any) -> bool:
    return type(rows) is list and all(map(_are_finite, rows)) and len(set(map(len, rows))) <= 1


def _are_features_or_digest(part: Any) -> bool:
    if type(part) is dict:
        return part.keys() == {"digest"} and _is_digest(part["digest"])
    return _are_features(part)


def _is_digest(value: Any) -> bool:
    return type(value) is str and bool(_DIGEST.fullmatch(value))


def _is_shape(value: Any) -> bool:
    return type(value) is list and len(value) == 2 and all(map(_is_count, value))


def is_author(value: Any) -> bool:
    """Return whether a value can be the author of an event: a printable string that is not too long."""
    return type(value) is str and 0 < len(value) <= _LONGEST_AUTHOR and value.isprintable()


def _is_table(rows: Any) -> bool:
    return type(rows) is list and all(map(_are_numbers, rows)) and len(set(map(len, rows))) <= 1


def _is_name(value: Any, depth: int = 0) -> bool:
    if type(value) is list:
        return depth < _DEEPEST_NAME and all(_is_name(part, depth + 1) for part in value)
    if type(value) is float:
        return math.isfinite(value)
    return type(value) in PLAIN


def _are_names(values: Any) -> bool:
    if type(values) is not list:
        return False
    kinds = set(map(type, values))
    # The usual names are texts, numbers or lists of these, of which the types are compared at once.
    if kinds == {list}:
        kinds = set(map(type, chain.from_iterable(values)))
    return kinds <= PLAIN or all(map(_is_name, values))


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether a description is nested at most as deeply as the fingerprints that are written."""
    if type(value) is dict:
        value = list(value.values())
    if type(value) is list:
        return depth < 2 * _DEEPEST_NAME and all(_is_plain(part, depth + 1) for part in value)
    return type(value) is not float or math.isfinite(value)


def _is_fingerprint(key: str, kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is dict and type(value.get(key)) is kind and _is_plain(value)


def _are_versions(value: Any) -> bool:
    return type(value) is dict and set(map(type, value.values())) <= {str}


def _is_support(value: Any) -> bool:
    if value is None:
        return True
    if type(value) is not list or len(value) != 2:
        return False
    if not all(_is_number(end) or (type(end) is str and end in _ENDS) for end in value):
        return False
    return float(value[0]) < float(value[1])


def _is_context(parts: Any) -> bool:
    return type(parts) is dict and all(name in _CONTEXT and _CONTEXT[name](parts[name]) for name in parts)


def _is_gone(value: Any) -> bool:
    return (
        type(value) is dict
        and value.keys() == {"choices", "names"}
        and all(map(_are_integers, value.values()))
    )


def _is_time(value: Any) -> bool:
    try:
        return type(value) is str and bool(_TIME.fullmatch(value) and datetime.fromisoformat(value))
    except ValueError:  # such as a month 13
        return False


def _is_possible(check: Callable[[Any], object]) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        try:
            check(value)
        except ValueError:
            return False
        return True

    return accepts


_CONTEXT: dict[str, Callable[[Any], bool]] = {
    "available": lambda values: type(values) is list and set(map(type, values)) <= {bool},
    "features": _are_features_or_digest,
    "values": _are_finite,
    "costs": _are_finite,
}


def _is_cascade(parts: Any) -> bool:
    if type(parts) is not dict or not {"joined", "known"} <= parts.keys() <= _CASCADE:
        return False
    if not all(map(_are_integers, parts.values())):
        return False
    steps = parts["steps"] if "steps" in parts else parts["joined"]
    if len(parts["known"]) != 2 or len(parts.get("network", [0])) != 1:
        return False
    return len(steps) == len(parts["joined"])


_CASCADE = {"joined", "known", "network", "steps", "unseen", "live", "dead"}
_COUNT = Entry(_is_count, "an integer of at least 0")
_LINE = Entry(lambda value: type(value) is int and value >= 1, "the number of a line (an integer from 1)")
_PLACES = Entry(_are_integers, "a list of integers")
_OUTCOMES = Entry(_are_numbers, f"a list of finite numbers, each at most {LARGEST:g} in absolute value")
_TABLE = Entry(_is_table, "rows of finite numbers, all of the same length")
_NAMES = Entry(_are_names, "a list of names: strings, finite numbers or lists of these")
_TEXT = Entry(lambda value: type(value) is str and 0 < len(value) <= 64, "a string of 1 to 64 characters")
_ANY = {
    "event": Entry(bool, "a string"),
    "at": Entry(_is_time, "a time such as 2026-01-31T12:00:00.000+00:00"),
}
_ALWAYS_OPTIONAL = {
    "author": Entry(is_author, f"a printable string of 1 to {_LONGEST_AUTHOR} characters"),
}
_ARRAY = {
    "digest": Entry(_is_digest, "a SHA-256 hash of 64 hexadecimal digits"),
    "type": Entry(lambda value: value in ("<f8", "<f4"), "'<f8' or '<f4'"),
    "shape": Entry(_is_shape, "two integers of at least 0"),
    "data": Entry(lambda value: type(value) is str, "a string in base64"),
}
_MADE_OF = {
    "arms": Entry(_is_fingerprint("n_arms", int), "a description of base arms with n_arms"),
    "policy": Entry(_is_fingerprint("class", str), "a description of a policy with its class"),
    "versions": Entry(_are_versions, "a mapping of packages to versions, which are strings"),
    "choices": _NAMES,
    "names": _NAMES,
}
_GONE = {"gone": Entry(_is_gone, "lists of positions in choices and names")}
_REPORT = {"ticket": _COUNT, "arms": _PLACES, "outcomes": _OUTCOMES}
_BESIDES = {
    "reward": Entry(_is_number, "a finite number"),
    "pulls": _PLACES,
    "squares": Entry(_are_finite, "a list of finite numbers"),
    "costs": _TABLE,
    "used": _OUTCOMES,
    "cascade": Entry(_is_cascade, "joined, steps, unseen, live, dead, known and network (lists of integers)"),
}
_BEGINNING = {
    "format": Entry(_is_count, "an integer"),
    "session": _TEXT,
    "rng": Entry(_is_possible(generator_from), "a possible state of a generator"),
    "support": Entry(_is_support, "null or two increasing numbers"),
}
_ASKED = {
    "pulls": Entry(lambda value: type(value) is int and value >= 1, "an integer of at least 1"),
    "propensity": Entry(lambda value: _is_number(value) and 0 <= value <= 1, "a number in [0, 1]"),
    "by_position": Entry(_are_chances, "a list of numbers in [0, 1]"),
    "draws": Entry(lambda value: type(value) is int and value >= 0, "an integer of at least 0"),
    "context": Entry(
        _is_context, "available (flags), features (rows or digest), values or costs (finite numbers)"
    ),
    "rng": Entry(_is_possible(check_position), "a possible state of a generator"),
}


#: The required and the optional entries of each kind of event.
_ENTRIES = {
    "campaign": (_MADE_OF | _BEGINNING, _GONE),
    "changed": (_MADE_OF, _GONE),
    "ask": ({"ticket": _COUNT, "super_arm": _PLACES}, _ASKED),
    "tell": (_REPORT, _BESIDES),
    "correct": (_REPORT | {"line": _LINE}, _BESIDES),
    "cancel": ({"ticket": _COUNT}, {"expired": Entry(lambda value: value is True, "true")}),
    "array": (_ARRAY, {}),
    "undo": ({"line": _LINE}, {}),
}
_ALL = {kind: _ANY | _ALWAYS_OPTIONAL | needed | optional for kind, (needed, optional) in _ENTRIES.items()}
#: The same entries, in the form that is fast to compare with every line of a journal.
_KINDS = {
    kind: ({*_ANY, *needed}, {name: entry.accepts for name, entry in _ALL[kind].items()})
    for kind, (needed, _) in _ENTRIES.items()
}
_WORDS = {kind: {name: entry.words for name, entry in entries.items()} for kind, entries in _ALL.items()}
