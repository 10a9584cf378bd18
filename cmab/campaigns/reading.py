"""Reading the rounds of a journal without a learner."""

from __future__ import annotations

import os
from collections.abc import Hashable
from datetime import datetime

import numpy as np

from cmab.arrays import AnyArray
from cmab.campaigns._arrays import loaded
from cmab.campaigns._fold import rewritten
from cmab.campaigns._schema import Event
from cmab.campaigns.journal import events
from cmab.campaigns.log import Log, LoggedRound
from cmab.campaigns.names import read_all
from cmab.feedback import Context


def read_journal(where: str | os.PathLike[str]) -> Log:
    """Return the rounds of a campaign's journal by name, after all undos and corrections.

    The function needs no learner, and it neither locks nor writes the file or the database. You can call it
    while a campaign uses the journal.

    Parameters
    ----------
    where : str or path-like
        The path or the URL of a `Campaign`.

    Raises
    ------
    ValueError
        If a line is damaged or cannot follow the lines before it, or if there is no campaign (for example,
        if the file is empty).
    OSError
        If the file or the database cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CTS, Campaign, read_journal
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.jsonl")
    ...     request = Campaign(CTS(TopK(5, k=2)), path, rng=0).ask()
    ...     [(row.number, row.state) for row in read_journal(path)]
    [(0, 'pending')]
    """
    choices: list[Hashable] = []
    arms: list[Hashable] = []
    versions: list[dict[str, str]] = []
    asked: dict[int, Event] = {}
    told: dict[int, Event] = {}
    cancelled = set()
    arrays: dict[str, AnyArray] = {}
    lines = events(where)
    undone, corrected = rewritten(dict(enumerate(lines, 1)))
    for line, event in enumerate(lines, 1):
        kind = event["event"]
        if line in undone or kind in ("correct", "undo"):
            continue
        if kind in ("campaign", "changed"):
            choices += read_all(event["choices"])
            arms += read_all(event["names"])
            versions += [event["versions"]] if event["versions"] not in versions[-1:] else []
        elif kind == "array":
            arrays[event["digest"]] = loaded(event)
        elif kind == "ask":
            asked[event["ticket"]] = event
        elif kind == "tell":
            told[event["ticket"]] = corrected.get(line, event)
        else:
            cancelled.add(event["ticket"])
    rounds = [
        _round(
            event, told.get(number), "cancelled" if number in cancelled else "pending", choices, arms, arrays
        )
        for number, event in asked.items()
    ]
    return Log(rounds, choices=choices, arms=arms, versions=versions)


def _round(
    asked: Event,
    told: Event | None,
    untold: str,
    choices: list[Hashable],
    arms: list[Hashable],
    arrays: dict[str, AnyArray],
) -> LoggedRound:
    outcomes: dict[Hashable, float] = {}
    if told is not None:
        names = [arms[place] for place in told["arms"]]
        outcomes = dict(zip(names, told["outcomes"], strict=True))
    parts = {
        name: arrays[part["digest"]] if type(part) is dict else np.array(part)
        for name, part in asked.get("context", {}).items()
    }
    return LoggedRound(
        number=asked["ticket"],
        state=untold if told is None else "told",
        names=tuple(choices[place] for place in asked["super_arm"]),
        outcomes=outcomes,
        reward=float("nan") if told is None else told.get("reward", float("nan")),
        propensity=asked.get("propensity"),
        by_position=tuple(asked["by_position"]) if "by_position" in asked else None,
        context=Context(**parts) if parts else None,
        pulls=asked.get("pulls", 1),
        asked=datetime.fromisoformat(asked["at"]),
        told=None if told is None else datetime.fromisoformat(told["at"]),
    )
