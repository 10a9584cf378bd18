"""Entry points: how the command finds demos, oracles and instances without importing their packages."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

GROUPS = ("demos", "experiments", "instances", "oracles", "policies", "explorers")
_PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def entries(group: str) -> dict[str, metadata.EntryPoint]:
    """Return the entry points of ``cmab.<group>`` by name, of all installed packages, in order of name."""
    full = f"cmab.{group}"
    found = {entry.name: entry for entry in (*_of_checkout(full), *metadata.entry_points(group=full))}
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


def _of_checkout(group: str) -> list[metadata.EntryPoint]:
    """Return what the checkout's own project file declares, for a checkout that is used uninstalled."""
    if not _PYPROJECT.is_file():
        return []
    project = tomllib.loads(_PYPROJECT.read_text(encoding="utf-8")).get("project", {})
    declared = project.get("entry-points", {}).get(group, {}) if project.get("name") == "cmab" else {}
    return [metadata.EntryPoint(name, value, group) for name, value in declared.items()]
