"""Best-k identification with a generalised likelihood ratio and a mixture threshold."""

from __future__ import annotations

from dataclasses import dataclass

from cmab.compiled import Rule
from cmab.exploration.likelihood import LikelihoodStop


@dataclass(frozen=True, eq=False, kw_only=True)
class BestKGLR(LikelihoodStop):
    """The k best arms, with a stopping rule on the likelihood ratios of all pairs of arms.

    Use this explorer first for the k best arms. It needs the fewest samples unless variances are small, where
    `BernsteinLUCB` needs fewer. Set a maximum number of samples, because it is not proven to stop.

    Let ``m_i`` be the empirical mean of arm i and ``T_i`` its number of samples. The explorer computes, for
    each of the k best arms i and each other arm j, the evidence that i is better than j less `epsilon`. For
    Gaussian arms, the evidence is ``(m_i - m_j + epsilon)^2 / (2 sigma^2 (1 / T_i + 1 / T_j))``. The run
    stops when the evidence of every pair exceeds its threshold.

    The critical pair has the least sum of its evidence and the penalty ``ln T_i + ln T_j``. The penalty
    ensures that every arm is sampled again and again. The explorer samples one arm of the critical pair, with
    probability equal to the share of the arm in the evidence. For k = 1, this is the information-directed
    selection of You et al. (2023). The explorer needs about half the samples of `LilRandLUCB` and its kind.

    Parameters
    ----------
    n_arms, k : int
        The number of arms, at least 2, and the number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Standard deviation of Gaussian outcomes, or sub-Gaussian scale. Omit it if `family` is
        ``"bernoulli"``.
    epsilon : float
        Tolerance. With 0, the default, the answer must be the k best arms. With a positive tolerance, runs
        also end if arms are tied.
    family : {"gaussian", "bernoulli"}
        Distribution in the likelihoods. ``"bernoulli"`` is valid for all outcomes in [0, 1], and takes fewer
        samples if means are close to 0 or 1.
    mode : {"faithful", "heuristic"}
        The threshold. "heuristic" compares the evidence with ``ln((1 + ln t) / delta)``, as experiments in
        the literature do. This threshold is not proven, so no answer is certified.

    Notes
    -----
    Let i be an arm outside the true k best, and j an arm of the true k best that is better than i by more
    than `epsilon`. With probability at least ``1 - delta``, the evidence that i is better than j less
    `epsilon` never exceeds its threshold for any such pair. This holds for every way of sampling.

    For Gaussian outcomes, the constants of the threshold are those of Kaufmann and Koolen, from memory: a
    number plus ``2 ln(4 + ln T)`` for each arm of the pair. For outcomes in [0, 1], the threshold is
    ``ln(pairs / delta)`` plus one term for each arm. This term is the logarithm of the maximum of the
    likelihood divided by the average of the likelihood under the Beta(1/2, 1/2) prior, about ``ln(T) / 2 +
    0.6`` at most. The ratio of this average to the true likelihood is a nonnegative supermartingale of mean
    at most 1 (for outcomes between 0 and 1 by convexity), and Ville's inequality bounds its maximum.

    There is no proof that every run ends, so limit the number of samples.

    Examples
    --------
    >>> from cmab import BestKGLR, identify
    >>> from instances import GaussianArms
    >>> identify(BestKGLR(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021).
    A. Garivier, E. Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016, section 4 (the
    stopping rule for Bernoulli outcomes).
    W. You, C. Qin, Z. Wang, S. Yang: Information-Directed Selection for Top-Two Algorithms, COLT 2023.
    M. Jourdan, R. Degenne, E. Kaufmann: An epsilon-Best-Arm Identification Algorithm for Fixed-Confidence and
    Beyond, NeurIPS 2023 (the evidence with a tolerance).
    """

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all pairs of one of the k best arms and another arm."""
        from cmab.exploration._kernels_mixture import mixture_rule

        return mixture_rule(self.k, self._stop)
