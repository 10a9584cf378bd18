"""The content of packages: a hash of all their files, and which packages they import."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Set
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from cmab.studies._texts import Texts, texts_of

OWN = frozenset({"cmab", "oracles", "instances"})
_LARGE = 2**26
_INSTALLED = {"site-packages", "dist-packages"}
_hashes: dict[tuple[tuple[str, int, int, int], ...], str] = {}
_CODE = {".py", ".so", ".pyd", ".dll", ".dylib"}
_NO_TEXTS = Texts(frozenset(), frozenset())
_said: dict[tuple[Path, int], Texts] = {}
_imported: dict[tuple[Path, int], frozenset[str]] = {}


def content_of(package: str) -> str:
    """Return a hash of all files of a package (or a single module); of a large installed one its version."""
    files = sorted(_files(package))
    if not files:
        return "missing"
    # Files that look the same are not read again: a study asks with every piece.
    facts = tuple((name, (s := path.stat()).st_size, s.st_mtime_ns, s.st_ino) for name, path in files)
    if sum(size for _, size, _, _ in facts) > _LARGE and is_installed(package):
        return _version(package)
    if facts not in _hashes:
        digest = hashlib.sha256()
        for name, path in files:
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
        _hashes[facts] = digest.hexdigest()[:16]
    return _hashes[facts]


def helpers_of(packages: Set[str], ends: Set[str]) -> set[str]:
    """Return what packages import, and what that imports, and so on, but for the standard library.

    What is installed is an end: its own imports are those of its version.
    """
    found: set[str] = set()
    waiting = list(packages)
    while waiting:
        package = waiting.pop()
        for name in _imports_of(package) - found - packages - sys.stdlib_module_names:
            found.add(name)
            # What an installed package imports is its own matter, told by its version.
            if name not in ends and not is_installed(name):
                waiting.append(name)
    return found


def _files(package: str) -> Iterator[tuple[str, Path]]:
    """Yield the files of a package with their names in it, but for what Python and numba write there."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return
    # A single module, not a package.
    if spec.submodule_search_locations is None:
        origin = Path(str(spec.origin))
        if origin.is_file():
            yield origin.name, origin
            yield from _named_beside(origin)
        return
    for number, folder in enumerate(spec.submodule_search_locations):
        paths = [path for path in Path(folder).rglob("*") if _is_content(path, Path(folder))]
        results = _results_of(paths) if package not in OWN else frozenset()
        for path in paths:
            if path.suffix in _CODE or path.name not in results:
                yield f"{number}/{path.relative_to(folder).as_posix()}", path


def _is_content(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    is_hidden = any(part == "__pycache__" or part.startswith(".") for part in parts)
    is_result = path.suffix == ".pyc" or path.name.startswith("results.sqlite")
    return not is_hidden and not is_result and path.is_file()


def _results_of(paths: list[Path]) -> frozenset[str]:
    """Return the names of files that the modules of a package write."""
    texts = [
        _texts(path).written for path in paths if path.suffix == ".py" and not _INSTALLED & set(path.parts)
    ]
    return frozenset(Path(text).name for text in frozenset[str]().union(*texts))


def _named_beside(module: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files that a single module names in a text, as in ``with_name("data.json")``.

    What the module writes is its result, and no part of its code.
    """
    texts = _texts(module)
    for name in sorted(texts.named - texts.written):
        path = module.parent / name
        with suppress(OSError, ValueError):
            if path.is_file() and not path.samefile(module):
                yield name, path


def _texts(module: Path) -> Texts:
    """Return the texts in a module that may be relative names of files."""
    key = module, module.stat().st_mtime_ns
    if key not in _said:
        tree = _tree(module) if module.suffix == ".py" else None
        _said[key] = _NO_TEXTS if tree is None else texts_of(tree)
    return _said[key]


def _tree(path: Path) -> ast.Module | None:
    """Return the syntax tree of a file; None of a template, or of a file meant for another Python."""
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return None


def _imports_of(package: str) -> frozenset[str]:
    """Return the top names that the files of a package import, wherever in them."""
    found: frozenset[str] = frozenset()
    for _, path in _files(package):
        if path.suffix == ".py":
            key = path, path.stat().st_mtime_ns
            if key not in _imported:
                _imported[key] = frozenset(_top_names(path))
            found |= _imported[key]
    return found - {package}


def _top_names(path: Path) -> Iterator[str]:
    tree = _tree(path)
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and node.args and _is_import(node.func):
            name = getattr(node.args[0], "value", None)
            if isinstance(name, str) and not name.startswith("."):
                yield name.partition(".")[0]


def _is_import(function: ast.expr) -> bool:
    """Return whether `function` is ``__import__`` or ``importlib.import_module`` by its name."""
    return getattr(function, "id", getattr(function, "attr", "")) in {"__import__", "import_module"}


def is_installed(package: str) -> bool:
    """Return whether a package lies in a folder of installed packages."""
    return any(_INSTALLED & set(path.parts) for _, path in _files(package))


def _version(package: str) -> str:
    owners = metadata.packages_distributions().get(package, [])
    return " ".join(f"{name} {metadata.version(name)}" for name in sorted(set(owners))) or "unknown"
