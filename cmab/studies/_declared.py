"""The files, environment variables and values on which objects of a study declare to depend."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cmab.saving._digest import short_hash
from cmab.studies import _registry
from cmab.studies._live import digest
from cmab.validation import shown

_NAME = "depends_on"
_hashes: dict[Path, tuple[tuple[int, ...], str]] = {}


def parts_of(things: Iterable[Any]) -> list[Any]:
    """Return the oracles, environments, policies and explorers in `things` and in their attributes."""
    found: dict[int, Any] = {}
    waiting = list(things)
    while waiting:
        thing = waiting.pop()
        if id(thing) in found or _registry.kind_of(type(thing)) is None:
            continue
        found[id(thing)] = thing
        for value in getattr(thing, "__dict__", {}).values():
            waiting += value if isinstance(value, list | tuple) else [value]
    return list(found.values())


def declared_by(parts: Iterable[Any]) -> dict[str, str]:
    """Return a hash of the content of each entry of the attribute ``depends_on`` of objects.

    The key of an entry is ``"module.Class: entry"``. The attribute may be an attribute of the class, of the
    object, or a property. Entries of a class are added to those of its base classes.

    Raises
    ------
    ValueError
        If a file cannot be read or a variable is not set. The message names the entry.
    """
    return {name: content(name, entry) for thing in parts for name, entry in _entries(thing)}


def declared_again(known: dict[str, str]) -> dict[str, str]:
    """Return hashes of the current content of files and variables, by the keys of `declared_by`.

    Relative paths start at the folder of the module on this machine. Hashes of values stay the same.
    """
    now = {}
    for name, before in known.items():
        owner, _, entry = name.partition(": ")
        if entry.startswith(("env:", "file:")) and owner.rpartition(".")[0] in sys.modules:
            now[name] = content(name, entry)
        else:
            now[name] = before
    return now


def content(name: str, entry: Any) -> str:
    """Return a hash of the content of an entry.

    Raises
    ------
    ValueError
        If the file or variable is missing. The message names the entry.
    """
    if isinstance(entry, str) and entry.startswith("env:"):
        variable = entry.removeprefix("env:")
        if variable not in os.environ:
            raise ValueError(
                f"{_NAME} of {name} must name an environment variable that is set, got {variable!r}"
            )
        return short_hash(f"{entry}\0{os.environ[variable]}".encode("utf-8", "surrogateescape"))
    if isinstance(entry, str) and entry.startswith("file:"):
        return _of_file(name, Path(entry.removeprefix("file:")))
    return digest(entry)


def _of_file(name: str, path: Path) -> str:
    """Return a hash of a file. It is cached by size, times and inode."""
    owner = name.partition(": ")[0].rpartition(".")[0]
    home = getattr(sys.modules.get(owner), "__file__", None)
    place = Path(home or ".").parent / path  # an absolute path stays as it is
    try:
        status = place.stat()
        facts = status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        if _hashes.get(place, ((), ""))[0] != facts:
            _hashes[place] = facts, short_hash(place.read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{_NAME} of {name} must name a readable file (relative paths start at the folder of"
            f" {owner}), got {place}: {error}"
        ) from None
    return _hashes[place][1]


def _entries(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and the entries of all declarations of an object."""
    declarations = [
        (kind, vars(kind)[_NAME]) for kind in type(thing).__mro__ if _NAME in getattr(kind, "__dict__", {})
    ]
    for kind, value in declarations:
        # A property returns the dependencies of this object.
        given = value.__get__(thing, type(thing)) if hasattr(value, "__get__") else value
        yield from _named(kind, given)
    if _NAME in getattr(thing, "__dict__", {}):
        yield from _named(type(thing), vars(thing)[_NAME])


def _named(kind: type, given: Any) -> Iterator[tuple[str, Any]]:
    owner = f"{kind.__module__}.{kind.__name__}"
    if not isinstance(given, list | tuple | set | frozenset):
        raise ValueError(f"{_NAME} of {owner} must be a list of entries, got {shown(given)}")
    for entry in given:
        if isinstance(entry, os.PathLike):
            text = f"file:{os.fspath(entry)}"
        elif isinstance(entry, str) and not entry.startswith(("env:", "file:", "value:")):
            text = f"file:{entry}"  # a plain string is a path: a missed file would give stale results
        elif isinstance(entry, str):
            text = entry
        elif isinstance(entry, bool | int | float):
            yield f"{owner}: {entry!r}", entry
            continue
        else:
            raise ValueError(
                f"{_NAME} of {owner} must hold paths of files, variables as 'env:NAME', texts as 'value:TEXT'"
                f" and numbers, got {shown(entry)}"
            )
        yield f"{owner}: {text}", text
