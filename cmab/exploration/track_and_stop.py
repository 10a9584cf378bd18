"""Track-and-Stop: the proportions that would be optimal if the means were the true ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from cmab.compiled.forms import Rule
from cmab.exploration.likelihood import LikelihoodStop
from cmab.exploration.parameters import GROWTH, K


@dataclass(frozen=True, eq=False, kw_only=True)
class TrackAndStop(LikelihoodStop):
    """Lazy Track-and-Stop (Garivier and Kaufmann 2016) for the best arm or the k best, with D-tracking.

    The proportions of `cmab.theory.characteristic_time` (for k > 1 those of `cmab.theory.best_k_time`, within
    2 %) at the empirical means are computed anew whenever the
    number of samples t has grown by the share `growth` (Jedra and Proutiere 2020); an arm with fewer than
    ``sqrt(t) - N / 2`` samples goes first, otherwise the arm that lags most behind its proportion. The mean
    number of samples over ``ln(1 / delta)`` tends to the characteristic time, which no rule can beat. The
    stop is that of `BestKGLR`: proven to err with probability at most `delta`, its constants from memory of
    the paper. It needs no randomness.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        How many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Scale of Gaussian outcomes (or sub-Gaussian scale); left out where `family` is ``"bernoulli"``.
    epsilon : float
        Tolerance, 0 for the best arm exactly; with one, runs end on ties too.
    family : {"gaussian", "bernoulli"}
        What the likelihoods are of: Gaussian outcomes, or coins and any other outcomes in [0, 1].
    mode : {"faithful", "heuristic"}
        As of `BestKGLR`: "heuristic" certifies nothing.
    growth : float
        Share by which the samples grow between plans, in [0, 1]; 0 plans at every sample, as published, and
        takes 5 to 10 % fewer samples than 0.1 on the instances of the paper, at many times the work.

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

    k: int = field(default=1, metadata=K)
    growth: float = field(default=0.1, metadata=GROWTH)

    def rule(self) -> Rule:
        """Return the compiled rule, which remembers when the plan is due, and the plan."""
        from cmab.exploration._kernels_top_two import track_rule

        return track_rule(self.n_arms, self.k, self._stop, self.growth)
