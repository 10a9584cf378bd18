"""What a campaign has told: a summary, and its log."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from cmab.campaign.names import Names
from cmab.campaign.replay import Body, Labels, Standing, Translation, in_order, rows_of, standing_of
from cmab.feedback import Context
from cmab.offline.log import Log, LoggedRound, written

_IN_WORDS = 10


class Learned(NamedTuple):
    """Statistics of one base arm: its mean outcome and the number of outcomes."""

    name: Hashable
    mean: float
    seen: int


@dataclass(frozen=True)
class Summary:
    """The progress of a campaign; ``print`` shows it as text.

    Attributes
    ----------
    told, pending, cancelled : int
        The numbers of reported, pending and cancelled tickets.
    reward : float
        The mean of the reported rewards; nan if no reward was reported.
    last : str or None
        The time of the most recent report (UTC).
    n_arms : int
        The number of base arms.
    learned : tuple of Learned
        The statistics of all base arms with at least one observed outcome: ``name``, ``mean``, ``seen``. The
        most often observed arm comes first. The reports are counted directly, so the numbers do not depend on
        the policy.
    noun : str
        The word for base arms: ``"ties"`` or ``"base arms"``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.db"), rng=0)
    ...     campaign.tell({0: 1.0, 1: 0.0}, campaign.ask(), reward=1.0)
    ...     summary = campaign.summary()
    >>> summary.told, summary.pending, summary.learned[0].name
    (1, 0, 0)
    """

    told: int
    pending: int
    cancelled: int
    reward: float
    last: str | None
    n_arms: int
    learned: tuple[Learned, ...]
    noun: str = "base arms"

    def __str__(self) -> str:
        parts = [
            f"rounds reported: {self.told:,}",
            f"pending: {self.pending:,}",
            f"cancelled: {self.cancelled:,}",
        ]
        parts += [f"last report {self.last[:16].replace('T', ' ')} UTC"] if self.last else []
        lines = [", ".join(parts)]
        if not np.isnan(self.reward):
            lines.append(f"mean reward of a round: {self.reward:.4g}")
        lines.append(f"{len(self.learned):,} of {self.n_arms:,} {self.noun} seen")
        first, more = self.learned[:_IN_WORDS], len(self.learned) - _IN_WORDS
        lines += [f"  {written(arm.name)}  mean {arm.mean:.3f}, seen {arm.seen:,}" for arm in first]
        return "\n".join(lines + ([f"  and {more:,} more"] if more > 0 else []))


def summary_of(history: list[dict[str, Any]], of: Translation) -> Summary:
    """Return the summary of the rounds of a history."""
    tickets = list(standing_of(history))
    reports = [each.told for each in tickets if each.told is not None]
    rewards = [row["reward"] for row in reports if "reward" in row]
    states = Counter(each.state for each in tickets)
    seen: dict[Hashable, list[float]] = {}
    for row in reports:
        for name, outcome in row["outcomes"].items():
            seen.setdefault(of.arms.form_of(name), []).append(outcome)
    learned = [Learned(name, sum(v) / len(v), len(v)) for name, v in seen.items() if name in of.arms.number]
    return Summary(
        told=len(reports),
        pending=states["pending"],
        cancelled=states["cancelled"],
        reward=float(np.mean(rewards)) if rewards else float("nan"),
        last=max((row["at"] for row in reports), default=None),
        n_arms=len(of.arms.own),
        learned=tuple(sorted(learned, key=lambda arm: (-arm.seen, -arm.mean))),
        noun=of.arms.plural,
    )


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
