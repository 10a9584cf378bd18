"""What a campaign has told: a summary, and its log."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Hashable
from datetime import datetime
from typing import Any

import numpy as np

from cmab.campaign.names import Names
from cmab.campaign.replay import Body, Labels, Standing, Translation, in_order, rows_of, standing_of
from cmab.feedback import Context
from cmab.offline.log import Log, LoggedRound, written

_IN_WORDS = 10


def summary_of(history: list[dict[str, Any]], of: Translation) -> str:
    """Return the numbers of rounds, the mean reward and the most often observed arms as text.

    The reports are counted directly, so the numbers do not depend on the policy.
    """
    tickets = list(standing_of(history))
    reports = [each.told for each in tickets if each.told is not None]
    rewards = [row["reward"] for row in reports if "reward" in row]
    states = Counter(each.state for each in tickets)
    words = ("rounds reported", "told"), ("pending", "pending"), ("cancelled", "cancelled")
    last = max((row["at"] for row in reports), default=None)
    more = f", last report {last[:16].replace('T', ' ')} UTC" if last else ""
    lines = [", ".join(f"{word}: {states[state]:,}" for word, state in words) + more]
    lines += [f"mean reward of a round: {np.mean(rewards):.4g}"] if rewards else []
    seen: dict[Hashable, list[float]] = {}
    for row in reports:
        for name, outcome in row["outcomes"].items():
            seen.setdefault(of.arms.form_of(name), []).append(outcome)
    found = [(name, float(np.mean(one)), len(one)) for name, one in seen.items() if name in of.arms.number]
    lines.append(f"{len(found):,} of {len(of.arms.own):,} {of.arms.plural} seen")
    for name, mean, n in sorted(found, key=lambda arm: (-arm[2], -arm[1]))[:_IN_WORDS]:
        lines.append(f"  {written(name)}  mean {mean:.3f}, seen {n:,}")
    return "\n".join([*lines, f"  and {len(found) - _IN_WORDS:,} more"] if len(found) > _IN_WORDS else lines)


def read_campaign(where: str | os.PathLike[str], *, timeout: float = 120.0) -> Log:
    """Return the rounds of a campaign by name, after all undos and corrections.

    The function needs no learner and writes nothing. You can call it while processes use the campaign.

    Parameters
    ----------
    where : str or path-like
        The path or the URL of a `Campaign`.
    timeout : float
        The number of seconds to wait for the database.

    Raises
    ------
    ValueError
        If there is no campaign, or if the store is damaged.
    OSError
        If the file or the database cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CTS, Campaign, read_campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.db")
    ...     request = Campaign(CTS(TopK(5, k=2)), path, rng=0).ask()
    ...     [(row.number, row.state) for row in read_campaign(path)]
    [(0, 'pending')]
    """
    from cmab.campaign.store import Store

    store = Store(where, timeout)
    try:
        if not store.exists():
            raise ValueError(f"where must be a campaign, got {store.where}, which has none")
        events = list(store.read())
    finally:
        store.close()
    described = [event for event in events if event.kind in ("campaign", "changed")]
    labels = {event.number: Labels.of(event.body) for event in described}
    choices = list(dict.fromkeys(label for each in labels.values() for label in each.choices))
    arms = list(dict.fromkeys(label for each in labels.values() for label in each.arms))
    versions: list[dict[str, str]] = []
    for event in described:
        versions += [event.body["versions"]] if event.body["versions"] not in versions[-1:] else []
    orders = Names("entry of a super arm", choices), Names("base arm", arms)
    rounds = []
    for each in standing_of(rows_of(events, labels)):
        body = events[each.asked["line"] - 1].body
        rounds.append(_logged(each, _context(body, labels[body["names"]], orders)))
    return Log(rounds, choices=choices, arms=arms, versions=versions)


def _logged(each: Standing, context: Context | None) -> LoggedRound:
    asked, told = each.asked, each.told or {}
    if "names" in told:  # others were played than those that the policy chose
        asked = {"ticket": asked["ticket"], "names": told["names"], "at": asked["at"]}
    return LoggedRound(
        number=asked["ticket"],
        state=each.state,
        names=asked["names"],
        outcomes=told.get("outcomes", {}),
        reward=told.get("reward", math.nan),
        propensity=asked.get("propensity"),
        by_position=tuple(asked["by_position"]) if "by_position" in asked else None,
        context=context,
        asked=datetime.fromisoformat(asked["at"]),
        told=datetime.fromisoformat(told["at"]) if told else None,
    )


def _context(body: Body, labels: Labels, orders: tuple[Names, Names]) -> Context | None:
    """Return the context of a round without the parts of which only some rows are stored."""
    parts: dict[str, Any] = {}
    for name, part in body.get("context", {}).items():
        names, listed = (orders[0], labels.choices) if name == "available" else (orders[1], labels.arms)
        if "rows" not in part:
            parts[name] = in_order(part, names.numbers(listed), len(names.own))
    return Context(**parts) if parts else None
