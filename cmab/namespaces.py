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
    homes: dict[str, str] = {}
    for line in ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text()).body:
        if isinstance(line, ast.ImportFrom):
            names = [alias.name for alias in line.names]
            if names == ["*"]:
                names = import_module(str(line.module)).__all__
            homes |= dict.fromkeys(names, str(line.module))

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
