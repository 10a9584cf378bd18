"""The first event of a campaign, and the comparison of a learner with an existing journal."""

from __future__ import annotations

import secrets
from collections.abc import Hashable
from importlib import metadata
from itertools import chain
from typing import Any

import numpy as np

from cmab._ask_tell import interval_of
from cmab.campaigns._fold import Fold
from cmab.campaigns._schema import FORMATS, Event, is_author
from cmab.campaigns.names import Names, read_all, written
from cmab.campaigns.stores._store import Store
from cmab.oracle import Oracle
from cmab.policies.adaptive import learner_for
from cmab.policy import Policy, check_policy_instance
from cmab.saving._fingerprint import describe, differences
from cmab.saving._generators import generator_state
from cmab.validation import shown

#: Beginnings of differences that follow from new or removed names, or from another k.
_SIZES = tuple(f"oracle.{name} " for name in ("n_arms", "max_size", "alpha", "beta", "delta"))


def learner_of(learner: Any, store: Store, support: Any) -> Policy[Any]:
    """Return a policy, and the default learner for an oracle.

    An existing journal determines the support of the default learner.
    """
    begun = _begun(store)
    if isinstance(learner, Oracle):
        known = begun["support"] if support is None and begun is not None else support
        return learner_for(learner, interval_of(known))  # type: ignore[no-any-return]
    if hasattr(learner, "nodes") and hasattr(learner, "edges"):
        raise TypeError(
            "learner must be a policy, or an oracle such as InfluenceMaximization(graph, k), got the graph"
            " itself"
        )
    check_policy_instance(learner)
    return learner  # type: ignore[no-any-return]


def checked_author(author: Any) -> str | None:
    """Return the author of events; raise ``ValueError`` unless it is a short printable string or None."""
    if author is not None and not is_author(author):
        raise ValueError(f"author must be a printable string of 1 to 200 characters, got {shown(author)}")
    return author  # type: ignore[no-any-return]


def _begun(store: Store) -> Event | None:
    """Return the first event of a journal, or None if there is no valid journal."""
    try:
        return store.first_event() if store.exists() else None
    except (OSError, TypeError, ValueError):  # `Campaign` raises it again, or creates the journal
        return None


def beginning(fold: Fold[Any], generator: np.random.Generator, support: Any) -> Event:
    """Return the first event of a journal."""
    return {
        **changed(fold),
        "event": "campaign",
        "format": FORMATS[-1],
        "session": secrets.token_hex(8),
        "rng": generator_state(generator),
        # JSON has no infinite numbers.
        "support": None if support is None else describe([float(end) for end in support]),
    }


def changed(fold: Fold[Any]) -> Event:
    """Return the present description of the campaign, with names without a place and places that are gone."""
    versions = {"cmab": metadata.version("cmab"), "numpy": np.__version__}
    new = {"choices": fold.choices.unknown(), "names": fold.arms.unknown()}
    gone = {"choices": fold.choices.gone(), "names": fold.arms.gone()}
    made_of = {**fold.present, "versions": versions}
    return {"event": "changed", **made_of, **({"gone": gone} if any(gone.values()) else {}), **new}


def last_description(events: list[Event]) -> Event | None:
    """Return the last event that describes the learner, or None if there is none."""
    return next((event for event in reversed(events) if event["event"] in ("campaign", "changed")), None)


def admit(fold: Fold[Any], events: list[Event], support: Any, accept_changes: bool) -> None:
    """Raise ``ValueError`` if the learner does not fit these events.

    Statistics must not be matched with wrong arms, and changes need `accept_changes`.
    """
    first, present = events[0], fold.present
    kept = [event for event in events if event["event"] in ("campaign", "changed")]
    last, name = kept[-1], present["policy"]["class"]
    if last["policy"]["class"] != name:
        raise ValueError(
            f"{fold.where} must be a journal of policy {name}, got {shown(last['policy']['class'])}"
        )
    if support is not None and (
        first["support"] is None or interval_of(support) != interval_of(first["support"])
    ):
        raise ValueError(f"support must be that of {fold.where}, {first['support']}, got {support}")
    if not differences(last["arms"], present["arms"]):
        # The description of the arms does not contain all names; old journals do not record gone names.
        found = _words(fold, kept, last, ("new",)) + differences(last["policy"], present["policy"])
    else:
        found = _differences_by_name(fold, kept, present, last)
    # The repr repeats the parameters, but may be cut off before the one that differs.
    found = [word for word in found if not word.startswith("oracle.repr ")] or found
    if found and not accept_changes:
        raise ValueError(
            f"{fold.where} must be a journal of this learner, got other names or parameters:"
            f" {shown('; '.join(found), 400)}. To continue with the present names and parameters, pass"
            " accept_changes=True: Campaign then matches the statistics by name"
        )


