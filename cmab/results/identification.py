"""What `identify` found."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.results.certificate import Certificate
from cmab.results.tables import shown


@dataclass(frozen=True, eq=False)
class Identification:
    """What `identify` found. R replications.

    Attributes
    ----------
    explorer : str
        The explorer's name.
    arms : list of IntArray
        The arms named in each replication; after a capped run, only the best guess, and none at all where
        the cap allowed no sample.
    samples : IntArray, shape (R,)
        Outcomes that were drawn; after a capped run, fewer than its rule would have needed.
    correct : BoolArray, shape (R,)
        Whether the arms meet the explorer's goal, stopped or not; nowhere unless `judged`.
    stopped : BoolArray, shape (R,)
        Whether the explorer's own stopping rule (or its budget) ended the run; where false, `max_samples`
        did, and the arms carry no guarantee.
    certified : BoolArray, shape (R,)
        Whether the arms carry the guarantee that the explorer was asked for: its rule stopped the run, and
        is proven. Never with a fixed budget, nor in a heuristic mode.
    seconds : FloatArray, shape (R,)
        Wall-clock seconds.
    path : str
        Which loop ran: ``"compiled"`` or ``"python"``.
    judged : bool
        Whether the explorer has a goal, by which answers are right or wrong.
    counts : IntArray, shape (R, n_arms), or None
        Samples of each arm, whose shares may be compared with `cmab.theory.optimal_proportions`; None of
        runs read from a study, which does not keep them.
    certificates : list of Certificate
        What the end of each run says: the guarantee, intervals and the two arms told apart last; not of
        runs read from a study or a file.

    Examples
    --------
    >>> from cmab import SequentialHalving, identify
    >>> from instances import BernoulliArms
    >>> found = identify(SequentialHalving(4, budget=400), BernoulliArms([0.9, 0.1, 0.1, 0.1]), rng=0)
    >>> found.arms, found.samples
    ([array([0])], array([400]))
    """

    explorer: str
    arms: list[IntArray]
    samples: IntArray
    correct: BoolArray
    stopped: BoolArray
    certified: BoolArray
    seconds: FloatArray
    path: str = "python"
    judged: bool = True
    counts: IntArray | None = None
    certificates: Sequence[Certificate] = ()

    @property
    def wrong(self) -> BoolArray:
        """Whether a run ended by its own rule with a wrong answer; the guess of a capped run is none."""
        # A run that was cut off gives a guess, which proves nothing about the rule.
        return self.stopped & ~self.correct & self.judged

    def plot(self, ax: Any = None, *, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the mean samples with its 95 % interval and the replications.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        path : str or path-like, optional
            File to write the picture to, such as ``"picture.png"`` or ``"picture.pdf"``. If left out, nothing
            is written: a notebook shows the picture, a script shows it with ``matplotlib.pyplot.show()``.

        Returns
        -------
        matplotlib Axes
            With the picture.
        """
        from cmab.plotting import sample_bars
        from cmab.plotting._style import written

        return written(sample_bars({self.explorer: self}, ax=ax), path)

    def __repr__(self) -> str:
        runs = len(self.arms)
        # A run that was cut off has no place in a mean, and in a median one above all others.
        is_whole, ranked = self.stopped.all(), np.where(self.stopped, self.samples, np.inf)
        samples = float(ranked.mean() if is_whole else np.median(ranked))
        known = shown(samples, grouped=True) if np.isfinite(samples) else "unknown"
        wrong = f"{int(self.wrong.sum())} of them wrong" if self.judged else "not judged for want of a goal"
        return (
            f"Identification({self.explorer}: {runs} runs, {int(self.stopped.sum())} stopped, {wrong},"
            f" {'mean' if is_whole else 'median'} samples {known})"
        )

    def _repr_html_(self) -> str:
        from cmab.results._html import table
        from cmab.results._rankings import explorer_rows, folded

        return table(folded(explorer_rows({self.explorer: self})))
