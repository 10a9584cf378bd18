"""Summaries of campaigns, as text and as plots."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cmab.campaign.posterior import CascadeFeedback, Informed, information, kind_of
from cmab.campaigns._fold import Fold
from cmab.campaigns._schema import Event
from cmab.campaigns._table import written
from cmab.results.regret_certificate import RegretCertificate
from cmab.session import Session
from cmab.statistics import ArmStatistics

_IN_WORDS = 10
_KINDS = {
    "ties": "outcomes of ties",
    "steps": "who joined, with steps",
    "people": "who joined",
    "number": "only the number",
    "nothing": "nothing seen",
}


class Learned(NamedTuple):
    """Statistics of one base arm: mean outcome, standard error (nan if unknown) and number of outcomes."""

    name: Hashable
    mean: float
    error: float
    seen: int


class Person(NamedTuple):
    """Statistics of one person: rounds asked, number of observed outcomes of their ties, and their sum."""

    name: Hashable
    asked: int
    tried: int
    carried: float


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
    people : tuple of Person
        Only if base arms are ties: the people asked in a reported round, or with an observed
        tie. Each entry has ``name``; ``asked``, the number of these rounds; ``tried``, the number of observed
        outcomes of ties from this person; and ``carried``, the sum of these outcomes. The most often asked
        person comes first.
    noun : str
        The word for base arms: ``"ties"`` or ``"base arms"``.
    certificate : RegretCertificate or None
        The bounds of `Campaign.regret_bound`; None if no round was reported, if `delta` is None, or if the
        campaign has no certificate. `Campaign.regret_bound` then raises an error that gives the reason.
    informed : tuple of Informed
        How much each kind of report has told: ``kind``, the number of ``rounds``, the number of ``outcomes``
        in these rounds, observed and hidden, and ``worth``, the number of observed outcomes that would tell
        as much.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.jsonl"), rng=0)
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
    people: tuple[Person, ...] = ()
    noun: str = "base arms"
    certificate: RegretCertificate | None = None
    informed: tuple[Informed, ...] = ()

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
        lines += self._told()
        lines += self._loss()
        people = [
            (str(written(one.name)), f"asked {one.asked:,}, carried {one.carried:g} of {one.tried:,}")
            for one in self.people
        ]
        if people:
            lines += _listed("people: how often asked, and how many of their ties carried", people)
        lines += _listed(
            f"{len(self.learned):,} of {self.n_arms:,} {self.noun} seen",
            [(str(written(arm.name)), f"mean {arm.mean:.3f}, seen {arm.seen:,}") for arm in self.learned],
        )
        return "\n".join(lines)

    def _told(self) -> list[str]:
        """Return a line for each kind of report, if there are other kinds than outcomes of ties."""
        if all(one.kind == "ties" for one in self.informed):
            return []
        rows = []
        for one in self.informed:
            outcomes = f"{one.outcomes:,.0f}"
            tells = f"as much as {one.worth:,.0f} of {outcomes} outcomes" if one.outcomes else "no outcomes"
            reports = "report" if one.rounds == 1 else "reports"
            rows.append((_KINDS[one.kind], f"{one.rounds:,} {reports}, {tells}"))
        return _listed("kinds of reports", rows)

    def _loss(self) -> list[str]:
        """Return the sentences of the certificate that give a bound."""
        found = self.certificate
        if found is None:
            return []
        n, names = len(found.choice), [str(written(label)) for label in found.labels]
        people = f"the best {n:,} people" if n > 1 else "the best person"
        best = people if self.people else "the best super arm"
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


def summary_of(fold: Fold[Any], delta: float | None) -> Summary:
    """Return the summary of all events, with a certificate at `delta` unless it is None."""
    session, tells = fold.current, [fold.told_as(number) for number in fold.told]
    seen = _seen(fold, tells)
    rewards = [event["reward"] for event in tells if "reward" in event]
    return Summary(
        told=len(tells),
        pending=len(session.pending),
        cancelled=session._asked - len(tells) - len(session.pending),
        reward=float(np.mean(rewards)) if rewards else float("nan"),
        last=max((event["at"] for event in tells), default=None),
        n_arms=len(fold.arms.own),
        learned=_learned(fold.arms.own, seen),
        people=_people(fold, seen),
        noun="ties" if fold.tie_names else "base arms",
        informed=_informed(fold, tells),
        certificate=None if delta is None or not tells else _certificate(session, delta),
    )


def _informed(fold: Fold[Any], tells: list[Event]) -> tuple[Informed, ...]:
    """Return how much each kind of report has told."""
    counts: dict[str, list[float]] = {}
    hidden, cascades = [], fold.current._cascades
    for event in tells:
        told = fold.feedback(event)
        kind = "number" if "reward" in event else "nothing"
        if len(told.arms):
            kind = "ties"
        if isinstance(told, CascadeFeedback):
            kind = kind_of(told)
            hidden.append(kind)
        row = counts.setdefault(kind, [0, 0.0, 0.0])
        seen = float(len(told.arms)) if told.pulls is None else float(told.pulls.sum())
        row[:] = row[0] + 1, row[1] + seen, row[2] + seen
    if cascades is not None:
        found = information(cascades.chain().copy(), hidden, np.random.default_rng(0))
        for kind, (outcomes, worth) in found.items():
            counts[kind][1:] = counts[kind][1] + outcomes, counts[kind][2] + worth
    order = [kind for kind in _KINDS if kind in counts]
    return tuple(Informed(kind, int(counts[kind][0]), *counts[kind][1:]) for kind in order)


def _certificate(session: Session[Any], delta: float) -> RegretCertificate | None:
    """Return the certificate of a session, or None if it has none."""
    # The reasons are states of other types, unbounded outcomes, and contexts that change the optimum.
    with suppress(TypeError, ValueError):
        return session.regret_bound(delta=delta)
    return None


def draw(summary: Summary, most: int, ax: Any) -> Any:
    """Plot the means of the `most` base arms that were observed most often."""
    from cmab.plotting._style import look, pyplot, style

    arms = summary.learned[:most]
    with style():
        shape = (4.8, 1.0 + 0.2 * max(len(arms), 1))
        axes = pyplot().figure(figsize=shape).add_subplot() if ax is None else ax
        for place, arm in enumerate(arms):
            axes.barh(place, arm.mean, height=0.68, color=look(0)["color"], alpha=0.45)
            if np.isfinite(arm.error):
                ends = (arm.mean - arm.error, arm.mean + arm.error)
                axes.plot(ends, (place, place), color="black", linewidth=1.2, marker="|", markersize=5)
            # The counts are outside the axes, where no bar can cover them.
            at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"{arm.seen:,}", (1.0, place), (4, 0), fontsize=7, color="0.35", **at)
        axes.set_yticks(range(len(arms)), [str(written(arm.name)) for arm in arms])
        axes.set_ylim(max(len(arms), 1) - 0.4, -0.6)
        axes.annotate(
            "seen", (1.0, 1.0), (4, 2), xycoords="axes fraction", textcoords="offset points", fontsize=7
        )
        axes.set_xlabel("Mean outcome and its standard error")
        of = (
            f"\n{len(arms):,} of the {len(summary.learned):,} {summary.noun} that were seen"
            if len(summary.learned) > most
            else ""
        )
        axes.set_title(f"rounds reported: {summary.told:,}, pending: {summary.pending:,}{of}", loc="left")
    return axes


def _seen(fold: Fold[Any], tells: list[Event]) -> ArmStatistics:
    """Return the arm statistics of all reports. The state of the policy may have any other form."""
    seen = ArmStatistics.empty(len(fold.arms.own))
    for event in tells:
        told = fold.feedback(event)
        seen.update(told.plain if isinstance(told, CascadeFeedback) else told)
    return seen


def _learned(names: list[Hashable], stats: ArmStatistics) -> tuple[Learned, ...]:
    """Return the statistics of each observed arm."""
    means, counts = stats.means, stats.counts
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(stats.deviations / (counts - 1.0) / counts)
    seen = np.flatnonzero(counts > 0)
    order = seen[np.lexsort((-means[seen], -counts[seen]))]
    rows = zip(order, means[order].tolist(), errors[order].tolist(), counts[order].tolist(), strict=True)
    return tuple(Learned(names[arm], *row) for arm, *row in rows)


def _people(fold: Fold[Any], stats: ArmStatistics) -> tuple[Person, ...]:
    """Return the statistics of each person if base arms are ties, otherwise an empty tuple."""
    if not fold.tie_names:
        return ()
    asked = Counter(entry for number in fold.told for entry in fold.ticket(number).super_arm.tolist())
    tails = np.array([fold.choices.number[tail] for tail, *_ in fold.tie_names], np.int64)
    tried = np.bincount(tails, stats.counts, len(fold.choices.own))
    carried = np.bincount(tails, stats.counts * stats.means, len(fold.choices.own))
    found = [
        Person(name, asked[entry], int(tried[entry]), round(float(carried[entry]), 9))
        for entry, name in enumerate(fold.choices.own)
        if asked[entry] or tried[entry]
    ]
    return tuple(sorted(found, key=lambda one: (-one.asked, -one.carried, -one.tried)))
