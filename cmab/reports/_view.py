"""The data that a chart of a report draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cmab.plotting import Band
from cmab.reports._finished import Finished
from cmab.reports._labels import drawn_names
from cmab.results.simulation import Simulation

_NAMES = {"t": "t intervals", "bootstrap": "bootstrap intervals"}


@dataclass(frozen=True, eq=False)
class View:
    """The data of the charts: an instance of a study, the kind of intervals and their confidence level."""

    finished: Finished
    instance: str
    kind: Band
    level: float

    @cached_property
    def played(self) -> dict[str, Simulation]:
        """The results of the learners; empty if there are no learners."""
        learned = self.finished.learned
        return dict(learned[self.instance].results) if self.instance in learned else {}

    @cached_property
    def results(self) -> dict[str, Simulation]:
        """The results of the learners by the names that a figure shows."""
        shown = drawn_names(self.played)
        return {shown[name]: result for name, result in self.played.items()}

    @property
    def has_optima(self) -> bool:
        """Whether all optima are known, so that there is regret; otherwise the rewards are compared."""
        return bool(self.played) and all(np.isfinite(each.optimum) for each in self.played.values())

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments for curves with bands."""
        return {"band_kind": self.kind, "level": self.level, "legend": "below"}

    @property
    def bands(self) -> str:
        """The sentence of a caption on the bands."""
        return f"Mean over replications with {self.percent} % {_NAMES[self.kind]}."

    @property
    def percent(self) -> str:
        """The confidence level in percent, as text."""
        return f"{100 * self.level:g}"

    @property
    def against(self) -> str:
        """The benchmark of the regret, as text."""
        # The estimate is the best known super arm, whose regret may be too small, or a proved bound.
        about = self.finished.about(self.instance)
        is_exact = all(about[name].optimum_is_exact for name in self.played)
        changes = any(result.optima is not None for result in self.played.values())
        return ("the optimum" if is_exact else "an estimate of the optimum") + " of each round" * changes
