"""Track-and-Stop: sampling in the proportions that are optimal for the empirical means."""

from __future__ import annotations

from dataclasses import dataclass, field

from cmab.compiled import Rule
from cmab.exploration.likelihood import LikelihoodStop
from cmab.exploration.parameters import GROWTH, K


@dataclass(frozen=True, eq=False, kw_only=True)
class TrackAndStop(LikelihoodStop):
    """Lazy Track-and-Stop (Garivier and Kaufmann 2016) for the best arm or the k best, with D-tracking.

    Use this explorer if the error probability is tiny, because its number of samples is then the least
    possible. For usual probabilities, `BestKGLR` needs about as many.

    The explorer computes the optimal proportions of samples for the empirical means
    (`cmab.theory.characteristic_time`, and for k > 1 `cmab.theory.best_k_time`, within 2 %). It recomputes
    these proportions, the plan, whenever the number of samples t has grown by the share `growth` (Jedra and
    Proutiere 2020). If an arm has fewer than ``sqrt(t) - N / 2`` samples, the explorer samples the least
    sampled arm; otherwise, the arm that is farthest below its proportion. It needs no randomness.

    As `delta` tends to 0, the mean number of samples divided by ``ln(1 / delta)`` tends to the characteristic
    time, the least value of all rules. The stopping rule is that of `BestKGLR`. It errs with probability at
    most `delta` (constants from memory of the paper).

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Standard deviation of Gaussian outcomes, or sub-Gaussian scale. Omit it if `family` is
        ``"bernoulli"``.
    epsilon : float
        Tolerance. With 0, the default, the answer must be the best arm. With a positive tolerance, runs also
        end if arms are tied.
    family : {"gaussian", "bernoulli"}
        Distribution in the likelihoods. ``"bernoulli"`` is valid for all outcomes in [0, 1].
    mode : {"faithful", "heuristic"}
        As for `BestKGLR`. With "heuristic", no answer is certified.
    growth : float
        Share by which the number of samples grows between two plans, in [0, 1]. With 0, the explorer
        recomputes the plan at every sample, as published. On the instances of the paper, this takes 5 to 10 %
        fewer samples than 0.1, the default, and many times the computation.

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
        """Return the compiled rule, with the plan and the time of the next plan as memory."""
        from cmab.exploration._kernels_top_two import track_rule

        return track_rule(self.n_arms, self.k, self._stop, self.growth)
