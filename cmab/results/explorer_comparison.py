"""What `compare` found of explorers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.intervals import Band
from cmab.results._pairs import corrected, pairs_of_explorers, pairs_of_failures
from cmab.results._rankings import TIED, TOO_OFTEN, UNTESTED, VERDICT, explorer_rows, with_verdicts
from cmab.results.comparison import Comparison, Rows
from cmab.results.identification import Identification
from cmab.results.tables import Row

if TYPE_CHECKING:
    from cmab.plotting._legends import Legend


@dataclass(frozen=True, eq=False, repr=False)
class ExplorerComparison(Comparison[Identification], kind="explorers"):
    """Explorers on one environment: by samples until they stop, or by errors where samples are given.

    A run that `max_samples` cut off is never averaged with finished ones: such an explorer has no mean, but a
    median as long as most of its runs ended, and its tests are of signs.

    Parameters
    ----------
    results : dict of str to Identification
        By name.
    environment : str
        What they were compared on.
    replications : dict of str to IntArray
        Which replications each has; the first ones if left out.
    deltas : dict of str to float
        The chance of error that an explorer was allowed; who errs more often than that is not the best one.
    budgets : dict of str to int
        The samples of those that end with a budget. With one, all are compared by their errors.

    Raises
    ------
    ValueError
        If there is no result.

    Examples
    --------
    >>> from cmab import LUCB1, compare
    >>> from instances import BernoulliArms
    >>> explorers = {f"delta {delta}": LUCB1(3, 1, delta=delta) for delta in (0.2, 0.01)}
    >>> found = compare(explorers, BernoulliArms([0.2, 0.8, 0.5]), replications=20, rng=0)
    >>> found.best, [row["cut off"] for row in found.rows()]
    ('delta 0.2', [0, 0])
    """

    deltas: dict[str, float] = field(default_factory=dict)
    budgets: dict[str, int] = field(default_factory=dict)

    def rows(self, *, level: float = 0.95, band_kind: Band = "t") -> Rows:
        """Return a row of numbers for each explorer, the best first, with intervals of `level`."""
        rows, too_often = explorer_rows(self.results, level, band_kind), self._wrong_too_often()
        if self.budgets:
            rows.sort(key=lambda row: np.inf if row["share wrong"] is None else row["share wrong"])
            # Where no replication tells two apart there is no test, and nothing to tell them by.
            return Rows(with_verdicts(rows, self.tests(), self._pair, untested=TIED))
        rows.sort(key=lambda row: row["explorer"] in too_often)
        rows = with_verdicts(rows, self.tests(), self._pair, excluded=dict.fromkeys(too_often, TOO_OFTEN))
        if np.isinf(rows[0]["median"]) and len(rows) > 1:
            rows = [{**row, VERDICT: UNTESTED} for row in rows]
        return Rows(rows)

    def tests(self, *, level: float = 0.95) -> Rows:
        """Return a row for each pair, of samples; of errors where one has a budget. See `Comparison.tests`.

        Samples are compared by Student's test; where runs were cut off, by signs. Errors are compared by
        `failures`.
        """
        if self.budgets:
            return self.failures()
        return Rows(corrected(pairs_of_explorers(self.results, self.replications, level)))

    def failures(self) -> Rows:
        """Return a row for each pair of which one was wrong where the other was not: McNemar's exact test."""
        return Rows(corrected(pairs_of_failures(self.results, self.replications)))

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.95,
        legend: Legend = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Draw the samples until the rules stop, or the shares of wrong answers against the budgets.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out. An explorer has the same colour in all figures.
        level : float
            Confidence of the intervals.
        legend : {"beside", "inside", "below", False}, optional
            Where the legend of shares stands; bars have none.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If left out, nothing
            is written: a notebook shows the picture, a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            With the bars, or points.
        """
        from cmab.plotting import failure_curves, sample_bars
        from cmab.plotting._style import written

        if not self.budgets:
            return written(sample_bars(self.results, level=level, ax=ax), path)
        points = {}
        for name, each in self.results.items():
            samples = self.budgets.get(name, float(each.samples.mean()))
            points[name] = [(samples, int((~each.correct).sum()), len(each.correct))]
        return written(failure_curves(points, level=level, ax=ax, legend=legend), path)

    @property
    def headline(self) -> str:
        """A sentence: who is best, and who cannot be told from it."""
        if self._wrong_too_often() >= self.results.keys():
            return "None errs as rarely as its delta asks."
        if not self.budgets and np.isinf(self.rows()[0]["median"]):
            return "None stopped in more than half of its runs: there is no best one."
        return super().headline

    def _wrong_too_often(self) -> set[str]:
        """Return who is shown to err more often than its delta allows."""
        return {
            str(row["explorer"])
            for row in explorer_rows(self.results)
            if row["share wrong, from"] is not None
            and row["share wrong, from"] > self.deltas.get(str(row["explorer"]), 1.0)
        }

    @property
    def _pair(self) -> tuple[str, str]:
        return ("first", "second") if self.budgets else ("fewer samples", "more samples")

    def _test(self) -> str:
        if self.budgets:
            return "McNemar's exact tests of errors"
        return (
            "paired t tests"
            if all(each.stopped.all() for each in self.results.values())
            else "paired sign tests"
        )

    def _columns(self, rows: Sequence[Row]) -> list[Row]:
        unsaid = set() if any(row["cut off"] for row in rows) else {"cut off", "median"}
        if self.budgets:  # which say how many samples there are
            unsaid |= {"samples, from", "samples, to", "median"}
        return [{name: v for name, v in row.items() if name not in unsaid} for row in super()._columns(rows)]

    def _said(self) -> dict[str, Any]:
        return super()._said() | {"deltas": self.deltas, "budgets": self.budgets}

    def _title(self) -> str:
        return f"Samples until they stop, and wrong answers: {self._runs()}"
