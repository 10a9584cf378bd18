"""What `compare` found of policies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.intervals import Band
from cmab.results._pairs import corrected, pairs_of_learners
from cmab.results._rankings import INFORMED, learner_rows, with_verdicts
from cmab.results.comparison import Comparison, Rows
from cmab.results.simulation import Simulation

if TYPE_CHECKING:
    from cmab.plotting._legends import Legend


@dataclass(frozen=True, eq=False, repr=False)
class PolicyComparison(Comparison[Simulation], kind="learners"):
    """Policies on one environment, by regret; where the optimum is unknown, by expected reward.

    Parameters
    ----------
    results : dict of str to Simulation
        After the same number of rounds, in the same sense.
    environment : str
        What they were compared on.
    replications : dict of str to IntArray
        Which replications each has; the first ones if left out.
    informed : sequence of str
        Who was told the true means, as `Clairvoyant`: a yardstick, which stands last and is not the best one.

    Raises
    ------
    ValueError
        If there is no result, or results are of different rounds or senses.

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
                raise ValueError(f"results must have one {what}, got {found}")

    def rows(self, *, level: float = 0.95, band_kind: Band = "t") -> Rows:
        """Return a row of numbers for each learner, the best first, with intervals of `level`."""
        rows = learner_rows(self.results, level, band_kind)
        if not set(self.informed) >= self.results.keys():
            rows.sort(key=lambda row: row["learner"] in self.informed)
        excluded = dict.fromkeys(self.informed, INFORMED)
        return Rows(with_verdicts(rows, self.tests(), self._pair, excluded=excluded))

    def tests(self, *, level: float = 0.95) -> Rows:
        """Return a row for each pair: Student's test of differences by replication, corrected by Holm.

        Regret differs as expected reward does, so no optimum is needed. See `Comparison.tests`.
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
        """Draw the regret against the optimum, or the reward a round where that is unknown.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out. A learner has the same colour in all figures.
        log : bool
            Whether axes are logarithmic.
        band_kind : {"t", "bootstrap"}
            Kind of the bands; see `cmab.plotting.band`.
        level : float
            Confidence of the bands.
        legend : {"beside", "inside", "below", False}, optional
            Where the legend stands; see `cmab.plotting.regret_curves`.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If left out, nothing
            is written: a notebook shows the picture, a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            With the curves.
        """
        from cmab.plotting import curves_with_bands, regret_curves
        from cmab.plotting._style import written

        settings: dict[str, Any] = {"band_kind": band_kind, "level": level, "log": log}
        settings |= {"ax": ax, "legend": legend}
        if all(np.isfinite(each.optimum) for each in self.results.values()):
            return written(regret_curves(self.results, exact=True, **settings), path)
        curves = {
            name: (each.rounds, each.expected_rewards / each.rounds) for name, each in self.results.items()
        }
        axes = curves_with_bands(
            curves, x_label="Round", y_label="Expected reward a round up to now", **settings
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
