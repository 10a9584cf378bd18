"""Arm statistics: the state of nearly every learner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Feedback

_NONE = np.empty(0, np.int64)


@dataclass(eq=False)
class ArmStatistics:
    """Counts, means and sums of squared deviations of all base arms.

    Only `update` changes it.

    Attributes
    ----------
    counters : IntArray, shape (n_arms,) or (number of clusters,)
        Outcomes seen of each arm (or of each cluster of arms).
    means : FloatArray, shape (n_arms,)
        Empirical means; 0 for arms that were never observed.
    deviations : FloatArray, shape (n_arms,)
        Sums of squared deviations from the mean.
    rounds : int
        Rounds whose feedback has come in.
    clusters : IntArray or None, shape (n_arms,)
        See `Oracle.clusters`.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback
    >>> stats = ArmStatistics.empty(3)
    >>> stats.update(Feedback(arms=[0, 2], outcomes=[1.0, 0.5]))
    >>> stats.counts, stats.means
    (array([1, 0, 1]), array([1. , 0. , 0.5]))
    """

    counters: IntArray
    means: FloatArray
    deviations: FloatArray
    rounds: int = 0
    clusters: IntArray | None = None

    @classmethod
    def empty(cls, n_arms: int, clusters: IntArray | None = None) -> Self:
        """Return the statistics before the first outcome."""
        n_counters = n_arms if clusters is None else int(clusters.max(initial=-1)) + 1
        return cls(
            counters=np.zeros(n_counters, np.int64),
            means=np.zeros(n_arms),
            deviations=np.zeros(n_arms),
            clusters=clusters,
        )

    @property
    def n_arms(self) -> int:
        """Number of base arms."""
        return len(self.means)

    @property
    def counts(self) -> IntArray:
        """Outcomes seen of each base arm, shape (n_arms,). Do not write to it."""
        return self.counters if self.clusters is None else self.counters[self.clusters]

    @property
    def variances(self) -> FloatArray:
        """Unbiased sample variances, 0 below two outcomes, shape (n_arms,)."""
        return self.deviations / np.maximum(self.counts - 1, 1)

    def update(self, feedback: Feedback) -> None:
        """Take in one round of feedback.

        Raises
        ------
        ValueError
            If an arm is out of range, or only a part of a cluster was observed.
        """
        from cmab._kernels_statistics import observe

        arms = feedback.arms
        if arms.shape[0] and arms.max() >= self.n_arms:
            raise ValueError(f"feedback.arms must lie in range({self.n_arms}), got {arms.max()}")
        pulls = np.ones(len(arms), np.int64) if feedback.pulls is None else feedback.pulls
        squares = feedback.squares
        if squares is None:
            squares = np.full(len(arms), np.nan)
        owners, sizes = self.sharing()
        learned = (self.counters, owners, sizes, self.means, self.deviations)
        partial = observe(len(arms), arms, feedback.outcomes, pulls, squares, *learned)
        if partial >= 0:
            raise ValueError(
                f"feedback.arms must hold all {sizes[partial]} arms of cluster {partial}, not a part of them"
            )
        self.rounds += 1

    def sharing(self) -> tuple[IntArray, IntArray]:
        """Return the counter of each arm and the number of arms at each counter; empty if none is shared."""
        if self.clusters is None:
            return _NONE, _NONE
        return self.clusters, np.bincount(self.clusters, minlength=self.counters.shape[0])


@dataclass(eq=False)
class RememberingStatistics(ArmStatistics):
    """Statistics, and what a sampling rule keeps in mind besides.

    Attributes
    ----------
    memory : FloatArray
        The explorer gives it its shape. In the compiled loop it is the end of the rule's real parameters.

    Examples
    --------
    >>> from cmab import TTUCB
    >>> TTUCB(3, delta=0.1).initial_state().memory
    array([0., 0., 0., 0., 0., 0., 0., 0.])
    """

    memory: FloatArray = field(default_factory=lambda: np.empty(0))
