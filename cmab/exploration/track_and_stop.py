"""Track-and-Stop: the proportions that would be optimal if the means were the true ones."""

from __future__ import annotations

from dataclasses import dataclass

from cmab.compiled.forms import Rule
from cmab.exploration.best_arm import BestArmRule


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

    def rule(self) -> Rule:
        """Return the compiled rule, which remembers when the plan is due, and the plan."""
        from cmab.exploration._kernels_top_two import track_rule

        return track_rule(self.n_arms, self.sigma, self._threshold)
