"""Where a number comes from: the code, the versions and the machine that made it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from cmab import _registry
from cmab._specification import classes, entry_of

DEPENDENCIES = ("numpy", "scipy", "networkx", "numba", "highspy", "pulp")
Code = dict[str, dict[str, str]]


def code_of(specification: Any) -> Code:
    """Return ``versions``, and ``sources``: the content of each package that the specification uses."""
    packages = {"cmab"}
    for name in set(classes(specification)):
        entry = entry_of(name)
        assert entry is not None  # the specification was built
        packages.add(entry.module.split(".")[0])
        # A class may be exported from another package than the one that defines it.
        packages.add(entry.load().__module__.split(".")[0])
    if "instances" in packages:
        packages.add("oracles")
    return {"versions": _versions(), "sources": {name: content_of(name) for name in sorted(packages)}}


def check_code(code: Code) -> None:
    """Refuse to play, here, what is keyed by other code than is installed here.

    Raises
    ------
    ValueError
        Naming what differs and where.
    """
    here = {"versions": _versions(), "sources": {name: content_of(name) for name in code["sources"]}}
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


@cache
def content_of(package: str) -> str:
    """Return a hash of a package's (or a single module's) source files."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return "missing"
    folders = spec.submodule_search_locations
    if folders is None:
        files = [Path(str(spec.origin))]
    else:
        files = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
