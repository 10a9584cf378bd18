"""The result of `compare` for policies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from cmab.results.comparison import Rows

from cmab.intervals import Band
from cmab.results._pairs import corrected, pairs_of_learners
from cmab.results._rankings import INFORMED, learner_rows, with_verdicts
from cmab.run.compare import Comparison
from cmab.run.results import Simulation

if TYPE_CHECKING:
    from cmab.plotting.style import Legend


@dataclass(frozen=True, eq=False, repr=False)
class PolicyComparison(Comparison[Simulation], kind="learners"):
    """Policies on one environment, compared by regret, or by expected reward if the optimum is unknown.

    Parameters
    ----------
    results : dict of str to Simulation
        The result of each policy by name. All have the same horizon and the same sense.
    environment : str
        A description of the environment.
    replications : dict of str to IntArray
        The replication numbers of each result. If omitted, 0, 1, 2 and so on.
    informed : sequence of str
        The names of policies that know the true means, such as `Clairvoyant`. They are a reference, ranked
        last, and are never the best one.

    Raises
    ------
    ValueError
        If there is no result, or if the results have different horizons or senses.

    Examples
    --------
    >>> from cmab import CTS, CUCB, compare
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(5, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1, 0.8, 0.3]), oracle)
    >>> learners = {"CUCB": CUCB(oracle), "Thompson": CTS(oracle)}
    >>> found = compare(learners, environment, horizon=300, replications=10, rng=0)
    >>> found.headline
    'Best: Thompson.'
    >>> [(row["less regret"], row["more regret"], row["differ at 5 %"]) for row in found.tests()]
    [('Thompson', 'CUCB', 'yes')]
    """

    informed: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        for what in ("sense", "horizon"):
            found = {
                name: each.sense if what == "sense" else int(each.rounds[-1])
                for name, each in self.results.items()
            }
            if len(set(found.values())) > 1:
                raise ValueError(f"results must have the same {what}, got {found}")

    def rows(self, *, level: float = 0.95, band_kind: Band = "t") -> Rows:
        """Return a row of numbers for each learner, the best first, with intervals at `level`."""
        rows = learner_rows(self.results, level, band_kind)
        if not set(self.informed) >= self.results.keys():
            rows.sort(key=lambda row: row["learner"] in self.informed)
        excluded = dict.fromkeys(self.informed, INFORMED)
        return Rows(with_verdicts(rows, self.tests(), self._pair, excluded=excluded))

    def tests(self, *, level: float = 0.95) -> Rows:
        """Return Student's paired test for each pair, with p-values corrected by Holm's method.

        The optimum cancels in differences of regret, so it need not be known. See `Comparison.tests`.
        """
        return Rows(corrected(pairs_of_learners(self.results, self.replications, level)))

    def plot(
        self,
        ax: Any = None,
        *,
        log: bool = False,
        band_kind: Band = "t",
        level: float = 0.95,
        legend: Legend = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Draw the regret, or the mean expected reward per round if the optimum is unknown.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. If omitted, a new figure is created. A learner has the same colour in all
            figures.
        log : bool
            If True, both axes are logarithmic.
        band_kind : {"t", "bootstrap"}
            Kind of the bands; see `cmab.plotting.band`.
        level : float
            Confidence level of the bands.
        legend : {"beside", "inside", "below", False}, optional
            Position of the legend; see `cmab.plotting.regret_curves`.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If omitted, no file
            is written. A notebook shows the picture; a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            The axes with the curves.
        """
        from cmab.plotting import curves_with_bands, regret_curves
        from cmab.plotting.style import written

        settings: dict[str, Any] = {"band_kind": band_kind, "level": level, "log": log}
        settings |= {"ax": ax, "legend": legend}
        if all(np.isfinite(each.optimum) for each in self.results.values()):
            return written(regret_curves(self.results, exact=True, **settings), path)
        curves = {
            name: (each.rounds, each.expected_rewards / each.rounds) for name, each in self.results.items()
        }
        axes = curves_with_bands(
            curves, x_label="Round", y_label="Expected reward per round so far", **settings
        )
        return written(axes, path)

    @property
    def _pair(self) -> tuple[str, str]:
        return "less regret", "more regret"

    def _said(self) -> dict[str, Any]:
        return super()._said() | {"informed": list(self.informed)}

    def _test(self) -> str:
        return "paired t tests"

    def _title(self) -> str:
        last = next(int(each.rounds[-1]) for each in self.results.values())
        return f"After round {last:,}: means of {self._runs()}"
