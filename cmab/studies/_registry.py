"""Entry points: how the command finds demos, oracles and instances without importing their packages."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

GROUPS = ("demos", "experiments", "instances", "oracles", "policies", "explorers")
_PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def entries(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of ``cmab.<group>`` by name, of all installed packages, in order of name.

    Where several claim a name, cmab's own comes first; see `check_unique`.
    """
    found: dict[str, metadata.EntryPoint] = {}
    for entry in _all(group):
        found.setdefault(entry.name, entry)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def check_unique(name: str, groups: Iterable[str]) -> None:
    """Refuse a name that stands for different things.

    Raises
    ------
    ValueError
        Naming the packages that claim it.
    """
    claims = {entry.value: entry for group in groups for entry in _all(group) if entry.name == name}
    if len(claims) > 1:
        told = " and ".join(f"{value} of {_owner(entry)}" for value, entry in claims.items())
        raise ValueError(f"{name} must be registered by one package, got {told}; remove one of them")


def load(group: str, name: str) -> Any:
    """Return what an entry point names.

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


def version() -> str:
    """Return the version of cmab, of the checkout if that is what runs."""
    return str(_project().get("version") or metadata.version("cmab"))


def _all(group: str) -> tuple[metadata.EntryPoint, ...]:
    """Return all claims, cmab's own first; a checkout's own file stands for what is installed of cmab."""
    full = f"cmab.{group}"
    ours, others = _installed(full)
    return (*(_of_checkout(full) or ours), *others)


def _of_checkout(group: str) -> list[metadata.EntryPoint]:
    """Return what the checkout's own project file declares, for a checkout that is used uninstalled."""
    declared = _project().get("entry-points", {}).get(group, {})
    return [metadata.EntryPoint(name, value, group) for name, value in declared.items()]


@cache
def _installed(group: str) -> tuple[list[metadata.EntryPoint], list[metadata.EntryPoint]]:
    """Return cmab's own entry points and those of others; each name of an owner is read from a file."""
    found = list(metadata.entry_points(group=group))
    ours = [entry for entry in found if _owner(entry) == "cmab"]
    return ours, [entry for entry in found if entry not in ours]


def _owner(entry: metadata.EntryPoint) -> str:
    """Return the name of the package that declares an entry point."""
    return "cmab" if entry.dist is None else str(entry.dist.name)


@cache
def _project() -> dict[str, Any]:
    """Return the checkout's own project table; empty where cmab is installed without it."""
    if not _PYPROJECT.is_file():
        return {}
    project: dict[str, Any] = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8")).get("project", {})
    return project if project.get("name") == "cmab" else {}
