"""The result of `compare` for explorers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from cmab.results.comparison import Rows

from cmab.intervals import Band
from cmab.results._pairs import corrected, pairs_of_explorers, pairs_of_failures
from cmab.results._rankings import TIED, TOO_OFTEN, UNTESTED, VERDICT, explorer_rows, with_verdicts
from cmab.results.identification import Identification
from cmab.run.compare import Comparison
from cmab.run.tables import Row

if TYPE_CHECKING:
    from cmab.plotting.style import Legend


@dataclass(frozen=True, eq=False, repr=False)
class ExplorerComparison(Comparison[Identification], kind="explorers"):
    """Explorers on one environment, compared by samples until they stop, or by errors with given budgets.

    A run that `max_samples` cut off is never averaged with finished runs. An explorer with such a run has no
    mean. It has a median if more than half of its runs stopped, and its tests are sign tests.

    Parameters
    ----------
    results : dict of str to Identification
        The result of each explorer by name.
    environment : str
        A description of the environment.
    replications : dict of str to IntArray
        The replication numbers of each result. If omitted, 0, 1, 2 and so on.
    deltas : dict of str to float
        The error probability that each explorer is allowed. An explorer that errs significantly more often is
        not ranked as the best.
    budgets : dict of str to int
        The budgets of the explorers with a fixed budget. If there are any, all explorers are compared by
        their errors.

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
        """Return a row of numbers for each explorer, the best first, with intervals at `level`."""
        rows, too_often = explorer_rows(self.results, level, band_kind), self._wrong_too_often()
        if self.budgets:
            rows.sort(key=lambda row: np.inf if row["share wrong"] is None else row["share wrong"])
            # If no replication distinguishes two explorers there is no test, so they are not distinguishable.
            return Rows(with_verdicts(rows, self.tests(), self._pair, untested=TIED))
        rows.sort(key=lambda row: row["explorer"] in too_often)
        rows = with_verdicts(rows, self.tests(), self._pair, excluded=dict.fromkeys(too_often, TOO_OFTEN))
        if np.isinf(rows[0]["median"]) and len(rows) > 1:
            rows = [{**row, VERDICT: UNTESTED} for row in rows]
        return Rows(rows)

    def tests(self, *, level: float = 0.95) -> Rows:
        """Return a row for each pair: a test of samples, or of errors if an explorer has a budget.

        Samples are compared by Student's paired test, or by a sign test if runs were cut off. Errors are
        compared by `failures`. See `Comparison.tests` for the columns.
        """
        if self.budgets:
            return self.failures()
        return Rows(corrected(pairs_of_explorers(self.results, self.replications, level)))

    def failures(self) -> Rows:
        """Return McNemar's exact test for each pair of explorers with errors in different replications."""
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
            Axes to draw on. If omitted, a new figure is created. An explorer has the same colour in all
            figures.
        level : float
            Confidence level of the intervals.
        legend : {"beside", "inside", "below", False}, optional
            Position of the legend of the shares; a bar chart has no legend.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If omitted, no file
            is written. A notebook shows the picture; a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            The axes with the bars or points.
        """
        from cmab.plotting import failure_curves, sample_bars
        from cmab.plotting.style import written

        if not self.budgets:
            return written(sample_bars(self.results, level=level, ax=ax), path)
        points = {}
        for name, each in self.results.items():
            samples = self.budgets.get(name, float(each.samples.mean()))
            points[name] = [(samples, int((~each.correct).sum()), len(each.correct))]
        return written(failure_curves(points, level=level, ax=ax, legend=legend), path)

    @property
    def headline(self) -> str:
        """A sentence that names the best explorer and those not distinguishable from it."""
        if self._wrong_too_often() >= self.results.keys():
            return "Every explorer is wrong more often than its delta allows."
        if not self.budgets and np.isinf(self.rows()[0]["median"]):
            return "No explorer stopped in more than half of its runs, so there is no best one."
        return super().headline

    def _wrong_too_often(self) -> set[str]:
        """Return the explorers with a share of wrong answers significantly above their delta."""
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
        if self.budgets:  # the budgets determine the numbers of samples
            unsaid |= {"samples, from", "samples, to", "median"}
        return [{name: v for name, v in row.items() if name not in unsaid} for row in super()._columns(rows)]

    def _said(self) -> dict[str, Any]:
        return super()._said() | {"deltas": self.deltas, "budgets": self.budgets}

    def _title(self) -> str:
        return f"Samples until stopping, and wrong answers: {self._runs()}"
