"""What a campaign has told: summaries as text and as plots, its log, and its tables."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cmab.bounds.certificate import RegretCertificate
from cmab.campaign.names import Texts
from cmab.campaign.posterior import CascadeFeedback
from cmab.campaign.replay import Body, Replay, Round, iso, standing_rounds, unpacked_flags
from cmab.feedback import Context
from cmab.offline.log import Log, LoggedRound, written
from cmab.statistics import ArmStatistics

if TYPE_CHECKING:
    from cmab.campaign.campaign import Campaign

_IN_WORDS = 10


class Learned(NamedTuple):
    """Statistics of one base arm: mean outcome, standard error (nan if unknown) and number of outcomes."""

    name: Hashable
    mean: float
    error: float
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
        The statistics of all base arms with at least one observed outcome: ``name``, ``mean``, ``error``,
        ``seen``. The most often observed arm comes first. The reports are counted directly, so the numbers do
        not depend on the policy.
    noun : str
        The word for base arms: ``"ties"`` or ``"base arms"``.
    certificate : RegretCertificate or None
        The bounds of `Campaign.regret_bound`; None if no round was reported, if `delta` is None, or if the
        campaign has no certificate. `Campaign.regret_bound` then raises an error that gives the reason.

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
    certificate: RegretCertificate | None = None

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
        lines += self._loss()
        lines += _listed(
            f"{len(self.learned):,} of {self.n_arms:,} {self.noun} seen",
            [(str(written(arm.name)), f"mean {arm.mean:.3f}, seen {arm.seen:,}") for arm in self.learned],
        )
        return "\n".join(lines)

    def _loss(self) -> list[str]:
        """Return the sentences of the certificate that give a bound."""
        found = self.certificate
        if found is None:
            return []
        n, names = len(found.choice), [str(written(label)) for label in found.labels]
        best = "the best super arm"
        if self.noun == "ties":
            best = f"the best {n:,} people" if n > 1 else "the best person"
        more = f" and {n - _IN_WORDS:,} more" if n > _IN_WORDS else ""
        present = f"{', '.join(names[:_IN_WORDS])}{more}, the best by the present means"
        lines = []
        if math.isfinite(found.exact_gap):
            lines.append(found.gap_in_words(best, present))
        if math.isfinite(found.exact_regret) and found.method != "no rewards":
            lines.append(found.regret_in_words(best))
        return lines


def _listed(head: str, rows: list[tuple[str, str]]) -> list[str]:
    """Return a heading, the first rows with aligned columns, and the number of further rows."""
    first, more = rows[:_IN_WORDS], len(rows) - _IN_WORDS
    wide = max((len(name) for name, _ in first), default=0)
    lines = [head, *(f"  {name:<{wide}}  {told}" for name, told in first)]
    return lines + ([f"  and {more:,} more"] if more > 0 else [])


def summary_of(campaign: Campaign, replay: Replay, delta: float | None) -> Summary:
    """Return the summary of all rounds, with a certificate at `delta` unless it is None."""
    of, rounds = replay.of, list(standing_rounds(campaign._replica.store.read()))
    reports = [
        (each.told, of.feedback(each.told.body, each.asked.body)) for each in rounds if each.told is not None
    ]
    seen = ArmStatistics.empty(len(of.arms.own))
    for _, told in reports:
        seen.update(told.plain if isinstance(told, CascadeFeedback) else told)
    rewards = [told.reward for _, told in reports if told.reward == told.reward]
    states = Counter(each.state for each in rounds)
    certificate = None
    if delta is not None and reports:
        # The reasons are states of other types, unbounded outcomes, and contexts that change the optimum.
        with suppress(TypeError, ValueError):
            certificate = campaign.regret_bound(delta=delta)
    return Summary(
        told=len(reports),
        pending=states["pending"],
        cancelled=states["cancelled"],
        reward=float(np.mean(rewards)) if rewards else float("nan"),
        last=max((iso(event.at) for event, _ in reports), default=None),
        n_arms=len(of.arms.own),
        learned=_learned(of.arms.own, seen),
        noun="ties" if of.tie_names else "base arms",
        certificate=certificate,
    )


def _learned(names: list[Hashable], stats: ArmStatistics) -> tuple[Learned, ...]:
    """Return the statistics of each observed arm."""
    means, counts = stats.means, stats.counts
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(stats.deviations / (counts - 1.0) / counts)
    seen = np.flatnonzero(counts > 0)
    order = seen[np.lexsort((-means[seen], -counts[seen]))]
    rows = zip(order, means[order].tolist(), errors[order].tolist(), counts[order].tolist(), strict=True)
    return tuple(Learned(names[arm], *row) for arm, *row in rows)


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
        texts, events = Texts(store.names()), list(store.read())
    finally:
        store.close()
    choices: list[Hashable] = []
    arms: list[Hashable] = []
    versions: list[dict[str, str]] = []
    for event in events:
        if event.kind in ("campaign", "changed"):
            new = texts.decoded(event.body["choices"])
            choices += new
            arms += new if event.body["arms"] is None else texts.decoded(event.body["arms"])
            versions += [event.body["versions"]] if event.body["versions"] not in versions[-1:] else []
    rounds = [_logged(each, choices, arms) for each in standing_rounds(events)]
    return Log(rounds, choices=choices, arms=arms, versions=versions)


def _logged(each: Round, choices: list[Hashable], arms: list[Hashable]) -> LoggedRound:
    asked, told = each.asked.body, {} if each.told is None else each.told.body
    names = [arms[place] for place in told.get("arms", ())]
    assert each.asked.ticket is not None
    return LoggedRound(
        number=each.asked.ticket,
        state=each.state,
        names=tuple(choices[place] for place in asked["super_arm"]),
        outcomes=dict(zip(names, told.get("outcomes", ()), strict=True)),
        reward=told.get("reward", math.nan),
        propensity=asked.get("propensity"),
        by_position=tuple(asked["by_position"]) if "by_position" in asked else None,
        context=_context(asked.get("context")),
        pulls=asked.get("pulls", 1),
        asked=datetime.fromtimestamp(each.asked.at, UTC),
        told=None if each.told is None else datetime.fromtimestamp(each.told.at, UTC),
    )


def _context(body: Body | None) -> Context | None:
    """Return the context of a round without the parts of which only some rows are stored."""
    parts: dict[str, Any] = {}
    for name, part in (body or {}).items():
        if name == "available":
            parts[name] = unpacked_flags(part[1], part[0])
        elif isinstance(part, list):
            parts[name] = np.array(part)
    return Context(**parts) if parts else None


def export_campaign(campaign: Campaign, path: str | os.PathLike[str]) -> None:
    """Write the rounds of a campaign as CSV or Parquet, or its events as lines of JSON."""
    target = Path(path)
    if target.suffix == ".jsonl":
        lines = [json.dumps(_plain(row), ensure_ascii=False) for row in campaign.history()]
        target.write_text("\n".join([*lines, ""]), encoding="utf-8")
        return
    rounds = read_campaign(campaign.address, timeout=campaign._replica.store.left())
    if target.suffix == ".csv":
        rounds.to_csv(target)
    elif target.suffix == ".parquet":
        frame = rounds.to_frame()
        for name in frame.columns[frame.columns.str.match("chosen_|arm")]:  # a column has one type
            frame[name] = frame[name].map(str, na_action="ignore")
        frame.to_parquet(target)
    else:
        raise ValueError(f"path must end with .csv, .parquet or .jsonl, got {target.name}")


def _plain(value: Any) -> Any:
    """Return a value of the history for JSON, in which mappings with names become lists of pairs."""
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(part) for key, part in value.items()}
        return [[_plain(key), _plain(part)] for key, part in value.items()]
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
