"""The former names of classes, which keep working for one version, with a warning."""

from __future__ import annotations

import warnings
from typing import Any

from cmab.namespaces import FORMER, REPLACED, renamed


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


def up_to_date(described: Any) -> Any:
    """Return the description of a policy in a file with the present names of classes."""
    if not isinstance(described, dict):
        return described
    former = described.get("class")
    described = {
        key: present_name(part) if key == "class" and isinstance(part, str) else up_to_date(part)
        for key, part in described.items()
    }
    if former in REPLACED:
        described["class"] = REPLACED[former].partition(":")[2]
        if former == "AESCB":
            described["tolerance"] = described.pop("epsilon", None)
        if "arms_per_bandit" in described:
            described["bandits"] = described.pop("arms_per_bandit")
            described["n_arms"] = sum(described["bandits"])
    return described


def warn(former: str, present: str) -> None:
    """Warn the caller of a former class that a parameter of another class stands in its place."""
    text = f"{former} is now {present}; the former name will be removed in the next version"
    warnings.warn(text, DeprecationWarning, stacklevel=3)
