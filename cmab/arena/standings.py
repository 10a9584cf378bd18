"""The standings of the arena: the scores of all entries, tables and files."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmab.arena._leaderboard import short_rows
from cmab.arena._scores import FLOOR, Regrets, interval, resampled, stacked, summarised
from cmab.arena.curves import Curves, Played
from cmab.arrays import FloatArray
from cmab.results import tables
from cmab.results.tables import Row
from cmab.validation import one_of

#: The entry whose median is the reference of the tail.
REFERENCE = "CTS"
_BOOTSTRAP, _SEED = 1000, 0
Part = Literal["open", "held out", "all"]
After = Literal["a tenth", "all", "both"]
_PARTS: tuple[Part, ...] = ("open", "held out")
_ROWS: dict[After, slice] = {"a tenth": slice(0, 1), "all": slice(1, 2), "both": slice(0, 2)}


@dataclass(frozen=True, eq=False)
class Standings:
    """The results of a run of the arena.

    Attributes
    ----------
    problems : tuple of Played
        The problems with results.
    entries : tuple of str
        The names of the entries.
    curves : mapping
        The `Curves` by (problem, entry). All entries of a problem have the same replications.
    refused : mapping of str
        The reason why an entry cannot play, by (problem, entry).
    tuned : frozenset of str
        The names of the tuned entries.
    seed : int
        The seed of the run.
    level : str
        The level of the run.

    Examples
    --------
    >>> from cmab import CTS, CUCB
    >>> from cmab.arena import Entry, Problem, run
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> def ten_arms(rng):
    ...     oracle = TopK(10, k=2)
    ...     return oracle, SemiBandit(BernoulliArms(rng.random(10)), oracle)
    >>> problem = Problem("ten arms", "top-k", ten_arms, horizon=300, source="an example")
    >>> standings = run([problem], [Entry.of(CTS), Entry.of(CUCB)])
    >>> [row["entry"] for row in standings.scores()]
    ['CTS', 'CUCB']
    """

    problems: tuple[Played, ...]
    entries: tuple[str, ...]
    curves: Mapping[tuple[str, str], Curves]
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)
    tuned: frozenset[str] = frozenset()
    seed: int = 0
    level: str = "quick"

    def restricted(self, problems: Collection[str], entries: Collection[str]) -> Standings:
        """Return the standings of some problems and entries, by their names."""
        kept = {pair: c for pair, c in self.curves.items() if pair[0] in problems and pair[1] in entries}
        reasons = {pair: r for pair, r in self.refused.items() if pair[0] in problems and pair[1] in entries}
        return replace(
            self,
            problems=tuple(p for p in self.problems if p.name in problems),
            entries=tuple(entry for entry in self.entries if entry in entries),
            curves=kept,
            refused=reasons,
        )

    def in_part(self, part: Part) -> list[Played]:
        """Return the problems of a part: ``"open"``, ``"held out"`` or ``"all"``."""
        one_of("part", part, ("open", "held out", "all"))
        return [p for p in self.problems if part == "all" or p.held_out == (part == "held out")]

    @cached_property
    def _regrets(self) -> dict[str, Regrets]:
        found = {}
        for problem in self.problems:
            columns = [self.curves.get((problem.name, entry)) for entry in self.entries]
            known = [curves for curves in columns if curves is not None]
            if not known:
                continue
            missing = np.full((2, len(known[0].regret)), np.nan)
            # Recorded curves have fewer checkpoints, so the ends are at other places.
            values = [missing if c is None else c.regret[:, c.ends].T for c in columns]
            floors = FLOOR * known[0].worth[:, known[0].ends].mean(axis=0)
            found[problem.name] = Regrets(np.stack(values, axis=-1), floors)
        return found

    @cached_property
    def _draws(self) -> dict[str, FloatArray]:
        """Bootstrap draws of the ratios of each problem, shape (B, 2, E)."""
        rng = np.random.default_rng(_SEED)
        return {
            name: each.ratios(resampled(each.values.shape[1], _BOOTSTRAP, rng))
            for name, each in self._regrets.items()
        }

    def ratios(self, problem: str) -> dict[str, tuple[float, float]]:
        """Return for each entry its regret over the smallest, after a tenth of the rounds and after all."""
        found = self._regrets[problem].ratios()
        return {
            entry: (float(found[0, i]), float(found[1, i]))
            for i, entry in enumerate(self.entries)
            if np.isfinite(found[1, i])
        }

    def best(self, problem: str) -> str:
        """Return the entry with the smallest mean regret after all rounds of a problem."""
        return self.entries[int(self._regrets[problem].best[1])]

    def scores(self, *, after: After = "both") -> list[Row]:
        """Return a row of scores for each entry, those that play most problems first, then by their mean.

        Parameters
        ----------
        after : {"both", "a tenth", "all"}
            Whether scores are those after a tenth of the rounds, after all rounds, or both. With ``"both"``,
            each problem counts twice.

        Returns
        -------
        list of dict
            For the open and for the held-out problems: the geometric mean of the ratios with a 95 % bootstrap
            interval, the worst ratio, the share of ratios up to 1.5, and the largest and the median tail (the
            95th percentile over replications, divided by the median of CTS). ``problems`` is the number of
            problems that the entry plays, and ``microseconds`` the median time of a round.
        """
        one_of("after", after, tuple(_ROWS))
        names = {part: [p.name for p in self.in_part(part) if p.name in self._regrets] for part in _PARTS}
        columns = {part: self._part(chosen, after) for part, chosen in names.items() if chosen}
        rows = []
        for i, entry in enumerate(self.entries):
            own = [p.name for p in self.problems if (p.name, entry) in self.curves]
            if not own:
                continue
            row: dict[str, Any] = {"entry": entry, "problems": len(own), "tuned": entry in self.tuned}
            for part, values in columns.items():
                row |= {f"{part} {name}": float(column[i]) for name, column in values.items()}
            each = [self.curves[name, entry] for name in own]
            seconds = [float(np.median(c.seconds)) / int(c.rounds[-1]) for c in each]
            rows.append(row | {"microseconds": 1e6 * float(np.median(seconds))})
        key = f"{next(iter(columns), 'open')} mean"
        most = max((row["problems"] for row in rows), default=0)
        # Entries for some kinds of problems come last, because their means are over other problems.
        return sorted(rows, key=lambda row: (2 * row["problems"] < most, _last(row.get(key))))

    def _part(self, names: Sequence[str], after: After) -> dict[str, FloatArray]:
        rows = _ROWS[after]
        found = summarised(stacked([self._regrets[name].ratios()[rows] for name in names]))
        draws = summarised(stacked([self._draws[name][:, rows] for name in names]))
        low, high = interval(draws["mean"])
        worst_low, worst_high = interval(draws["worst"])
        at = self.entries.index(REFERENCE) if REFERENCE in self.entries else None
        tails = stacked([self._regrets[name].tails(at)[rows] for name in names])
        known = np.isfinite(tails).any(axis=0)
        filled = np.where(known, tails, 0.0)
        largest = np.where(known, np.nanmax(filled, axis=0), np.nan)
        middle = np.where(known, np.nanmedian(filled, axis=0), np.nan)
        found = {"mean": found["mean"], "low": low, "high": high, "worst": found["worst"]} | {
            "worst low": worst_low,
            "worst high": worst_high,
            "close": found["close"],
        }
        return found | {"largest tail": largest, "median tail": middle}

    def matches(self) -> list[Row]:
        """Return a row for each problem, entry and number of rounds, with the mean regret and the ratio."""
        rows: list[Row] = []
        for problem in self.problems:
            if problem.name not in self._regrets:
                continue
            ratios, best = self.ratios(problem.name), self.best(problem.name)
            for entry in ratios:
                curves = self.curves[problem.name, entry]
                for place, end in enumerate(curves.ends.tolist()):
                    values = curves.regret[:, end]
                    n = len(values)
                    rows.append(
                        {
                            "problem": problem.name,
                            "kind": problem.kind,
                            "held out": problem.held_out,
                            "entry": entry,
                            "rounds": int(curves.rounds[end]),
                            "replications": n,
                            "regret": float(values.mean()),
                            "s.e.": float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
                            "ratio": ratios[entry][place],
                            "best": best,
                            "microseconds": 1e6 * float(np.median(curves.seconds)) / int(curves.rounds[-1]),
                        }
                    )
        return rows

    def table(self, *, after: After = "both", form: str = "plain") -> str:
        """Return the leaderboard as text. `form` is a format of tabulate, such as ``"github"``."""
        return tables.text(short_rows(self.scores(after=after)), grouped=True, form=form)

    def __repr__(self) -> str:
        n = len(self._regrets)
        return f"Standings({len(self.entries)} entries on {n} problems, {self.level} level, seed {self.seed})"

    def to_csv(self, path: str | os.PathLike[str], *, of: Literal["scores", "matches"] = "scores") -> None:
        """Write the scores, or a row for each match, as CSV."""
        one_of("of", of, ("scores", "matches"))
        tables.write_csv(Path(path), self.scores() if of == "scores" else self.matches())

    def page(self, path: str | os.PathLike[str]) -> Path:
        """Write the page with the leaderboard, the heat map and the curves, and return its path.

        The page needs no other file.
        """
        from cmab.arena._page import page_of
        from cmab.saving._atomic import write_bytes

        write_bytes(Path(path), page_of(self).encode("utf-8"))
        return Path(path)


def _last(value: float | None) -> float:
    """Return a number for sorting, in which a missing value is last."""
    return np.inf if value is None or value != value else value
