"""The registered classes and commands of the installed packages, by name.

A package registers as a plug-in by one entry point, ``name = "package"`` in the group ``cmab.plugins``. The
registry finds its public classes (``__all__``) by their base classes. Its demos and experiments are the
functions in ``__all__`` of its modules ``demos.commands`` and ``experiments.commands``. An entry point in a
group ``cmab.<kind>`` registers a single class or command.

The plug-ins are imported and scanned once per process, and again if an unknown name is looked up.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from cmab.spelling import nearest
from cmab.validation import shown

_COMMANDS = ("demos", "experiments")
#: The kinds of classes, in the order in which a name is looked up.
CLASSES = ("instances", "oracles", "policies", "explorers")
GROUPS = (*_COMMANDS, *CLASSES)
_PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
#: The distributions that register a name, with their entry points, by name.
_Claims = dict[str, list[tuple[str, metadata.EntryPoint]]]
#: Entry points that were found, by the name and the groups in which it was looked up.
_found: dict[tuple[str, ...], metadata.EntryPoint] = {}
_kinds: WeakKeyDictionary[type, str | None] = WeakKeyDictionary()


def entries(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of a kind of the installed packages, sorted by name, without loading them.

    If several packages register a name, the entry point of cmab comes first (see `check_unique`).
    """
    return {name: claims[0][1] for name, claims in _claims(group).items()}


def commands() -> dict[str, metadata.EntryPoint]:
    """Return the entry points of further commands by name, without a scan of the plug-ins."""
    found: dict[str, metadata.EntryPoint] = {}
    for _, entry in _rows("commands"):
        found.setdefault(entry.name, entry)
    return found


def plugins() -> list[metadata.EntryPoint]:
    """Return the entry points of the plug-ins, with those of cmab first."""
    return [entry for _, entry in _rows("plugins")]


def refresh() -> None:
    """Clear the caches, so that the next lookup scans the plug-ins again."""
    _claims.cache_clear()
    _installed.cache_clear()
    _found.clear()


def entry_of(name: str, groups: Sequence[str] = CLASSES) -> metadata.EntryPoint | None:
    """Return the entry point of a name in one of the groups, or None if a new scan does not find it either.

    Raises
    ------
    ValueError
        If several packages register the name. The message lists them.
    """
    if ":" in name:
        return metadata.EntryPoint(name, name, "cmab.own")
    known = _found.get((name, *groups))
    if known is not None:
        return known
    for look in (1, 2):
        for group in groups:
            if (entry := entries(group).get(name)) is not None:
                check_unique(entry.name, groups)
                _found[name, *groups] = entry
                return entry
        if look == 1:
            refresh()  # its package may have been installed since the last scan
    return None


def check_unique(name: str, groups: Iterable[str]) -> None:
    """Check that only one package registers a name.

    Raises
    ------
    ValueError
        If several packages register the name. The message lists them.
    """
    claims = {entry.value: owner for group in groups for owner, entry in _claims(group).get(name, ())}
    if len(claims) > 1:
        told = " and ".join(f"{value} of {owner}" for value, owner in claims.items())
        raise ValueError(f"{name} must be registered by one package, got {told}; remove one of them")


def load(group: str, name: str) -> Any:
    """Return the object that is registered under a name.

    Raises
    ------
    ValueError
        If the name is not registered, or registered by several packages.
    """
    entry = entry_of(name, (group,))
    if entry is None or ":" in name:
        listed = ", ".join(entries(group)) or "none; install the package that registers it"
        raise ValueError(
            f"{group.removesuffix('s')} must be one of the registered {group} ({listed}), got {name!r}"
        )
    return entry.load()


def class_of(name: str, where: str) -> Any:
    """Return the class that is registered under a name, or that ``"module:Class"`` names.

    Raises
    ------
    ValueError
        If the name is unknown, the class cannot be imported, or several packages register the name.
    """
    if ":" in name:
        return _own(name, where)
    entry = entry_of(name)
    if entry is None:
        known = [name for group in CLASSES for name in entries(group)]
        raise ValueError(
            f"{where}.class must be a name that `cmab list` shows{nearest(name, known)}, got {name!r};"
            ' name your own class as "module:Class", or register its package by an entry point in the group'
            " cmab.plugins"
        )
    try:
        return entry.load()
    except Exception as error:
        raise ValueError(f"{where}.class: {entry.value} cannot be imported ({error})") from error


