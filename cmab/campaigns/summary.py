"""What a campaign has come to, in words and as a picture."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cmab.campaigns._fold import Fold

_IN_WORDS = 10


class Learned(NamedTuple):
    """What was learned of a base arm: mean of its outcomes, its standard error (nan if unknown), how many."""

    name: Hashable
    mean: float
    error: float
    seen: int


@dataclass(frozen=True)
class Summary:
    """What a campaign has come to; ``print`` shows it.

    Attributes
    ----------
    told, pending, cancelled : int
        Numbers of tickets.
    reward : float
        Mean of the rewards that were told, nan if there were none.
    last : str or None
        When something was told last (UTC).
    n_arms : int
        Number of base arms.
    learned : tuple of Learned
        All base arms of which something was seen: ``name``, ``mean``, ``error``, ``seen``; the most often
        seen first.

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

    def __str__(self) -> str:
        parts = [
            f"rounds told: {self.told:,}",
            f"pending: {self.pending:,}",
            f"cancelled: {self.cancelled:,}",
        ]
        parts += [f"last told {self.last}"] if self.last else []
        lines = [", ".join(parts)]
        if not np.isnan(self.reward):
            lines.append(f"mean reward {self.reward:.4g}")
        lines.append(f"{len(self.learned):,} of {self.n_arms:,} base arms seen")
        shown = self.learned[:_IN_WORDS]
        wide = max((len(_text(arm.name)) for arm in shown), default=0)
        lines += [f"  {_text(arm.name):<{wide}}  mean {arm.mean:.3f}, seen {arm.seen:,}" for arm in shown]
        if len(self.learned) > len(shown):
            lines.append(f"  and {len(self.learned) - len(shown):,} seen less often")
        return "\n".join(lines)


def summary_of(fold: Fold[Any]) -> Summary:
    """Return what the events come to."""
    session, tells = fold.current, [fold.told_as(number) for number in fold.told]
    rewards = [event["reward"] for event in tells if "reward" in event]
    return Summary(
        told=len(tells),
        pending=len(session.pending),
        cancelled=session._asked - len(tells) - len(session.pending),
        reward=float(np.mean(rewards)) if rewards else float("nan"),
        last=max((event["at"] for event in tells), default=None),
        n_arms=len(fold.arms.own),
        learned=_learned(fold.arms.own, session.state),
    )


def draw(summary: Summary, most: int, ax: Any) -> Any:
    """Draw the means of the `most` base arms that were seen most often."""
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
            # Beside the axes, where no bar can hide it.
            at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"{arm.seen:,}", (1.0, place), (4, 0), fontsize=7, color="0.35", **at)
        axes.set_yticks(range(len(arms)), [_text(arm.name) for arm in arms])
        axes.set_ylim(max(len(arms), 1) - 0.4, -0.6)
        axes.annotate(
            "seen", (1.0, 1.0), (4, 2), xycoords="axes fraction", textcoords="offset points", fontsize=7
        )
        axes.set_xlabel("Mean outcome and its standard error")
        of = (
            f"\n{len(arms):,} of the {len(summary.learned):,} base arms that were seen"
            if len(summary.learned) > most
            else ""
        )
        axes.set_title(f"rounds told: {summary.told:,}, pending: {summary.pending:,}{of}", loc="left")
    return axes


def _learned(names: list[Hashable], state: Any) -> tuple[Learned, ...]:
    """Return what a state with counts and means has learned of each arm that was seen."""
    parts = [getattr(state, name, None) for name in ("means", "counts", "deviations")]
    if not all(isinstance(part, np.ndarray) and part.shape == (len(names),) for part in parts[:2]):
        return ()
    means, counts, squares = (np.asarray(part) for part in parts)
    has_errors = squares.shape == means.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(squares / (counts - 1.0) / counts) if has_errors else np.full(len(names), np.nan)
    seen = np.flatnonzero(counts > 0)
    order = seen[np.lexsort((-means[seen], -counts[seen]))]
    rows = zip(order, means[order].tolist(), errors[order].tolist(), counts[order].tolist(), strict=True)
    return tuple(Learned(names[arm], *row) for arm, *row in rows)


def _text(name: Hashable) -> str:
    """Return a name as people write it: an edge by its ends."""
    return " – ".join(map(str, name)) if isinstance(name, tuple) else str(name)
