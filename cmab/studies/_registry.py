"""What the command and study files know by name: the classes and commands of the installed packages.

A package is a plug-in by one entry point, ``name = "package"`` in the group ``cmab.plugins``. Its public
classes (``__all__``) are found by what they are; its demos and experiments are the functions that its modules
``demos.commands`` and ``experiments.commands`` list. A group ``cmab.<kind>`` names single things beside.

The plug-ins are imported and scanned once in a process, and again when a name is asked for that is not known.
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

from cmab.namespaces import FORMER, renamed
from cmab.renamed import present_name
from cmab.spelling import nearest
from cmab.validation import shown

_COMMANDS = ("demos", "experiments")
#: The kinds of classes, in the order in which a name is looked for.
CLASSES = ("instances", "oracles", "policies", "explorers")
GROUPS = (*_COMMANDS, *CLASSES)
_PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
#: For each name the distributions that claim it, and for what.
_Claims = dict[str, list[tuple[str, metadata.EntryPoint]]]
#: What names were found to be, by the name and the groups in which it was looked for.
_found: dict[tuple[str, ...], metadata.EntryPoint] = {}
_kinds: WeakKeyDictionary[type, str | None] = WeakKeyDictionary()


def entries(group: str) -> dict[str, metadata.EntryPoint]:
    """Return what the installed packages offer of a kind, by name and in its order; it is loaded later.

    Where several claim a name, cmab's own comes first; see `check_unique`.
    """
    return {name: claims[0][1] for name, claims in _claims(group).items()}


def refresh() -> None:
    """Have the plug-ins looked for again at the next question."""
    _claims.cache_clear()
    _installed.cache_clear()
    _found.clear()


def entry_of(name: str, groups: Sequence[str] = CLASSES) -> metadata.EntryPoint | None:
    """Return the entry point of a name in one of the groups; None if there is none, even after a new look.

    Raises
    ------
    ValueError
        Naming the packages that claim it, if these are several.
    """
    if ":" in name:
        return metadata.EntryPoint(name, name, "cmab.own")
    known = _found.get((name, *groups))
    if known is not None:
        return known
    for look in (1, 2):
        for group in groups:
            if (entry := entries(group).get(present_name(name))) is not None:
                check_unique(entry.name, groups)
                _found[name, *groups] = entry
                return entry
        if look == 1:
            refresh()  # its package may have been installed since
    return None


def check_unique(name: str, groups: Iterable[str]) -> None:
    """Refuse a name that stands for different things.

    Raises
    ------
    ValueError
        Naming the packages that claim it.
    """
    claims = {entry.value: owner for group in groups for owner, entry in _claims(group).get(name, ())}
    if len(claims) > 1:
        told = " and ".join(f"{value} of {owner}" for value, owner in claims.items())
        raise ValueError(f"{name} must be registered by one package, got {told}; remove one of them")


def load(group: str, name: str) -> Any:
    """Return what a name stands for.

    Raises
    ------
    ValueError
        If there is none of this name, or more than one.
    """
    entry = entry_of(name, (group,))
    if entry is None or ":" in name:
        listed = ", ".join(entries(group)) or "none: is the package installed?"
        raise ValueError(
            f"{group.removesuffix('s')} must be one of those registered ({listed}), got {name!r}"
        )
    return entry.load()


def class_of(name: str, where: str) -> Any:
    """Return the class that is registered under a name, or that ``"module:Class"`` names.

    Raises
    ------
    ValueError
        If there is none, it cannot be imported, or several packages claim the name.
    """
    if ":" in name:
        return _own(name, where)
    entry = entry_of(name)
    if entry is None:
        known = [name for group in CLASSES for name in entries(group)]
        raise ValueError(
            f"{where}.class must be a name that `cmab list` shows{nearest(name, known)}, got {name!r};"
            ' a class of your own is "module:Class", or one once its package has an entry point in the group'
            " cmab.plugins"
        )
    if name in FORMER:
        renamed(name)
    try:
        return entry.load()
    except Exception as error:
        raise ValueError(f"{where}.class: {entry.value} cannot be imported ({error})") from error


def _own(name: str, where: str) -> Any:
    """Return the class ``"module:Class"`` of a module that is imported.

    A file may come from anybody, so it imports nothing: who runs it says what it may use.
    """
    home, _, inner = name.partition(":")
    if home not in sys.modules or home == "__main__":
        raise ValueError(
            f"{where}.class must be of a module that was imported, got {name!r}: import it, or give"
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
    """Return all claims to things of a kind by name, cmab's own first; names stand in their order."""
    rows = [(owner, entry) for owner, plugin in _rows("plugins") for entry in _offered(plugin, group)]
    found: _Claims = {}
    for owner, entry in [*rows, *_rows(group)]:
        found.setdefault(entry.name, []).append((owner, entry))
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _offered(plugin: metadata.EntryPoint, group: str) -> list[metadata.EntryPoint]:
    """Return what a plug-in offers of a kind; if it cannot be imported, itself, so that its name tells."""
    try:
        place, names = (_commands if group in _COMMANDS else _classes)(plugin, group)
    except Exception:  # whatever somebody's module does when it is imported
        return [metadata.EntryPoint(plugin.name, plugin.value, group)]
    spelt = {name: name.replace("_", "-") if group in _COMMANDS else name for name in names}
    return [metadata.EntryPoint(spelt[name], f"{place}:{name}", group) for name in names]


