"""Best-k identification stopped by the generalised likelihood ratio with a mixture threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cmab.compiled.forms import Rule
from cmab.confidence.radii import pair_threshold
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureGLR(RuledExplorer, BestK):
    """A proven stop that needs about half the samples of the lil rules: likelihood ratios of all pairs.

    For each of the k best arms i and each other arm j, the evidence is ``(m_i - m_j)^2 / (2 sigma^2
    (1 / T_i + 1 / T_j))``. The pair with the least evidence plus ``ln T_i + ln T_j`` is critical (the
    penalty keeps arms from starving), and one of its arms is sampled as in `LilRandLUCB`. The stop proves
    an error of at most `delta` for any way of sampling Gaussian arms; that the run ends is not proven, so set
    a cap. The threshold's constants rest on memory of the paper.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
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
    >>> from cmab import MixtureGLR, identify
    >>> from instances import GaussianArms
    >>> identify(MixtureGLR(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021).
    """

    sigma: float = 0.5

    @cached_property
    def _threshold(self) -> float:
        return pair_threshold(self.k * (self.n_arms - self.k), delta=self.delta)

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all pairs across the border of the k best."""
        from cmab.exploration._kernels_mixture import mixture_rule

        return mixture_rule(self.k, self.sigma, self._threshold)
