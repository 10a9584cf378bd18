"""The result of `identify`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.certificates.certificate import Certificate
from cmab.results.tables import shown


@dataclass(frozen=True, eq=False)
class Identification:
    """The result of `identify` in R replications.

    Attributes
    ----------
    explorer : str
        The name of the explorer.
    arms : list of IntArray
        The arms returned in each replication. If `max_samples` ended the run they are only the best guess,
        and empty if the run had no sample.
    samples : IntArray, shape (R,)
        Number of samples. If `max_samples` ended the run, the rule would have needed more.
    correct : BoolArray, shape (R,)
        Whether the arms meet the explorer's goal, whether or not it stopped. All False if `judged` is False.
    stopped : BoolArray, shape (R,)
        Whether the explorer's stopping rule or budget ended the run. If False, `max_samples` ended the run
        and the arms have no guarantee.
    certified : BoolArray, shape (R,)
        Whether the arms have the guarantee of the explorer: its stopping rule ended the run and has a proof.
        Always False with a fixed budget and in heuristic modes.
    seconds : FloatArray, shape (R,)
        Wall-clock time in seconds.
    path : str
        The loop that ran: ``"compiled"`` or ``"python"``.
    judged : bool
        Whether the explorer has a goal, which decides whether an answer is correct.
    counts : IntArray, shape (R, n_arms), or None
        Samples of each arm. `cmab.theory.optimal_proportions` returns the shares of an optimal rule. None for
        runs read from a study, which does not store counts.
    certificates : list of Certificate
        The certificate of each run: its guarantee, its intervals and the two arms that were the hardest to
        separate. Empty for runs read from a study or a file.

    Examples
    --------
    >>> from cmab import ContinuousRejects, identify
    >>> from instances import BernoulliArms
    >>> found = identify(ContinuousRejects(4, budget=400), BernoulliArms([0.9, 0.1, 0.1, 0.1]), rng=0)
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
        """Whether a run ended by its own rule with a wrong answer; False for runs that were cut off."""
        # The answer of a run that was cut off is a guess, which says nothing about the rule.
        return self.stopped & ~self.correct & self.judged

    def plot(self, ax: Any = None, *, path: str | os.PathLike[str] | None = None) -> Any:
        """Draw the mean samples with its 95 % interval and the replications.

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
            The axes with the picture.
        """
        from cmab.plotting import sample_bars
        from cmab.plotting._style import written

        return written(sample_bars({self.explorer: self}, ax=ax), path)

    def __repr__(self) -> str:
        runs = len(self.arms)
        # There is no mean if a run was cut off; in the median, such runs rank above all others.
        is_whole, ranked = self.stopped.all(), np.where(self.stopped, self.samples, np.inf)
        samples = float(ranked.mean() if is_whole else np.median(ranked))
        known = shown(samples, grouped=True) if np.isfinite(samples) else "unknown"
        wrong = f"{int(self.wrong.sum())} of them wrong" if self.judged else "not judged: it has no goal"
        return (
            f"Identification({self.explorer}: {runs} runs, {int(self.stopped.sum())} stopped, {wrong},"
            f" {'mean' if is_whole else 'median'} samples {known})"
        )

    def _repr_html_(self) -> str:
        from cmab.results._html import table
        from cmab.results._rankings import explorer_rows, folded

        return table(folded(explorer_rows({self.explorer: self})))
