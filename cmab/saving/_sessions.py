"""The header of a session file, and its comparison with a policy."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np

from cmab.feedback import MOST_ARMS, Ticket
from cmab.saving._fingerprint import differences, fingerprint
from cmab.validation import integer, shown

_FORMAT = 5
#: Files of format 4 lack the seed sequence of the generator.
_FORMATS = (4, _FORMAT)
_SAID = ("format", "versions", "session", "support", "asked", "open", "rng", "is_learned")


def header_of(policy: object, said: dict[str, Any]) -> dict[str, Any]:
    """Return the header of a session: `said`, the format, the versions and the policy."""
    versions = {"cmab": metadata.version("cmab"), "numpy": np.__version__}
    return {"format": _FORMAT, "versions": versions, **fingerprint(policy), **said}


def listed(ticket: Ticket) -> list[Any]:
    """Return the entries of a pending ticket in a file."""
    context = ticket.context
    parts = None if context is None else {name: getattr(context, name).tolist() for name in context.parts}
    return [ticket.number, ticket.super_arm.tolist(), ticket.pulls, parts, ticket.gone]


def checked_entry(ticket: Any, version: int) -> list[Any]:
    """Return the entries of a pending ticket; raise ``ValueError`` unless they have the form of `listed`."""
    n_parts = (4, 5) if version < _FORMAT else (5,)  # older files lack the number of removed entries
    if not isinstance(ticket, list) or len(ticket) not in n_parts or not isinstance(ticket[1], list):
        raise ValueError(
            f"a pending ticket must have {n_parts[-1]} entries, the second a list, got {shown(ticket)}"
        )
    if any(type(entry) is not int for entry in ticket[1]):
        raise ValueError(f"the super arm of a pending ticket must hold integers, got {shown(ticket[1])}")
    if len(ticket) > 4 and not 0 <= integer("the number of removed entries", ticket[4]) <= MOST_ARMS:
        raise ValueError(f"the number of removed entries must be in [0, {MOST_ARMS}], got {ticket[4]}")
    return ticket


def check_header(header: dict[str, Any], policy: object, accept_changes: bool) -> bool:
    """Raise ``ValueError`` for a file of another format, of other base arms, or of another policy.

    Returns
    -------
    bool
        Whether the policy has the same parameters.
    """
    present = fingerprint(policy)
    if header["format"] not in _FORMATS:
        raise ValueError(f"its format must be one of {_FORMATS}, got {shown(header['format'])}")
    known = {*_SAID, *present} - ({"is_learned"} if header["format"] < _FORMAT else set())
    # Files of earlier versions lack the record of rewards and unreported outcomes. Only sessions with hidden
    # outcomes have the entry for them.
    known = known | ({"played", "cascades"} & set(header))
    if set(header) != known:
        strange = sorted(set(header) ^ known)
        raise ValueError(
            f"its header must have the entries {', '.join(_SAID)}, got other ones: {shown(strange)}"
        )
    if type(header.get("is_learned", True)) is not bool:
        raise ValueError(f"is_learned must be True or False, got {shown(header['is_learned'])}")
    versions = header["versions"]
    if not isinstance(versions, dict) or set(map(type, versions.values())) != {str}:
        raise ValueError(f"its versions must map names to strings, got {shown(versions)}")
    if header["format"] == _FORMAT and "seed_seq" not in header["rng"]:
        raise ValueError("its rng must have a seed_seq, got none")
    # Check the base arms first, because the statistics belong to them. Changed parameters may be accepted.
    kept, arms = header["arms"], present["arms"]
    if kept["n_arms"] != arms["n_arms"]:
        raise ValueError(f"it must hold {arms['n_arms']} base arms, got {shown(kept['n_arms'])}")
    mine, its = present["policy"], header["policy"]
    if its["class"] != mine["class"]:
        raise ValueError(f"it must be of policy {mine['class']}, got policy {shown(its['class'])}")
    if strange := differences(kept, arms):
        raise ValueError(
            f"its base arms must be those of the policy in the same order, got {'; '.join(strange)}: the"
            " statistics would belong to the wrong arms; read the graph in the same order as before"
        )
    if fixed := _differences_of_memory(policy, its, mine):
        raise ValueError(
            "the parameters on which its memory depends must be the same, got"
            f" {shown('; '.join(fixed), 300)}; load it with the same parameters"
        )
    changed = differences(its, mine)
    if changed and not accept_changes:
        raise ValueError(
            f"its parameters must be those of the policy, got {shown('; '.join(changed), 300)}; call"
            " Session.load(..., accept_changes=True) to continue with those of the policy"
        )
    return not changed


def _differences_of_memory(policy: Any, kept: dict[str, Any], present: dict[str, Any]) -> list[str]:
    """Return the differences in the parameters on which the memory of a policy depends, also inside it."""
    memory, inside = getattr(policy, "memory", None), getattr(policy, "policy", None)
    has_memory = callable(memory) and len(memory()) > 0
    names = getattr(policy, "memory_parameters", None) if has_memory else ()
    if names is None:
        names = tuple(name for name in present if name not in {"class", "oracle"})
    found = differences({name: kept.get(name) for name in names}, {name: present.get(name) for name in names})
    if inside is None or not isinstance(kept.get("policy"), dict):
        return found
    return found + _differences_of_memory(inside, kept["policy"], present["policy"])
