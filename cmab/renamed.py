"""Former names of classes and parameters. They work for one version and emit a warning."""

from __future__ import annotations

import warnings
from abc import ABCMeta
from collections.abc import Mapping
from typing import Any, TypeVar

from cmab.former_arguments import formerly
from cmab.namespaces import FORMER, REPLACED, renamed

_Class = TypeVar("_Class", bound=type)
#: The former names of the parameters of each class, keyed by the present names.
PARAMETERS = {
    "C2UCB": {"groups": "group"},
    "CombLinTS": {"groups": "group", "deviation_factor": "factor"},
    "ContextualMNLTS": {"deviation_factor": "factor"},
    "ContextualMNLUCB": {"radius_factor": "factor"},
    "GaussianCTS": {"variance_factor": "factor"},
    "HierarchicalCTS": {"estimate": "mode"},
    "LogisticTS": {"groups": "group", "deviation_factor": "factor"},
    "MNLUCB": {"log_factor": "factor"},
    "PBMUCB": {"radius_factor": "factor"},
}


#: The class of the graphs of constructors. Earlier versions described these graphs.
KEPT_GRAPH = "KeptGraph"


def present_name(name: str) -> str:
    """Return the present name of a class, or `name` itself if the class was not renamed."""
    return FORMER[name].partition(":")[2] if name in FORMER else name


def first_name(name: str) -> str:
    """Return the name under which results of a class are stored: the first name of the class."""
    return next((former for former, place in FORMER.items() if place.partition(":")[2] == name), name)


def find(name: str) -> Any:
    """Return the class with a former name, and warn. Modules of these classes use it as ``__getattr__``.

    Raises
    ------
    AttributeError
        If `name` is not a former name.
    """
    if name not in FORMER:
        raise AttributeError(f"the module has no attribute {name!r}")
    return renamed(name)


def former_parameters(kind: _Class) -> _Class:
    """Let a dataclass accept and show its parameters by their former names as well, and load old pickles."""
    own = {former: present for present, former in PARAMETERS[kind.__name__].items()}

    def setstate(self: Any, state: Mapping[str, Any]) -> None:
        self.__dict__.update({own.get(name, name): value for name, value in state.items()})

    setattr(kind, "__init__", formerly(**own)(vars(kind)["__init__"]))  # noqa: B010 (mypy: a method)
    setattr(kind, "__setstate__", setstate)  # noqa: B010
    for former, present in own.items():
        setattr(kind, former, former_attribute(former, present))
    return kind


def former_attribute(former: str, present: str) -> Any:
    """Return a property with the name `former` that returns the attribute `present` with a warning."""

    def get(self: Any) -> Any:
        text = f"{type(self).__name__}: `{former}` is now `{present}`; the former name will be removed"
        warnings.warn(f"{text} in the next version", DeprecationWarning, stacklevel=2)
        return getattr(self, present)

    return property(get)


def up_to_date(described: Any) -> Any:
    """Return a saved description of a policy with the present names of classes and parameters."""
    if not isinstance(described, dict):
        return described
    former = str(described.get("class"))  # a damaged file may have any value here
    kind = present_name(former)
    own = {former: present for present, former in PARAMETERS.get(kind, {}).items()}
    described = {
        own.get(key, key): kind if key == "class" and isinstance(part, str) else up_to_date(part)
        for key, part in described.items()
        if not (isinstance(part, dict) and part.get("class") == KEPT_GRAPH)
    }
    if former == "ESCB":  # files of earlier versions do not contain the tolerance
        described.setdefault("tolerance", 0.0)
    if former == "RepairedInfluence" and "seed" in described:
        described["rng"] = described.pop("seed")
    if former in REPLACED:
        described["class"] = REPLACED[former].partition(":")[2]
        if former == "AESCB":
            described["tolerance"] = described.pop("epsilon", None)
        sizes = described.get("arms_per_bandit")
        if isinstance(sizes, list | tuple) and all(isinstance(size, int) for size in sizes):
            described["bandits"] = described.pop("arms_per_bandit")
            described["n_arms"] = sum(sizes)
    return described


class Former(ABCMeta):
    """The metaclass of a former class that a parameter of its base class replaces.

    A former class translates its arguments in ``__init__`` and then calls `become_present`. Its method
    ``stands_for`` returns whether an object of the base class is an instance of the former class.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        stands_for = vars(cls).get("stands_for")  # subclasses defined by the user have no such method
        return stands_for is not None and isinstance(instance, cls.__bases__) and bool(stands_for(instance))

    def __init__(cls, name: str, *args: Any, **named: Any) -> None:
        super().__init__(name, *args, **named)
        if "stands_for" in vars(cls):

            def setstate(self: Any, state: Mapping[str, Any]) -> None:
                self.__dict__.update(up_to_date({"class": name, **state}))
                del self.__dict__["class"]
                cls.become_present(self)

            setattr(cls, "__setstate__", setstate)  # noqa: B010 (mypy: a method)

    def become_present(cls, instance: Any) -> None:
        """Convert an instance of this former class to its base class. Instances of subclasses stay as is."""
        if type(instance) is cls:
            object.__setattr__(instance, "__class__", cls.__bases__[0])


def warn(former: str, present: str) -> None:
    """Warn the caller of a former class that a parameter of another class replaces it."""
    text = f"{former} is now {present}; the former name will be removed in the next version"
    # The warning skips the frames of the class and of the check of its ``__init__``.
    warnings.warn(text, DeprecationWarning, stacklevel=4)
