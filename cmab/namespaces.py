"""Packages that import each name when it is first used. The stub of a package lists its names."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a module from its stub.

    Parameters
    ----------
    name : str
        The name of the module, ``__name__``. Its stub is in the same folder. A line
        ``from package.module import Name as Name`` adds a name or a module, and ``from package.namespace
        import *`` adds all names of a namespace.

    Examples
    --------
    >>> import cmab
    >>> "AdaptiveCTS" in dir(cmab), cmab.CUCB is cmab.policies.CUCB
    (True, True)
    """
    module = sys.modules[name]
    homes = _homes(name, Path(str(module.__file__)).with_suffix(".pyi"))

    def find(attribute: str) -> Any:
        if attribute not in homes:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        home = homes[attribute]
        # The package itself has its modules, which are imported as they are used.
        value = (
            import_module(f"{name}.{attribute}") if home == name else getattr(import_module(home), attribute)
        )
        setattr(module, attribute, value)
        return value

    return find, lambda: sorted(homes), sorted(homes)


def _homes(name: str, stub: Path) -> dict[str, str]:
    """Return the module of each name in a stub. The package itself is the home of its modules."""
    homes: dict[str, str] = {}
    for line in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            home = str(line.module)
            names = [alias.name for alias in line.names]
            if names == ["*"]:  # the stub of a package of this one
                part = stub.parent / home.removeprefix(f"{name}.").replace(".", "/")
                names = [*_homes(home, part / "__init__.pyi" if part.is_dir() else part.with_suffix(".pyi"))]
            homes |= dict.fromkeys(names, home)
    return homes
