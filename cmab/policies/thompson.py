"""Combinatorial Thompson sampling with Beta priors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.declared import interval, one_of
from cmab.oracle import Oracle
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.validation import per_arm, shown

# Jöhnk's algorithm for Beta(a, b) with a, b <= 1 rejects what underflows: all but about 1500 max(a, b) of its
# draws. So the lighter the prior the longer an arm without outcomes takes, and beyond this for ever.
_LIGHTEST = 1e-6
_LEAST = 1e-100


@dataclass(frozen=True, eq=False)
class CTS(CompiledIndexPolicy):
    """Combinatorial Thompson sampling: the oracle is given one draw from the posterior of every base arm.

    Priors and posteriors are independent Beta distributions (stretched over `support`). An outcome x in
    [0, 1] counts as x successes and 1 - x failures, so the posterior of outcomes 0 and 1 is exact; for others
    this stands for the Bernoulli draw with mean x of Agrawal and Goyal's, and needs no randomness in
    `update`. Means outside the support, possible only with outcomes outside it, are taken as its end.

    The regret bound needs an exact oracle: there are approximate ones, made for the purpose, with which
    Thompson sampling does not learn (Wang and Chen 2018). Rewards and costs are treated alike.

    Independent draws are rarely all high together: the bound has a term exponential in the size of the best
    super arm, and so has the regret (`cmab reproduce two-sets`). With ``coupling="shared"`` each arm's index
    is the same quantile of its posterior, at a level that is drawn uniformly once a round (CTS^3): all arms
    are optimistic together, and the frequentist regret is ``O(m k k* B^2 / gap)`` up to logarithms for
    monotone and B-smooth rewards (Jin et al. 2026, read as an abstract; which prior their theorem is for was
    not seen). That an approximate oracle will do is not claimed there. Levels near the optimistic end play
    a bad round now and then, for ever. The indices of arms never seen would be equal if their priors are, so
    each of them is changed by at most 1e-12 of the support, at random.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    prior_mean : float or array_like of shape (n_arms,)
        Mean of the prior, strictly inside `support`; the middle of the support if left out.
    prior_weight : float or array_like of shape (n_arms,)
        Number of outcomes that the prior is worth, from 1e-6 on. The default with the default mean is
        Beta(1, 1), the uniform distribution.
    coupling : {"independent", "shared"}
        Whether arms are drawn one by one, or as one quantile of all posteriors.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import CTS, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1]), oracle)
    >>> simulate(CTS(oracle), environment, horizon=500, rng=0).super_arms
    [array([1])]
    >>> simulate(CTS(oracle, coupling="shared"), environment, horizon=500, rng=0).super_arms
    [array([1])]

    References
    ----------
    T. Jin, H. Zhao, V. Y. F. Tan, Q. Gu: Avoiding exp(k*) Scaling for Thompson Sampling in Combinatorial
    Semi-Bandits: From Multiple Seeds to a Single Seed, COLT 2026.
    S. Wang, W. Chen: Thompson Sampling for Combinatorial Semi-Bandits, ICML 2018.
    S. Agrawal, N. Goyal: Analysis of Thompson Sampling for the Multi-armed Bandit Problem, COLT 2012.
    """

    prior_mean: ArrayLike | None = None
    _: KW_ONLY
    prior_weight: ArrayLike = 2.0
    coupling: Literal["independent", "shared"] = field(
        default="independent", metadata=one_of("independent", "shared")
    )
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    is_random: ClassVar[bool] = True

    def rule(self) -> Any:
        if self.coupling == "shared":
            from cmab.policies._kernels_shared import shared_indices

            return shared_indices
        from cmab.policies._kernels_thompson import thompson_indices

        return thompson_indices

    def parameters(self) -> FloatArray:
        return pack_beta(self.oracle, self.support, self.prior_mean, self.prior_weight)


def pack_beta(
    oracle: Oracle, support: tuple[float, float], prior_mean: ArrayLike | None, prior_weight: ArrayLike
) -> FloatArray:
    """Return the ends of the support, then the successes and failures of each arm's Beta prior."""
    low, high = support
    centre = (low + high) / 2 if prior_mean is None else prior_mean
    means = per_arm("prior_mean", centre, oracle.n_arms, low, high)
    weights = per_arm("prior_weight", prior_weight, oracle.n_arms, 0.0)
    share = (means - low) / (high - low)
    # Beta(w s, w (1 - s)), s being the mean's place in the support; weight 2
    # and the middle make Beta(1, 1).
    wins, losses = weights * share, weights * (1.0 - share)
    counts = np.concatenate([wins, losses])
    is_drawn = (weights >= _LIGHTEST) & (weights <= 1.0 / _LEAST)
    if not (is_drawn.all() and (counts >= _LEAST).all()):
        raise ValueError(
            f"prior_mean must lie strictly inside {support} and prior_weight be positive,"
            f" in [{_LIGHTEST:g}, {1.0 / _LEAST:g}],"
            f" got prior_mean={shown(prior_mean)}, prior_weight={shown(prior_weight)}"
        )
    return np.concatenate([[low, high], wins, losses])
