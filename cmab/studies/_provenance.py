"""Where a number comes from: the code, the versions and the machine that made it."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from cmab.studies import _imports, _registry
from cmab.studies._sources import content_of, helpers_of
from cmab.studies._specification import class_of, entry_of

DEPENDENCIES = ("numpy", "scipy", "networkx", "numba", "highspy", "pulp")
OWN = ("cmab", "oracles", "instances")
Code = dict[str, dict[str, str]]

_AGAIN_SECONDS = 1.0
# What the files held when they were last known to be what is in memory, and when that was asked.
_known: dict[str, str] = {}
_asked: dict[str, float] = {}


def code_of(names: Iterable[str], more: Iterable[str] = ()) -> Code:
    """Return ``versions``, and ``sources``: the content of each package that classes, by name, use.

    Those are cmab, `more`, the packages of the classes and of their bases, and what these import, outside the
    standard library and the dependencies, whose versions are told.

    Raises
    ------
    ValueError
        If files were changed after they were imported: what would run is not what is hashed.
    """
    packages = {"cmab", *more}
    for name in names:
        for kind in getattr(class_of(name, name), "__mro__", ()):
            # The base classes' packages as well: a policy's rule may be inherited.
            packages.add(kind.__module__.partition(".")[0])
        # A class may be exported from another package than the one that defines it.
        entry = entry_of(name)
        packages |= {entry.module.partition(".")[0]} if entry is not None else set()
    packages -= {*DEPENDENCIES, *sys.stdlib_module_names}
    packages |= helpers_of(packages - {*OWN}, {*OWN, *DEPENDENCIES}) - {*DEPENDENCIES}
    # Environments call oracles for their optimum.
    if "instances" in packages:
        packages.add("oracles")
    return {"versions": _versions(), "sources": _sources(sorted(packages))}


def refresh() -> None:
    """Have the files looked at again, even if that was done just now."""
    _asked.clear()


def check_code(code: Code) -> None:
    """Refuse to play, here, what is keyed by other code than is imported here.

    Raises
    ------
    ValueError
        Naming what differs and where.
    """
    here = {"versions": _versions(), "sources": _sources(code["sources"])}
    wrong = [
        f"{name} ({kind}) {wanted} there and {here[kind].get(name)} here"
        for kind, entries in code.items()
        for name, wanted in entries.items()
        if here[kind].get(name) != wanted
    ]
    if wrong:
        raise ValueError(
            f"{platform.node()} must run the code with which the study was started, got {', '.join(wrong)}"
        )


def _sources(packages: Iterable[str]) -> dict[str, str]:
    """Return the hashes of packages, which are asked for with every piece, hence not read every time."""
    now = time.monotonic()
    late = [name for name in packages if now - _asked.get(name, -_AGAIN_SECONDS) >= _AGAIN_SECONDS]
    found = {name: content_of(name) for name in late}
    changed = [name for name in late if _known.get(name) != found[name]]
    if wrong := _imports.edited(changed):
        raise ValueError(
            f"code must not change between its import and its use, got {', '.join(wrong)} changed since;"
            " start Python again"
        )
    if wrong := _imports.outlived(packages):
        raise ValueError(
            f"reloaded code must be reloaded by all who use it, got the old {', '.join(wrong)};"
            " start Python again"
        )
    _known.update(found)
    _asked.update(dict.fromkeys(late, now))
    return {name: _known[name] for name in packages}


@cache
def machine() -> dict[str, str | int]:
    """Return what a paper says about the machine that runs this."""
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
    }


def _processor() -> str:
    """Return the model's name where the system tells it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "cmab": _registry.version()}
    return found | {name: metadata.version(name) for name in DEPENDENCIES}
