"""What a file of a session says beside the state, and whether it is one of this policy."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np

from cmab.feedback import MOST_ARMS
from cmab.renamed import up_to_date
from cmab.saving._fingerprint import differences, fingerprint
from cmab.ticket import Ticket
from cmab.validation import integer, shown

_FORMAT = 5
#: Files of format 4 do not know the seed sequence of the generator.
_FORMATS = (4, _FORMAT)
_SAID = ("format", "versions", "session", "support", "asked", "open", "rng", "is_learned")


def header_of(policy: object, said: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a session, with what it takes to notice another policy or format."""
    versions = {"cmab": metadata.version("cmab"), "numpy": np.__version__}
    return {"format": _FORMAT, "versions": versions, **fingerprint(policy), **said}


def listed(ticket: Ticket) -> list[Any]:
    """Return what a file keeps of an open ticket."""
    context = ticket.context
    parts = None if context is None else {name: getattr(context, name).tolist() for name in context.parts}
    return [ticket.number, ticket.super_arm.tolist(), ticket.pulls, parts, ticket.gone]


def checked_entry(ticket: Any, version: int) -> list[Any]:
    """Return what a file keeps of an open ticket, refused unless it has the form that `listed` gives it."""
    n_parts = (4, 5) if version < _FORMAT else (5,)  # older files tell of no entries that are gone
    if not isinstance(ticket, list) or len(ticket) not in n_parts or not isinstance(ticket[1], list):
        raise ValueError(
            f"an open ticket must have {n_parts[-1]} entries, the second a list, got {shown(ticket)}"
        )
    if any(type(entry) is not int for entry in ticket[1]):
        raise ValueError(f"the super arm of an open ticket must hold integers, got {shown(ticket[1])}")
    if len(ticket) > 4 and not 0 <= integer("entries that are gone", ticket[4]) <= MOST_ARMS:
        raise ValueError(f"entries that are gone must be at most {MOST_ARMS}, got {ticket[4]}")
    return ticket


def check_header(header: dict[str, Any], policy: object, accept_changes: bool) -> bool:
    """Refuse a file of another format, of other base arms, or of another policy.

    Returns
    -------
    bool
        Whether the policy is the same, with the same parameters.
    """
    present = fingerprint(policy)
    if header["format"] not in _FORMATS:
        raise ValueError(f"its format must be one of {_FORMATS}, got {shown(header['format'])}")
    known = {*_SAID, *present} - ({"is_learned"} if header["format"] < _FORMAT else set())
    if set(header) != known:
        strange = sorted(set(header) ^ known)
        raise ValueError(f"its header must have the entries {', '.join(_SAID)}, got others: {shown(strange)}")
    if type(header.get("is_learned", True)) is not bool:
        raise ValueError(f"is_learned must be True or False, got {shown(header['is_learned'])}")
    versions = header["versions"]
    if not isinstance(versions, dict) or set(map(type, versions.values())) != {str}:
        raise ValueError(f"its versions must be texts, got {shown(versions)}")
    if header["format"] == _FORMAT and "seed_seq" not in header["rng"]:
        raise ValueError("its rng must have a seed_seq, got none")
    # Base arms first: what was learned belongs to them. Parameters may change, if the user says so.
    kept, arms = header["arms"], present["arms"]
    if kept["n_arms"] != arms["n_arms"]:
        raise ValueError(f"it must hold {arms['n_arms']} base arms, got {shown(kept['n_arms'])}")
    mine, its = present["policy"], up_to_date(header["policy"])
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
    return not changed


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
