"""What the command and study files know by name: the classes and commands of the installed packages.

A package is a plug-in by one entry point, ``name = "package"`` in the group ``cmab.plugins``. Its public
classes (``__all__``) are found by what they are; its demos and experiments are the functions that its modules
``demos.commands`` and ``experiments.commands`` list. A group ``cmab.<kind>`` names single things beside.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any

_COMMANDS = ("demos", "experiments")
GROUPS = (*_COMMANDS, "instances", "oracles", "policies", "explorers")
_PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def entries(group: str) -> dict[str, metadata.EntryPoint]:
    """Return what the installed packages offer of a kind, by name and in its order; it is loaded later.

    Where several claim a name, cmab's own comes first; see `check_unique`.
    """
    found: dict[str, metadata.EntryPoint] = {}
    for _, entry in _claims(group):
        found.setdefault(entry.name, entry)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def check_unique(name: str, groups: Iterable[str]) -> None:
    """Refuse a name that stands for different things.

    Raises
    ------
    ValueError
        Naming the packages that claim it.
    """
    claims = {entry.value: owner for group in groups for owner, entry in _claims(group) if entry.name == name}
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
    known = entries(group)
    if name not in known:
        listed = ", ".join(known) or "none: is the package installed?"
        raise ValueError(
            f"{group.removesuffix('s')} must be one of those registered ({listed}), got {name!r}"
        )
    check_unique(name, (group,))
    return known[name].load()


def _claims(group: str) -> Iterator[tuple[str, metadata.EntryPoint]]:
    """Yield all things of a kind with the distributions that offer them, cmab's own first."""
    for owner, plugin in _rows("plugins"):
        yield from ((owner, entry) for entry in _offered(plugin, group))
    yield from _rows(group)


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


def kind_of(thing: type) -> str | None:
    """Return the group of a class."""
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
