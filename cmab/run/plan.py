"""Planning the number of samples of explorers from a guess of the means."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.bounds.kl import bernoulli_divergence
from cmab.bounds.samples import least_best_k_samples
from cmab.bounds.times import best_k_time, gaussian_divergence
from cmab.environment import Environment
from cmab.explorer import AnyExplorer, ExploreM, Explorer
from cmab.intervals import band
from cmab.run.identify import check_fit, identify
from cmab.run.results import Identification
from cmab.run.tables import Row, Rows, text
from cmab.seeding import Seed, root
from cmab.validation import listed, real, shown

#: Largest number of pairs of arms for which the characteristic time of the best k takes less than a second.
_MOST_PAIRS = 500


def plan(
    explorers: Mapping[str, AnyExplorer] | AnyExplorer,
    environment: Environment,
    *,
    deltas: Sequence[float] | None = None,
    replications: int = 100,
    rng: Seed = None,
    n_jobs: int = 1,
    max_samples: int | None = None,
    progress: bool = False,
) -> SamplePlan:
    """Estimate the number of samples of explorers if a guess of the means is true.

    The result has the mean samples from simulations. For Bernoulli and Gaussian arms it also has a lower
    bound on the samples of any rule.

    Parameters
    ----------
    explorers : mapping of str to Explorer, or Explorer
        Explorers with a `delta`, by the names that tables and figures show.
    environment : Environment
        The guess, such as ``BernoulliArms([0.5, 0.45, 0.4])``. Use the smallest gaps that you want to detect.
    deltas : sequence of float, optional
        Error probabilities to try, each in (0, 1). They replace the `delta` of each explorer.
    replications : int
        Number of runs of each explorer and delta.
    rng : int, SeedSequence, Generator or None
        Seed.
    n_jobs : int
        Number of workers, or -1 for all cores. The numbers do not depend on it.
    max_samples : int, optional
        Largest number of samples of a run, as in `identify`.
    progress : bool
        Whether to show a progress bar for each explorer and delta.

    Returns
    -------
    SamplePlan
        The numbers of samples, with tables and a plot of samples by delta.

    Raises
    ------
    TypeError
        If `explorers` is neither an explorer nor a mapping.
    ValueError
        If `explorers` is empty, if an explorer has no `delta`, or if `identify` raises.

    Examples
    --------
    >>> from cmab import LUCB1, LilRandLUCB, plan
    >>> from instances import BernoulliArms
    >>> rules = {"LUCB1": LUCB1(4, k=1, delta=0.1), "lil'RandLUCB": LilRandLUCB(4, k=1, delta=0.1)}
    >>> found = plan(rules, BernoulliArms([0.7, 0.5, 0.4, 0.3]), deltas=(0.1, 0.01), replications=20, rng=0)
    >>> [row["explorer"] for row in found.rows()]
    ['LUCB1', 'LUCB1', "lil'RandLUCB", "lil'RandLUCB"]
    """
    named = {type(explorers).__name__: explorers} if isinstance(explorers, Explorer) else explorers
    if not isinstance(named, Mapping):
        raise TypeError(f"explorers must be an Explorer or a mapping of names to them, got {shown(named)}")
    if not named:
        raise ValueError("explorers must have at least one entry, got none")
    # Check all explorers first, because a run may take hours.
    rules = {name: _by_delta(name, each, deltas) for name, each in named.items()}
    for each in named.values():
        check_fit(each, environment)
    least = {
        name: {delta: least_samples(rule, environment, delta) for delta, rule in own.items()}
        for name, own in rules.items()
    }
    seed = root(rng)

    def run(rule: AnyExplorer) -> Identification:
        return identify(
            rule,
            environment,
            replications=replications,
            rng=seed,
            n_jobs=n_jobs,
            max_samples=max_samples,
            progress=progress,
        )

    return SamplePlan(
        environment=repr(environment),
        results={name: {delta: run(rule) for delta, rule in own.items()} for name, own in rules.items()},
        least=least,
    )


def _by_delta(name: str, explorer: AnyExplorer, deltas: Sequence[float] | None) -> dict[float, AnyExplorer]:
    """Return the explorer for each delta."""
    own = getattr(explorer, "delta", None)
    if not isinstance(own, float):
        raise ValueError(f"explorers[{name!r}] must have a delta, got {shown(explorer)}")
    if deltas is None:
        return {own: explorer}
    if not dataclasses.is_dataclass(explorer):
        raise ValueError(
            f"explorers[{name!r}] must be a dataclass if deltas are given, got {shown(explorer)}"
        )
    chances = listed("deltas", deltas, "numbers in (0, 1)")
    if not chances:
        raise ValueError("deltas must have at least one entry, got none")
    tried = sorted((real("deltas", delta, 0.0, 1.0, inside=True) for delta in chances), reverse=True)
    return {delta: dataclasses.replace(explorer, delta=delta) for delta in tried}


def least_samples(explorer: AnyExplorer, environment: Environment, delta: float) -> float | None:
    """Return a lower bound on the mean samples of any rule with this goal, or None if it is unknown."""
    goal, means = explorer.goal, environment.means
    if not isinstance(goal, ExploreM) or goal.epsilon > 0.0 or environment.distribution is None:
        return None
    is_coin = environment.distribution == "bernoulli"
    scale, divergence = (
        (1.0, bernoulli_divergence) if is_coin else (environment.sigma**2, gaussian_divergence)
    )
    k, evidence = goal.k, bernoulli_divergence(delta, max(delta, 1.0 - delta))
    order = sorted(means, reverse=True)
    if order[k - 1] == order[k]:
        return float("inf")
    if k * (len(means) - k) <= _MOST_PAIRS:
        return scale * best_k_time(means, k, divergence=divergence)[1] * evidence
    return scale * least_best_k_samples(means, k, delta=delta, divergence=divergence)


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
        all instances: ``T* kl(delta, 1 - delta)``. For more than 500 pairs of arms it is a looser bound. None
        if the goal has a tolerance or is not the best k arms, or if the distributions of the outcomes are
        neither Bernoulli nor Gaussian (`Environment.distribution`).

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

    def rows(self) -> Rows:
        """Return a row for each explorer and delta; the mean is None if runs were cut off."""
        return Rows(
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
        )

    def plot(self, ax: Any = None, *, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw mean samples against delta, with the lower bounds; points without a mean are left out.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. If omitted, a new figure is created.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If omitted, no file
            is written. A notebook shows the picture; a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            The axes with the curves.
        """
        from cmab.plotting import panels_of_curves
        from cmab.plotting.style import written

        drawn: dict[str, list[tuple[float, float, float, float]]] = {}
        for name, points in self.results.items():
            for delta, found in points.items():
                if found.stopped.all():
                    mean, low, high = (
                        float(end[0]) for end in band(found.samples[:, None].astype(np.float64))
                    )
                    drawn.setdefault(name, []).append((delta, mean, low, high))
        for name, bounds in self.least.items():
            bound = [(delta, least, np.nan, np.nan) for delta, least in bounds.items() if least is not None]
            if bound and all(repr(bound) != repr(other) for other in drawn.values()):
                is_first = "lower bound of all rules" not in drawn
                drawn["lower bound of all rules" if is_first else f"lower bound, {name}"] = bound
        texts: dict[str, Any] = {"x_label": r"$\delta$", "y_label": "Samples until stopping"}
        axes = panels_of_curves({"": drawn}, **texts, log_x=True, ax=ax)
        axes.invert_xaxis()
        return written(axes, path)

    def __repr__(self) -> str:
        runs = max(len(found.samples) for points in self.results.values() for found in points.values())
        title = f"Samples on {self.environment}, by {runs} run{'s' if runs != 1 else ''}"
        return f"{title}\n\n{text(self._filled())}"

    def _repr_html_(self) -> str:
        return text(self._filled(), "html")

    def _filled(self) -> list[Row]:
        """Return the rows with whole numbers of samples, without columns that have no value."""
        rows = self.rows()
        empty = {name for name in ("least", "cut off", "mean samples") if not any(row[name] for row in rows)}
        return [{name: _whole(name, row[name]) for name in row if name not in empty} for row in rows]


def _whole(name: str, value: Any) -> Any:
    """Return a number of samples rounded to an integer; "> cap" if the limit came before."""
    if name == "delta" or not isinstance(value, float):
        return f"{value:g}" if name == "delta" else value
    return round(value) if np.isfinite(value) else "> cap"


def _quantile(found: Identification, share: float) -> float:
    """Return the samples within which this share of the runs stopped, infinity if fewer runs stopped."""
    ranked = np.sort(np.where(found.stopped, found.samples, np.inf))
    return float(ranked[int(np.ceil(share * len(ranked))) - 1])
