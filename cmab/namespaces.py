"""Packages that import each name when it is first used. The stub of a package lists its names.

Type checkers and editors read the stub ``__init__.pyi``, and `attach` reads it when the package is imported.
The stub contains five kinds of lines:

- ``from package.module import Name as Name``: a public name;
- ``from package.namespace import *``: all names of a namespace, which the package has as well;
- ``FormerName = Name``: the former name of a class;
- ``FormerName: type[Name]``: a former class that a parameter of `Name` replaces. The module of `Name` defines
  the former class;
- ``from package.module import Name as _Name`` and ``Name = _Name``: a class that has left the namespace.
  `INSTEAD` names its replacement.

A new public class is one line there.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module, util
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

#: The present location, ``"module:Name"``, of each renamed class, keyed by its former name.
FORMER: dict[str, str] = {}
#: The location of the class whose parameter replaces a former class, keyed by the name of the former class.
REPLACED: dict[str, str] = {}
#: The location of each class that has left its namespace, keyed by its name.
LEFT: dict[str, str] = {}
#: The replacement of each class that has left its namespace.
INSTEAD = {
    "EBTCI": "BestKGLR",
    "GapE": "UGapEb",
    "Halving": "LUCB1Halving",
    "KLLUCB": "BernsteinLUCB",
    "LLR": "CUCB",
    "LilLUCB": "LilRandLUCB",
    "LilUCB": "LilRandLUCB",
    "SequentialHalving": "ContinuousRejects or SAR",
    "SuccessiveRejects": "SAR",
    "SuperArmGLR": "PFWS",
    "UGapEcV": "BernsteinLUCB",
}


def attach(
    name: str, shown: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a module from its stub.

    Parameters
    ----------
    name : str
        The name of the module, ``__name__``. Its stub is in the same folder.
    shown : sequence of str
        The names that ``dir`` lists. If it is empty, ``dir`` lists ``__all__``.

    Examples
    --------
    >>> import cmab
    >>> "CUCB" in dir(cmab), "FTPL" in dir(cmab), cmab.FTPL is cmab.policies.FTPL
    (True, False, True)
    """
    module = sys.modules[name]
    stub = str(Path(str(module.__file__)).with_suffix(".pyi"))
    loader: Any = module.__spec__ and module.__spec__.loader
    # The loader reads the stub, because the package may be in an archive.
    places, former, replaced, left = _read(name, loader.get_data(stub).decode())
    FORMER.update(former)
    REPLACED.update(replaced)
    LEFT.update(left)
    exported = [one for one, place in places.items() if ":" in place]

    def find(attribute: str) -> Any:
        if attribute in former:
            return renamed(attribute)
        if attribute in replaced:
            return resolve_name(place_of_former(attribute))
        if attribute in left:
            return departed(attribute)
        if attribute in places:
            value = resolve_name(places[attribute])
        elif not attribute.startswith("_") and _is_module(module, attribute):
            value = import_module(f"{name}.{attribute}")
        else:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        setattr(module, attribute, value)
        return value

    return find, lambda: sorted(shown or exported), exported


def renamed(former: str, depth: int = 3) -> Any:
    """Return the class with a former name, and warn the caller `depth` frames up."""
    present = FORMER[former].partition(":")[2]
    text = f"{former} is now called {present}"
    if present in LEFT:
        text += f" and has left the namespace; {_replacement(present)}"
    _warn(f"{text}; the former name will be removed in the next version", depth)
    return resolve_name(FORMER[former])


def departed(name: str, depth: int = 3) -> Any:
    """Return a class that has left its namespace, and warn the caller `depth` frames up."""
    text = f"{name} has left the namespace; {_replacement(name)}; the name will be removed from the namespace"
    _warn(f"{text} in the next version", depth)
    return resolve_name(LEFT[name])


def _replacement(name: str) -> str:
    return f"use {INSTEAD[name]}, or import {name} from {LEFT[name].partition(':')[0]}"


def _warn(text: str, depth: int) -> None:
    # ``from package import name`` tests whether the package has the name before it gets the name.
    if sys._getframe(depth).f_code.co_name != "_handle_fromlist":
        warnings.warn(text, DeprecationWarning, stacklevel=depth + 1)


def place_of_former(name: str) -> str:
    """Return the location of a class of `REPLACED`: that of the class with the replacing parameter."""
    return f"{resolve_name(REPLACED[name]).__module__}:{name}"


def _read(package: str, stub: str) -> tuple[dict[str, str], ...]:
    """Return the locations of the names in the text of a stub, of the former names, `REPLACED` and `LEFT`."""
    places: dict[str, str] = {}
    hidden: dict[str, str] = {}
    former: dict[str, str] = {}
    replaced: dict[str, str] = {}
    left: dict[str, str] = {}
    for statement in ast.parse(stub).body:
        if isinstance(statement, ast.Import):
            places |= {alias.name: alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            module = str(statement.module)
            names = [alias.name for alias in statement.names if alias.asname in (None, alias.name)]
            hidden |= {str(a.asname): f"{module}:{a.name}" for a in statement.names if a.name not in names}
            if names == ["*"]:
                names = import_module(module).__all__
                left |= {one: place for one, place in LEFT.items() if place.startswith(f"{module}.")}
            places |= {name: f"{module}{'.' if module == package else ':'}{name}" for name in names}
        elif isinstance(statement, ast.Assign):
            name, value = ast.unparse(statement.targets[0]), ast.unparse(statement.value)
            if value in hidden and name == value.removeprefix("_"):
                left[name] = hidden[value]
            else:
                former[name] = {**hidden, **places}[value]
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.annotation, ast.Subscript):
            replaced[ast.unparse(statement.target)] = places[ast.unparse(statement.annotation.slice)]
    return places, former, replaced, left


def _is_module(package: Any, name: str) -> bool:
    return hasattr(package, "__path__") and util.find_spec(f"{package.__name__}.{name}") is not None
