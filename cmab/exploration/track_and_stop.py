"""Track-and-Stop: the proportions that would be optimal if the means were the true ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab.arrays import IntArray
from cmab.compiled.forms import ExplorerKernel
from cmab.exploration.best_arm import BestArmRule
from cmab.exploration.sampling import scan
from cmab.feedback import Feedback
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False)
class TrackAndStop(BestArmRule):
    """Lazy Track-and-Stop (Garivier and Kaufmann 2016) for the best of Gaussian arms, with D-tracking.

    The proportions of `cmab.theory.characteristic_time` at the empirical means are computed anew whenever the
    number of samples t has grown by a tenth (Jedra and Proutiere 2020); an arm with fewer than
    ``sqrt(t) - N / 2`` samples goes first, otherwise the arm that lags most behind its proportion. The mean
    number of samples over ``ln(1 / delta)`` tends to the characteristic time, which no rule can beat. The
    stop is that of `MixtureGLR`: proven to err with probability at most `delta`, its constants from memory of
    the paper. It needs no randomness.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Scale of Gaussian outcomes (or sub-Gaussian scale).

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import TrackAndStop, identify
    >>> from instances import GaussianArms
    >>> identify(TrackAndStop(3, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016.
    Y. Jedra, A. Proutiere: Optimal Best-Arm Identification in Linear Bandits, NeurIPS 2020 (lazy updates,
    from memory).
    """

    def initial_state(self) -> ArmStatistics:
        """Return the state before the first outcome; it remembers when the plan is due, and the plan."""
        state = ArmStatistics.empty(self.n_arms)
        state.memory = np.zeros(1 + self.n_arms)
        return state

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Take in outcomes, and renew the plan when it is due."""
        from cmab.exploration._kernels_top_two import refresh_plan

        super().update(state, feedback)
        if not len(self.unseen(state)):
            refresh_plan(state.means, int(state.counts.sum()), state.memory)

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return an arm that has been starved, or the one most behind the plan."""
        from cmab.exploration._kernels_top_two import tracked_arm

        return np.array([tracked_arm(state.counts, int(state.counts.sum()), state.memory[1:])], np.int64)

    def kernel(self) -> ExplorerKernel:
        """Return the compiled rule."""
        from cmab.exploration._kernels_top_two import decide_track

        return scan(decide_track, [], [self.sigma, self._threshold, *[0.0] * (1 + self.n_arms)])
