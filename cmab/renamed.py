"""The former names of classes and parameters, which keep working for one version, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from cmab.namespaces import FORMER, renamed

_Class = TypeVar("_Class", bound=type)
#: The former names of the parameters of classes, by the present ones.
PARAMETERS = {
    "BanditOverBandit": {"reward_range": "rewards"},
    "C2UCB": {"groups": "group"},
    "CombLinTS": {"groups": "group", "deviation_factor": "factor"},
    "CombLinUCB": {"groups": "group"},
    "ContextualMNLTS": {"deviation_factor": "factor"},
    "ContextualMNLUCB": {"radius_factor": "factor"},
    "GaussianCTS": {"variance_factor": "factor"},
    "HierarchicalCTS": {"estimate": "mode"},
    "LogisticTS": {"groups": "group", "deviation_factor": "factor"},
    "MNLTS": {"deviation_factor": "factor"},
    "MNLUCB": {"log_factor": "factor"},
    "PBMUCB": {"radius_factor": "factor"},
}


def present_name(name: str) -> str:
    """Return the present name of a class, which is `name` itself unless the class was renamed."""
    return FORMER[name].partition(":")[2] if name in FORMER else name


def first_name(name: str) -> str:
    """Return the name under which results of a class are stored: its first one."""
    return next((former for former in FORMER if present_name(former) == name), name)


def find(name: str) -> Any:
    """Return the class of a former name, with a warning; the ``__getattr__`` of the modules of these classes.

    Raises
    ------
    AttributeError
        If `name` is not a former name.
    """
    if name not in FORMER:
        raise AttributeError(f"the module has no attribute {name!r}")
    return renamed(name)


def former_parameters(kind: _Class) -> _Class:
    """Let a dataclass take and show its parameters by their former names as well, and load old pickles."""
    own = PARAMETERS[kind.__name__]
    made: Callable[..., None] = vars(kind)["__init__"]

    @wraps(made)
    def init(self: Any, *args: Any, **given: Any) -> None:
        for present, former in own.items():
            if former in given:
                _warn(kind, former, present, 3)
        made(self, *args, **present_parameters(kind, given))

    def setstate(self: Any, state: Mapping[str, Any]) -> None:
        self.__dict__.update(present_parameters(kind, state))

    setattr(kind, "__init__", init)  # noqa: B010 (mypy: a method)
    setattr(kind, "__setstate__", setstate)  # noqa: B010
    for present, former in own.items():
        setattr(kind, former, property(_attribute(kind, former, present)))
    return kind


def _attribute(kind: type, former: str, present: str) -> Callable[[Any], Any]:
    def get(self: Any) -> Any:
        _warn(kind, former, present, 3)
        return getattr(self, present)

    return get


def _warn(kind: type, former: str, present: str, depth: int) -> None:
    text = f"{former} of {kind.__name__} is now called {present}; the former name will be removed in the next"
    warnings.warn(f"{text} version", DeprecationWarning, stacklevel=depth)


def present_parameters(kind: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a class by their present names.

    Raises
    ------
    TypeError
        If one is given by both names.
    """
    own = {former: present for present, former in PARAMETERS.get(getattr(kind, "__name__", ""), {}).items()}
    for former, present in own.items():
        if former in given and present in given:
            raise TypeError(f"{present} must be given once, got {former}, its former name, as well")
    return {own.get(name, name): value for name, value in given.items()}


def up_to_date(described: Any) -> Any:
    """Return the description of a policy in a file with the present names of classes and parameters."""
    if not isinstance(described, dict):
        return described
    kind = present_name(str(described.get("class")))
    own = {former: present for present, former in PARAMETERS.get(kind, {}).items()}
    return {
        own.get(key, key): kind if key == "class" and isinstance(part, str) else up_to_date(part)
        for key, part in described.items()
    }
