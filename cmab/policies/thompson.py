"""Combinatorial Thompson sampling with Beta priors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.campaign.posterior import BetaPrior
from cmab.declared import interval, one_of
from cmab.oracle import Oracle
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.validation import per_arm, shown

# Jöhnk's algorithm for Beta(a, b) with a, b <= 1 rejects draws that underflow, and accepts a share of about
# 1500 max(a, b). A draw for an arm without outcomes takes longer with a lighter prior, and never ends if the
# prior is much lighter than this.
_LIGHTEST = 1e-6
_LEAST = 1e-100


@dataclass(frozen=True, eq=False)
class CTS(CompiledIndexPolicy):
    """Combinatorial Thompson sampling: the oracle receives one draw from the posterior of every base arm.

    Use this policy if the prior of the means is known, or if the theorems of Thompson sampling must apply.
    Otherwise, `AdaptiveCTS` learns the prior.

    Priors and posteriors are independent Beta distributions, rescaled to `support`. An outcome x in [0, 1]
    counts as x successes and 1 - x failures. The posterior is therefore exact for outcomes 0 and 1. For other
    outcomes, Agrawal and Goyal draw a Bernoulli variable with mean x; the fractional count replaces the draw,
    so `update` is deterministic. Means outside the support, which require outcomes outside it, are clipped.

    The regret bound requires an exact oracle. With some approximate oracles, constructed as counterexamples,
    Thompson sampling does not learn (Wang and Chen 2018). Rewards and costs are treated alike.

    Independent draws are rarely all high at once. The regret bound has a term that is exponential in the size
    of the best super arm, and so has the regret itself (`cmab reproduce two-sets`). With
    ``coupling="shared"`` (CTS^3) each index is the same quantile of the arm's posterior, at a level that is
    drawn uniformly once per round, so all arms are optimistic together. The frequentist regret is then
    ``O(m k k* B^2 / gap)`` up to logarithms for monotone and B-smooth rewards (Jin et al. 2026; we read the
    abstract, which does not state the prior and makes no claim for approximate oracles). Occasional levels
    near the optimistic end cause a bad round now and then in any long run. Unobserved arms with equal priors
    would have equal indices, so each of their indices is changed at random by at most 1e-12 of the support.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    prior_mean : float or array_like of shape (n_arms,)
        Mean of the prior, strictly inside `support`. The default is the middle of the support.
    prior_weight : float or array_like of shape (n_arms,)
        Weight of the prior in numbers of outcomes, at least 1e-6. With both defaults, the prior is
        Beta(1, 1), the uniform distribution.
    coupling : {"independent", "shared"}
        Whether arms are drawn independently, or as the same quantile of all posteriors.
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

    def beta_prior(self) -> BetaPrior | None:
        wins, losses = np.split(self._reals[2:], 2)
        return BetaPrior(wins, losses) if self.support == (0.0, 1.0) else None

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
    # Beta(w s, w (1 - s)), where s is the position of the mean in the support. With weight 2 and the middle
    # of the support this is Beta(1, 1).
    wins, losses = weights * share, weights * (1.0 - share)
    counts = np.concatenate([wins, losses])
    is_drawn = (weights >= _LIGHTEST) & (weights <= 1.0 / _LEAST)
    if not (is_drawn.all() and (counts >= _LEAST).all()):
        raise ValueError(
            f"prior_mean must lie strictly inside {support} and prior_weight must be"
            f" in [{_LIGHTEST:g}, {1.0 / _LEAST:g}],"
            f" got prior_mean={shown(prior_mean)}, prior_weight={shown(prior_weight)}"
        )
    return np.concatenate([[low, high], wins, losses])