def _classes(plugin: metadata.EntryPoint, group: str) -> tuple[str, list[str]]:
    """Return the module of a plug-in, and the names of its concrete classes of a kind."""
    module = plugin.load()
    home = module.__name__.partition(".")[0]
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    # What it exports of another package, that package offers.
    return module.__name__, [
        name
        for name in names
        if isinstance(thing := getattr(module, name), type)
        and thing.__module__.partition(".")[0] == home
        and not inspect.isabstract(thing)
        and kind_of(thing) == group
    ]


def kind_of(thing: object) -> str | None:
    """Return the group of a class; None of anything else."""
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

    # Explorers are policies too.
    kinds = {Oracle: "oracles", Environment: "instances", Explorer: "explorers", Policy: "policies"}
    return next((group for base, group in kinds.items() if issubclass(thing, base)), None)


def _commands(plugin: metadata.EntryPoint, group: str) -> tuple[str, list[str]]:
    """Return the module of a plug-in that lists its demos or experiments, and what it lists."""
    folder = f"{plugin.module}.{group}"
    # Only a package has parts, and it must be imported before they can be looked for.
    has_parts = hasattr(plugin.load(), "__path__") and util.find_spec(folder)
    if not has_parts or not util.find_spec(f"{folder}.commands"):
        return folder, []
    return f"{folder}.commands", list(import_module(f"{folder}.commands").__all__)


def _rows(group: str) -> list[tuple[str, metadata.EntryPoint]]:
    """Return the entry points of a group with their distributions; a checkout's own stand for cmab's."""
    full = f"cmab.{group}"
    ours, others = _installed(full)
    # In a checkout the installed table may be an old one, or none.
    if project := _project():
        declared = project.get("entry-points", {}).get(full, {})
        ours = [metadata.EntryPoint(name, value, full) for name, value in declared.items()]
    return [*(("cmab", entry) for entry in ours), *others]


@cache
def _installed(group: str) -> tuple[list[metadata.EntryPoint], list[tuple[str, metadata.EntryPoint]]]:
    """Return cmab's own entry points and those of others; each name of an owner is read from a file."""
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
    """Return the checkout's own project table; empty where cmab is installed without it."""
    if not _PYPROJECT.is_file():
        return {}
    project: dict[str, Any] = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8")).get("project", {})
    return project if project.get("name") == "cmab" else {}
