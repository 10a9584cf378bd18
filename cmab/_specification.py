"""Objects from plain data (TOML tables), and the keys under which their results are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import metadata
from typing import Any

from cmab import _registry
from cmab._validation import shown

_GROUPS = ("instances", "oracles", "policies", "explorers")


def build(value: Any, names: Mapping[str, Any], where: str, **extra: Any) -> Any:
    """Return the object that a specification describes.

    Parameters
    ----------
    value : object
        A table with ``class``, a registered name, is a call with the table's other entries; one with
        ``networkx``, the name of one of networkx's generators, likewise; ``"$name"`` is one of `names`; lists
        are built entry by entry; everything else is itself.
    names : mapping
        What ``$`` refers to.
    where : str
        Place in the file, for messages.
    **extra : object
        Further arguments of the outermost call.

    Raises
    ------
    ValueError
        With the place, if something is unknown or refused.
    """
    if isinstance(value, str) and value.startswith("$"):
        if value[1:] not in names:
            known = ", ".join(f"${name}" for name in names) or "none here"
            raise ValueError(f"{where} must refer to one of the known objects ({known}), got {value!r}")
        return names[value[1:]]
    if isinstance(value, list):
        return [build(entry, names, f"{where}[{i}]") for i, entry in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    makers = [name for name in ("class", "networkx") if name in value]
    if len(makers) != 1 or not isinstance(value[makers[0]], str):
        raise ValueError(f"{where} must have one name as class or networkx, got {shown(dict(value))}")
    given = {key: entry for key, entry in value.items() if key not in ("class", "networkx")}
    arguments = {key: build(entry, names, f"{where}.{key}") for key, entry in given.items()}
    maker = _maker(makers[0], value[makers[0]], where)
    try:
        return maker(**extra, **arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def _maker(kind: str, name: str, where: str) -> Any:
    if kind == "class":
        return class_of(name, where)
    import networkx as nx

    if not hasattr(nx, name):
        raise ValueError(
            f"{where}.networkx must be a function of networkx{nearest(name, dir(nx))}, got {name!r}"
        )
    return getattr(nx, name)


def entry_of(name: str) -> metadata.EntryPoint | None:
    """Return the entry point of a class, whatever its kind."""
    found = (_registry.entries(group).get(name) for group in _GROUPS)
    return next((entry for entry in found if entry is not None), None)


def class_of(name: str, where: str) -> Any:
    """Return the class that is registered under a name."""
    entry = entry_of(name)
    if entry is None:
        known = [name for group in _GROUPS for name in _registry.entries(group)]
        raise ValueError(
            f"{where}.class must be a name that `cmab list` shows{nearest(name, known)}, got {name!r}"
        )
    return entry.load()


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question after the known name that is spelt most like this one, if there is such a name."""
    by_letters = {other.lower(): other for other in known}
    found = get_close_matches(name.lower(), by_letters, 1)
    return f" (did you mean {by_letters[found[0]]!r}?)" if found else ""


def classes(value: Any) -> Iterable[str]:
    """Yield the names of all classes in a specification."""
    if isinstance(value, Mapping):
        if isinstance(value.get("class"), str):
            yield value["class"]
        for entry in value.values():
            yield from classes(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from classes(entry)


def key_of(content: Mapping[str, Any]) -> str:
    """Return a key that any change of the content changes, and the order of its entries does not."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