def _differences_by_name(
    fold: Fold[Any], kept: list[Event], present: dict[str, Any], last: Event
) -> list[str]:
    """Return descriptions of changed names since the last change; an empty list if only the order differs."""
    is_numbered = fold.arms.own == list(range(len(fold.arms.own)))
    parts = ("edges", "graph") if fold.choices.own == fold.arms.own else ("edges", "graph", "labels")
    if is_numbered and any(last["arms"].get(part) != present["arms"].get(part) for part in parts):
        raise ValueError(
            f"the base arms of {fold.policy!r} must have names to be matched with those of {fold.where}, got"
            " numbers and another graph; define arm_labels, or read the graph in its former order"
        )
    if words := _words(fold, kept, last):
        # Numbers such as k are changes of their own.
        others = differences(_plain(last["policy"]), _plain(present["policy"]))
        return words + [word for word in others if not word.startswith(_SIZES)]
    types, same_order = [], True
    for names, key in _lists(fold):
        before = _before(kept, last, key)
        same_order = same_order and before == names.own
        types += _of_other_types(names, before)
    # Even in an order that the file contains, other properties can differ, such as groups and nodes.
    orders = [_order(event["arms"]) for event in kept]
    if _order(present["arms"]) in orders:
        newest = max(i for i, order in enumerate(orders) if order == _order(present["arms"]))
        words = differences(kept[newest]["arms"], present["arms"])
    elif same_order and all(order == orders[0] for order in orders):
        words = types + differences(last["arms"], present["arms"])
    return list(dict.fromkeys(words)) or differences(_plain(last["policy"]), _plain(present["policy"]))


def _lists(fold: Fold[Any]) -> tuple[tuple[Names, str], ...]:
    return (fold.choices, "choices"), (fold.arms, "names")


def _before(kept: list[Event], last: Event, key: str) -> list[Hashable]:
    """Return the names at the time of the last change."""
    gone = set(last.get("gone", {}).get(key, ()))
    listed = chain.from_iterable(read_all(event[key]) for event in kept)
    return [name for place, name in enumerate(listed) if place not in gone]


def _words(
    fold: Fold[Any], kept: list[Event], last: Event, of: tuple[str, ...] = ("new", "gone")
) -> list[str]:
    """Return descriptions of the names that are new or gone since the last change."""
    words = []
    for names, key in _lists(fold):
        before = _before(kept, last, key)
        if before == names.own:
            continue
        before = [names.form_of(name) for name in before]
        known = set(before)
        found = {
            "new": [name for name in names.own if name not in known],
            "gone": [name for name in before if name not in names.number],
        }
        words += [f"{names.counted(found[w])} {w} ({shown(found[w])})" for w in of if found[w]]
    return list(dict.fromkeys(words))  # if super arms consist of base arms, both lists have the same text


def _order(arms: dict[str, Any]) -> list[Any]:
    """Return the parts of a description that determine the order of the names."""
    return [arms.get(part) for part in ("labels", "edges", "graph")]


def _of_other_types(names: Names, before: list[Any]) -> list[str]:
    """Return descriptions of names that equal those of the file but have another type, such as 1.0 and 1."""
    pairs = zip(names.own, before, strict=False)
    others = [(new, old) for new, old in pairs if new == old and repr(written(new)) != repr(written(old))]
    if not others:
        return []
    return [f"{names.counted(others)} of another type, {others[0][1]!r} in the file, {others[0][0]!r} here"]


def _plain(described: Any, within: bool = False) -> Any:
    """Return a description without parts that depend on the order of arms, such as digests and lists."""
    if not isinstance(described, dict):
        return described if isinstance(described, bool | int | float) else None
    is_oracle = "alpha" in described
    if within and not is_oracle:
        return None
    return {name: _plain(part, is_oracle) for name, part in described.items()}
