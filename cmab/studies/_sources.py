"""Hashes of all files of packages, and the packages that they import."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from cmab.studies._texts import Texts, texts_of

OWN = frozenset({"cmab", "oracles", "instances"})
_LARGE = 2**26
_INSTALLED = {"site-packages", "dist-packages"}
_CODE = {".py", ".so", ".pyd", ".dll", ".dylib"}
_NO_TEXTS = Texts(frozenset(), frozenset())
#: A file of a package: its name in the package, its path, and its size, time and inode.
_File = tuple[str, Path, tuple[int, int, int]]
_hashes: dict[tuple[_File, ...], str] = {}


def content_of(package: str) -> str:
    """Return a hash of all files of a package or single module, or the version of a large installed package.

    Hashes are cached by size, time and inode of all files.
    """
    files = tuple(sorted(_files(package)))
    if not files:
        return "missing"
    if files not in _hashes:
        if is_installed(package) and sum([facts[0] for _, _, facts in files]) > _LARGE:
            return _version(package)
        digest = hashlib.sha256()
        for name, path, _ in files:
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
        _hashes[files] = digest.hexdigest()[:16]
    return _hashes[files]


def helpers_of(packages: Set[str], ends: Set[str]) -> set[str]:
    """Return the packages that `packages` import, directly or indirectly, except the standard library.

    Imports of installed packages and of `ends` are not followed.
    """
    found: set[str] = set()
    waiting = list(packages)
    while waiting:
        package = waiting.pop()
        for name in _imports_of(package) - found - packages - sys.stdlib_module_names:
            found.add(name)
            # The version of an installed package determines its imports.
            if name not in ends and not is_installed(name):
                waiting.append(name)
    return found


def _places(package: str) -> list[Path]:
    """Return the folders of a package, the file of a single module, or an empty list if it is not found."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return []
    folders = spec.submodule_search_locations
    return [Path(str(spec.origin))] if folders is None else list(map(Path, folders))


def _files(package: str) -> list[_File]:
    """Return the files of a package, except the cache files of Python and numba."""
    found: list[_File] = []
    for number, place in enumerate(_places(package)):
        if place.is_file():
            files = [(place.name, place), *_named_beside(place)]
            found += [(name, path, _facts(path)) for name, path in files]
        else:
            found += _files_below(place, number, is_own=package in OWN)
    return found


def _files_below(folder: Path, number: int, *, is_own: bool) -> list[_File]:
    found: list[_File] = []
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = [name for name in folders if name != "__pycache__" and name[0] != "."]
        home = Path(place)
        start = f"{number}/{home.relative_to(folder).as_posix()}/".replace("/./", "/")
        for name in names:
            is_result = name.endswith(".pyc") or name.startswith("results.sqlite")
            path = home / name
            if not is_result and name[0] != "." and name != "__pycache__" and path.is_file():
                status = path.stat()
                found.append((start + name, path, (status.st_size, status.st_mtime_ns, status.st_ino)))
    if is_own:
        return found
    results = _results_of([path for _, path, _ in found])
    return [file for file in found if file[1].suffix in _CODE or file[1].name not in results]


def _facts(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _results_of(paths: list[Path]) -> frozenset[str]:
    """Return the names of the files that modules of a package write."""
    texts = [
        _texts(path, *_facts(path)).written
        for path in paths
        if path.suffix == ".py" and not _INSTALLED & set(path.parts)
    ]
    return frozenset(Path(text).name for text in frozenset[str]().union(*texts))


def _named_beside(module: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files that a single module names in a string, as in ``with_name("data.json")``.

    Files that the module writes are results, so they are left out.
    """
    texts = _texts(module, *_facts(module))
    for name in sorted(texts.named - texts.written):
        path = module.parent / name
        with suppress(OSError, ValueError):
            if path.is_file() and not path.samefile(module):
                yield name, path


@lru_cache(maxsize=4096)
def _texts(module: Path, *_facts: int) -> Texts:
    """Return the strings in a module that may be relative names of files."""
    tree = _tree(module) if module.suffix == ".py" else None
    return _NO_TEXTS if tree is None else texts_of(tree)


def _tree(path: Path) -> ast.Module | None:
    """Return the syntax tree of a file, or None if this version of Python cannot parse it."""
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return None


def _imports_of(package: str) -> frozenset[str]:
    """Return the top-level names that the files of a package import, at module level or inside functions."""
    files = [file for file in _files(package) if file[1].suffix == ".py"]
    return frozenset[str]().union(*(_top_names(path, *facts) for _, path, facts in files)) - {package}


@lru_cache(maxsize=4096)
def _top_names(path: Path, *_facts: int) -> frozenset[str]:
    found: set[str] = set()
    tree = _tree(path)
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update([alias.name.partition(".")[0] for alias in node.names])
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and node.args and _is_import(node.func):
            name = getattr(node.args[0], "value", None)
            if isinstance(name, str) and not name.startswith("."):
                found.add(name.partition(".")[0])
    return frozenset(found)


def _is_import(function: ast.expr) -> bool:
    """Return whether the name of `function` is ``__import__`` or ``import_module``."""
    return getattr(function, "id", getattr(function, "attr", "")) in {"__import__", "import_module"}


def is_installed(package: str) -> bool:
    """Return whether a package is in a folder of installed packages. A zip archive is not a folder."""
    return any(not _INSTALLED.isdisjoint(place.parts) and place.exists() for place in _places(package))


@lru_cache(maxsize=1)
def _owners() -> Mapping[str, list[str]]:
    """Return the distributions of each package. The search takes about a second in a large environment."""
    return metadata.packages_distributions()


def _version(package: str) -> str:
    if package not in _owners():
        _owners.cache_clear()  # perhaps installed since
    owners = _owners().get(package, [])
    return " ".join(f"{name} {metadata.version(name)}" for name in sorted(set(owners))) or "unknown"
