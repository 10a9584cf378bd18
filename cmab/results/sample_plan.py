"""Predicted sample counts of explorers on guessed means."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.results.identification import Identification
from cmab.run.tables import Row, text
from cmab.validation import shown

if TYPE_CHECKING:
    from cmab.plotting.style import Legend


@dataclass(frozen=True, eq=False, repr=False)
class SamplePlan:
    """The samples that explorers need on a guessed instance for each delta, and a lower bound on them.

    Attributes
    ----------
    environment : str
        A description of the guessed instance.
    results : dict of str to dict of float to Identification
        The result of each explorer and delta.
    least : dict of str to dict of float to float or None
        A lower bound on the mean number of samples of every rule that errs with probability at most delta on
        all instances: ``T* kl(delta, 1 - delta)``. It assumes Gaussian arms if outcomes are unbounded, and
        Bernoulli arms if outcomes are in [0, 1]. For more than 500 pairs of arms it is a looser bound. None
        if the goal has a tolerance or is not the best k arms, or for another support.

    Examples
    --------
    >>> from cmab import LUCBPlusPlus, plan
    >>> from instances import BernoulliArms
    >>> found = plan(LUCBPlusPlus(3, k=1, delta=0.1), BernoulliArms([0.9, 0.5, 0.2]), replications=50, rng=0)
    >>> [(row["explorer"], row["delta"], round(row["least"])) for row in found.rows()]
    [('LUCBPlusPlus', 0.1, 19)]
    """

    environment: str
    results: dict[str, dict[float, Identification]]
    least: dict[str, dict[float, float | None]]

    def rows(self) -> list[Row]:
        """Return a row for each explorer and delta; the mean is None if runs were cut off."""
        return [
            {
                "explorer": name,
                "delta": delta,
                "least": self.least[name][delta],
                "mean samples": float(found.samples.mean()) if found.stopped.all() else None,
                "half end by": _quantile(found, 0.5),
                "9 in 10 by": _quantile(found, 0.9),
                "wrong": int(found.wrong.sum()),
                "cut off": int((~found.stopped).sum()),
            }
            for name, points in self.results.items()
            for delta, found in points.items()
        ]

    def plot(
        self, ax: Any = None, *, legend: Legend = None, path: str | os.PathLike[str] | None = None
    ) -> Any:
        """Draw samples against delta, with the lower bounds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. If omitted, a new figure is created.
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
        from cmab.plotting import parameter_curves
        from cmab.plotting.style import written

        axes = parameter_curves(self.results, parameter="delta", ax=ax, legend=False)
        bounds = {
            tuple((delta, least) for delta, least in points.items() if least is not None)
            for points in self.least.values()
        }
        return written(_with_bounds(axes, [sorted(bound) for bound in bounds if bound], legend), path)

    def __repr__(self) -> str:
        runs = {len(found.samples) for points in self.results.values() for found in points.values()}
        most = max(runs)
        title = f"Samples on {self.environment}, by {most} run{'s' if most != 1 else ''}"
        return f"{title}\n\n{text(self._told(), grouped=True)}"

    def _repr_html_(self) -> str:
        from cmab.results._html import table

        return table(self._told(), self.environment)

    def _told(self) -> list[Row]:
        unsaid = {
            name for name in ("least", "cut off", "mean samples") if not any(row[name] for row in self.rows())
        }
        return [
            {name: _whole(name, value) for name, value in row.items() if name not in unsaid}
            for row in self.rows()
        ]


def _whole(name: str, value: Any) -> Any:
    """Return a number of samples rounded to an integer, as text."""
    if name == "delta":
        return f"{value:g}"
    if isinstance(value, float) and np.isfinite(value):
        return shown(round(value), grouped=True)
    return "> cap" if isinstance(value, float) else value


def _quantile(found: Identification, share: float) -> float:
    """Return the samples within which this share of the runs stopped, infinity if fewer runs stopped."""
    ranked = np.sort(np.where(found.stopped, found.samples, np.inf))
    return float(ranked[int(np.ceil(share * len(ranked))) - 1])


def _with_bounds(axes: Any, bounds: list[list[tuple[float, float]]], legend: Legend) -> Any:
    from cmab.plotting.style import add_legend, style

    with style():
        for points in bounds:
            axes.plot(*zip(*points, strict=True), color="0.35", linestyle=(0, (1, 1)), linewidth=1.4)
        if bounds:
            axes.lines[-1].set_label("lower bound of all rules")
            axes.relim()
            axes.autoscale_view()
        handles = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
        add_legend(axes, handles, legend)
    return axes