def _own(name: str, where: str) -> Any:
    """Return the class ``"module:Class"`` of a module that was imported before.

    Study files are untrusted and must not import modules. The user imports the modules that a file may use.
    """
    home, _, inner = name.partition(":")
    if home not in sys.modules or home == "__main__":
        raise ValueError(
            f"{where}.class must be in a module that was imported, got {name!r}; import the module, or use"
            f" `cmab run --import {home}`"
        )
    found: Any = sys.modules[home]
    for part in inner.split("."):
        found = getattr(found, part, None)
    if kind_of(found) is None:
        raise ValueError(
            f"{where}.class must be an oracle, environment, policy or explorer, got {name!r}: {shown(found)}"
        )
    return found


@cache
def _claims(group: str) -> _Claims:
    """Return all entry points of a kind by name, sorted by name, with those of cmab first."""
    rows = [(owner, entry) for owner, plugin in _rows("plugins") for entry in _offered(plugin, group)]
    found: _Claims = {}
    for owner, entry in [*rows, *_rows(group)]:
        found.setdefault(entry.name, []).append((owner, entry))
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _offered(plugin: metadata.EntryPoint, group: str) -> list[metadata.EntryPoint]:
    """Return the entry points of a kind in a plug-in, or of the plug-in itself if it cannot be imported."""
    try:
        place, names = (_commands if group in _COMMANDS else _classes)(plugin, group)
    except Exception:  # modules of plug-ins may raise anything during import
        return [metadata.EntryPoint(plugin.name, plugin.value, group)]
    spelt = {name: name.replace("_", "-") if group in _COMMANDS else name for name in names}
    return [metadata.EntryPoint(spelt[name], f"{place}:{name}", group) for name in names]


def _classes(plugin: metadata.EntryPoint, group: str) -> tuple[str, list[str]]:
    """Return the module of a plug-in, and the names of its concrete classes of a kind."""
    module = plugin.load()
    home = module.__name__.partition(".")[0]
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    # A class that is imported from another package is registered by that package.
    return module.__name__, [
        name
        for name in names
        if isinstance(thing := getattr(module, name), type)
        and thing.__module__.partition(".")[0] == home
        and not inspect.isabstract(thing)
        and kind_of(thing) == group
    ]


def kind_of(thing: object) -> str | None:
    """Return the group of a class, or None for any other object."""
    if not isinstance(thing, type):
        return None
    if thing not in _kinds:
        _kinds[thing] = _kind_of(thing)
    return _kinds[thing]


def _kind_of(thing: type) -> str | None:
    from cmab.environment import Environment
    from cmab.explorer import Explorer
    from cmab.oracle import Oracle
    from cmab.policy import Policy

    # Explorers are also policies, so they come first.
    kinds = {Oracle: "oracles", Environment: "instances", Explorer: "explorers", Policy: "policies"}
    return next((group for base, group in kinds.items() if issubclass(thing, base)), None)


def _commands(plugin: metadata.EntryPoint, group: str) -> tuple[str, list[str]]:
    """Return the name of the module that lists the demos or experiments of a plug-in, and their names."""
    folder = f"{plugin.module}.{group}"
    # Only a package has submodules, and it must be imported before `find_spec` can find them.
    has_parts = hasattr(plugin.load(), "__path__") and util.find_spec(folder)
    if not has_parts or not util.find_spec(f"{folder}.commands"):
        return folder, []
    return f"{folder}.commands", list(import_module(f"{folder}.commands").__all__)


def _rows(group: str) -> list[tuple[str, metadata.EntryPoint]]:
    """Return (distribution, entry point) of a group. In a checkout, read pyproject.toml for cmab."""
    full = f"cmab.{group}"
    ours, others = _installed(full)
    # In a checkout, the installed metadata may be outdated or missing.
    if project := _project():
        declared = project.get("entry-points", {}).get(full, {})
        ours = [metadata.EntryPoint(name, value, full) for name, value in declared.items()]
    return [*(("cmab", entry) for entry in ours), *others]


@cache
def _installed(group: str) -> tuple[list[metadata.EntryPoint], list[tuple[str, metadata.EntryPoint]]]:
    """Return the entry points of cmab, and those of other packages with the names of their distributions."""
    found = [
        ("cmab" if entry.dist is None else str(entry.dist.name), entry)
        for entry in metadata.entry_points(group=group)
    ]
    return (
        [entry for owner, entry in found if owner == "cmab"],
        [(owner, entry) for owner, entry in found if owner != "cmab"],
    )


@cache
def _project() -> dict[str, Any]:
    """Return the project table of the checkout, or an empty dict if cmab does not run from a checkout."""
    if not _PYPROJECT.is_file():
        return {}
    project: dict[str, Any] = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8")).get("project", {})
    return project if project.get("name") == "cmab" else {}
