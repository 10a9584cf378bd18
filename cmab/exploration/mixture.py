"""Best-k identification stopped by the generalised likelihood ratio with a mixture threshold."""

from __future__ import annotations

from dataclasses import dataclass

from cmab.compiled.forms import Rule
from cmab.exploration.likelihood import LikelihoodStop
from cmab.renamed import find as __getattr__  # noqa: F401


@dataclass(frozen=True, eq=False, kw_only=True)
class BestKGLR(LikelihoodStop):
    """A proven stop that needs about half the samples of the lil rules: likelihood ratios of all pairs.

    For each of the k best arms i and each other arm j, the evidence that i is better than j less `epsilon`
    is, of Gaussian arms, ``(m_i - m_j + epsilon)^2 / (2 sigma^2 (1 / T_i + 1 / T_j))``. The pair with the
    least evidence plus ``ln T_i + ln T_j`` is critical (the penalty keeps arms from starving), and an arm of
    it is sampled with probability its share of the evidence: for one best arm this is the
    information-directed selection of You et al. (2023).

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Scale of Gaussian outcomes (or sub-Gaussian scale); left out where `family` is ``"bernoulli"``.
    epsilon : float
        Tolerance, 0 for the best k exactly; with one, runs end on ties too.
    family : {"gaussian", "bernoulli"}
        What the likelihoods are of: Gaussian outcomes, or coins and any other outcomes in [0, 1], which takes
        fewer samples where means are close to 0 or 1.
    mode : {"faithful", "heuristic"}
        "heuristic" compares the evidence with ``ln((1 + ln t) / delta)``, as experiments in the literature
        do: nothing is proven, and no answer is certified.

    Notes
    -----
    With probability at least ``1 - delta`` none but the best k ever passes the threshold against one of them
    that is better by more than `epsilon`, for any way of sampling. For Gaussian outcomes its constants are
    those of Kaufmann and Koolen, from memory: a number plus ``2 ln(4 + ln T)`` for each arm of the pair. For
    outcomes in [0, 1] it is ``ln(pairs / delta)`` plus, for each arm, the logarithm of the largest likelihood
    over its mean under the Beta(1/2, 1/2) prior, about ``ln(T) / 2 + 0.6`` at most: the mean over the true
    likelihood is a non-negative supermartingale of mean 1 at most (for outcomes between 0 and 1 by
    convexity), and Ville's inequality bounds its maximum. That a run ends is not proven, so set a cap.

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
    stop for coins).
    W. You, C. Qin, Z. Wang, S. Yang: Information-Directed Selection for Top-Two Algorithms, COLT 2023.
    M. Jourdan, R. Degenne, E. Kaufmann: An epsilon-Best-Arm Identification Algorithm for Fixed-Confidence and
    Beyond, NeurIPS 2023 (the evidence with a tolerance).
    """

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all pairs across the border of the k best."""
        from cmab.exploration._kernels_mixture import mixture_rule

        return mixture_rule(self.k, self._stop)
