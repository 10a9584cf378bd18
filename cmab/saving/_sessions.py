"""What a file of a session says beside the state, and whether it is one of this policy."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np

from cmab.saving._fingerprint import differences, fingerprint
from cmab.ticket import Ticket
from cmab.validation import shown

_FORMAT = 5
#: Files of format 4 do not know the seed sequence of the generator.
_FORMATS = (4, _FORMAT)


def header_of(policy: object, said: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a session, with what it takes to notice another policy or format."""
    versions = {"cmab": metadata.version("cmab"), "numpy": np.__version__}
    return {"format": _FORMAT, "versions": versions, **fingerprint(policy), **said}


def listed(ticket: Ticket) -> list[Any]:
    """Return what a file keeps of an open ticket."""
    context = ticket.context
    parts = None if context is None else {name: getattr(context, name).tolist() for name in context.parts}
    return [ticket.number, ticket.super_arm.tolist(), ticket.pulls, parts, ticket.gone]


def check_header(header: dict[str, Any], policy: object, accept_changes: bool) -> None:
    """Refuse a file of another format, of other base arms, or of another policy."""
    present = fingerprint(policy)
    if header["format"] not in _FORMATS:
        raise ValueError(f"its format must be one of {_FORMATS}, got {shown(header['format'])}")
    # Base arms first: what was learned belongs to them. Parameters may change, if the user says so.
    kept, arms = header["arms"], present["arms"]
    if kept["n_arms"] != arms["n_arms"]:
        raise ValueError(f"it must hold {arms['n_arms']} base arms, got {shown(kept['n_arms'])}")
    mine, its = present["policy"], header["policy"]
    if its["class"] != mine["class"]:
        raise ValueError(f"it must be of policy {mine['class']}, got policy {shown(its['class'])}")
    if strange := differences(kept, arms):
        raise ValueError(
            f"its base arms must be these in the same order, got {'; '.join(strange)}. What was learned would"
            " go to the wrong arms: read the graph in the order in which it was read before"
        )
    if fixed := _differences_of_memory(policy, its, mine):
        raise ValueError(
            f"what its memory was learned with must be the same, got {shown('; '.join(fixed), 300)}: it says"
            " nothing of the present ones"
        )
    changed = differences(its, mine)
    if changed and not accept_changes:
        raise ValueError(
            f"its parameters must be these, got {shown('; '.join(changed), 300)};"
            " Session.load(..., accept_changes=True) goes on with the present ones"
        )


def _differences_of_memory(policy: Any, kept: dict[str, Any], present: dict[str, Any]) -> list[str]:
    """Return where the parameters differ that a policy's memory depends on, or that of a policy inside it."""
    memory, inside = getattr(policy, "memory", None), getattr(policy, "policy", None)
    has_memory = callable(memory) and len(memory()) > 0
    names = getattr(policy, "memory_parameters", None) if has_memory else ()
    if names is None:
        names = tuple(name for name in present if name not in {"class", "oracle"})
    found = differences({name: kept.get(name) for name in names}, {name: present.get(name) for name in names})
    if inside is None or not isinstance(kept.get("policy"), dict):
        return found
    return found + _differences_of_memory(inside, kept["policy"], present["policy"])
