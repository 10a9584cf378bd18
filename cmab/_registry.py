"""Entry points: how the command finds demos, oracles and instances without importing their packages."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

GROUPS = ("demos", "experiments", "instances", "oracles", "policies", "explorers")
_PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def entries(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of ``cmab.<group>`` by name, of all installed packages, in order of name."""
    full = f"cmab.{group}"
    found = {entry.name: entry for entry in (*_of_checkout(full), *_installed(full))}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def load(group: str, name: str) -> Any:
    """Return what an entry point names.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    known = entries(group)
    if name not in known:
        listed = ", ".join(known) or "none: is the package installed?"
        raise ValueError(
            f"{group.removesuffix('s')} must be one of those registered ({listed}), got {name!r}"
        )
    return known[name].load()


def version() -> str:
    """Return the version of cmab, of the checkout if that is what runs."""
    return str(_project().get("version") or metadata.version("cmab"))


def _of_checkout(group: str) -> list[metadata.EntryPoint]:
    """Return what the checkout's own project file declares, for a checkout that is used uninstalled."""
    declared = _project().get("entry-points", {}).get(group, {})
    return [metadata.EntryPoint(name, value, group) for name, value in declared.items()]


@cache
def _installed(group: str) -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group=group))


@cache
def _project() -> dict[str, Any]:
    """Return the checkout's own project table; empty where cmab is installed without it."""
    if not _PYPROJECT.is_file():
        return {}
    project: dict[str, Any] = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8")).get("project", {})
    return project if project.get("name") == "cmab" else {}
