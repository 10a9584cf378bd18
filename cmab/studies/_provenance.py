"""The code, the versions and the machine that produced the numbers of a piece."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import cmab
from cmab.studies import _imports, _live, _registry
from cmab.studies._declared import declared_again, declared_by
from cmab.studies._objects import check_home
from cmab.studies._sources import OWN, content_of, helpers_of, is_installed

DEPENDENCIES = ("numpy", "scipy", "networkx", "numba", "highspy", "pulp")
Code = dict[str, dict[str, str]]

_ADVICE = ". If the run writes a file into the folder of these modules, write it to another folder"
_AGAIN_SECONDS = 1.0
# Hashes of the files when they last agreed with the loaded code, and the time of that check.
_known: dict[str, str] = {}
_asked: dict[str, float] = {}
# The modules in which changes in memory were looked for.
_looked: set[str] = set()


def code_of(names: Iterable[str], more: Iterable[str] = ()) -> Code:
    """Return ``versions``, and ``sources`` with a hash of each package that the named classes use.

    The packages are cmab, `more`, the packages of the classes and of their bases, and the packages that these
    import. The standard library and the dependencies are not hashed; ``versions`` has their versions.

    Raises
    ------
    ValueError
        If files were changed after their import, because the hash would not be that of the loaded code.
    """
    packages = {"cmab", *more}
    for name in names:
        for kind in getattr(_registry.class_of(name, name), "__mro__", ()):
            check_home(kind.__module__, kind)
            # Include the packages of base classes, because the rule of a policy may be inherited.
            packages.add(kind.__module__.partition(".")[0])
        # A class may be exported from another package than the one that defines it.
        entry = _registry.entry_of(name)
        packages |= {entry.module.partition(".")[0]} if entry is not None else set()
    packages -= {*DEPENDENCIES, *sys.stdlib_module_names}
    packages |= helpers_of(packages - OWN, OWN.union(DEPENDENCIES)) - {*DEPENDENCIES}
    # Environments compute their optimum with oracles.
    if "instances" in packages:
        packages.add("oracles")
    return {"versions": _versions(), "sources": _sources(sorted(packages))}


def memory_of(code: Code, parts: Sequence[Any]) -> Code:
    """Return ``changed``, code that was changed in memory, and ``declared``, the dependencies of `parts`.

    Changes in memory are looked for in all loaded modules of the packages of `code` that are not installed,
    and in the modules of cmab that define the classes of `parts`.
    """
    homes = {kind.__module__ for thing in parts for kind in type(thing).__mro__}
    looked = {*_modules(frozenset(code["sources"]), len(sys.modules)), *(n for n in homes if _is_own(n))}
    _looked.update(looked)
    return {"changed": _live.changed(sorted(looked)), "declared": declared_by(parts)}


def refresh() -> None:
    """Clear the cache, so that the next call reads the files again."""
    _asked.clear()


def check_code(code: Code) -> None:
    """Check that the code of this process is the code in the keys of the study.

    Raises
    ------
    ValueError
        If they differ. The message lists the differences and the name of this machine.
    """
    here = {"versions": _versions(), "sources": _sources(code["sources"])}
    here["declared"] = declared_again(code.get("declared", {}))
    here["changed"], more = _changed_here(code)
    wrong = [
        f"{name} ({kind}) {wanted} in the study and {here[kind].get(name)} here"
        for kind, entries in code.items()
        for name, wanted in entries.items()
        if here[kind].get(name) != wanted
    ]
    wrong += [f"{place} changed in memory" for place in more]
    if wrong:
        raise ValueError(
            f"{platform.node()} must run the code with which the study was started, got {', '.join(wrong)}"
            f"{_ADVICE if any('(sources)' in entry for entry in wrong) else ''}"
        )


def _changed_here(code: Code) -> tuple[dict[str, str], list[str]]:
    """Return hashes, here, of the code that the study changed, and the functions changed only here.

    For a module that is not loaded here, the function returns the hashes of the study, because a worker loads
    the module with its first piece. Functions changed only here are those of modules that `memory_of` saw.
    """
    known = code.get("changed", {})
    homes = {place: _live.home_of(place) for place in known}
    modules = _modules(frozenset(code["sources"]), len(sys.modules))
    now = _live.changed({*modules, *filter(None, homes.values())})
    here = {place: value if homes[place] is None else now.get(place, "") for place, value in known.items()}
    functions = _live.changed(_looked & {*modules}, only_functions=True)
    return here, sorted(functions.keys() - known.keys())


@lru_cache(maxsize=64)
def _modules(packages: frozenset[str], _: int) -> list[str]:
    """Return the loaded modules of packages that are neither part of cmab nor installed."""
    wanted = {name for name in packages if name not in OWN.union(DEPENDENCIES) and not is_installed(name)}
    return [name for name in list(sys.modules) if name.partition(".")[0] in wanted]


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in OWN


def _sources(packages: Iterable[str]) -> dict[str, str]:
    """Return the hashes of packages. Files are read at most once per second, because each piece asks."""
    now = time.monotonic()
    late = [name for name in packages if now - _asked.get(name, -_AGAIN_SECONDS) >= _AGAIN_SECONDS]
    found = {name: content_of(name) for name in late}
    changed = [name for name in late if _known.get(name) != found[name]]
    if wrong := _imports.edited(changed):
        raise ValueError(
            f"code must not change after its import, got changes in {', '.join(wrong)}; restart Python"
        )
    if wrong := _imports.outlived(packages):
        raise ValueError(
            "code must not be used after its module was reloaded, got old objects in"
            f" {', '.join(wrong)}; restart Python"
        )
    _known.update(found)
    _asked.update(dict.fromkeys(late, now))
    return {name: _known[name] for name in packages}


@cache
def machine() -> dict[str, str | int]:
    """Return host, system, processor and number of cores of this machine."""
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
    }


def _processor() -> str:
    """Return the model name of the processor, or the architecture if the model is unknown."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "cmab": cmab.__version__}
    return found | {name: metadata.version(name) for name in DEPENDENCIES}
