"""Posteriors of the means: Thompson sampling with Beta and Gaussian posteriors, and Bayes-UCB."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.bounds.beta import beta_quantile
from cmab.compiled import index_kernel, inner_kernel, lean_kernel
from cmab.oracle import Oracle
from cmab.parameters import interval, one_of, real
from cmab.policy import CompiledIndexPolicy, break_ties
from cmab.priors import BetaPrior
from cmab.validation import per_arm, shown

# Beta posteriors ----------------------------------------------------------------------------------------

#: With this number of arms or more, Beta(1, 1), Beta(a, 1) and Beta(1, b) are drawn from one uniform or
#: exponential number, which is 2 to 40 times as fast as the generator of Beta numbers. With fewer arms, a
#: round takes little time anyway.
MANY_ARMS = 100_000
# Jöhnk's algorithm for Beta(a, b) with a, b <= 1 rejects draws that underflow, and accepts a share of about
# 1500 max(a, b). A draw for an arm without outcomes takes longer with a lighter prior, and never ends if the
# prior is much lighter than this.
_LIGHTEST = 1e-6
_LEAST = 1e-100


@inner_kernel
def power_draw(a, b, exponential):
    """Return a draw from Beta(a, b), of which a or b is 1, made from a draw of an exponential distribution.

    If E is exponential, exp(-E) is uniform. Its power 1 / a has the distribution function x^a of Beta(a, 1).
    The mirror image of Beta(b, 1) is Beta(1, b).
    """
    return math.exp(-exponential / a) if b == 1.0 else -math.expm1(-exponential / b)


@index_kernel
def thompson_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw from each arm's Beta posterior."""
    low, length, m = float(reals[0]), float(reals[1] - reals[0]), counts.shape[0]
    wins, losses = reals[2 : 2 + m], reals[2 + m :]
    for i in range(m):
        mean, n = min(max((float(means[i]) - low) / length, 0.0), 1.0), int(counts[i])
        # Wang and Chen (2018), Algorithm 1 (from memory): theta ~ Beta(a, b). They replace an outcome in
        # (0, 1) by a coin flip; here it counts as a fraction of a success, so learning is deterministic.
        a, b = float(wins[i]) + n * mean, float(losses[i]) + n * (1.0 - mean)
        if m >= MANY_ARMS and (a == 1.0 or b == 1.0):
            theta = rng.random() if a == b else power_draw(a, b, rng.standard_exponential())
        else:
            theta = rng.beta(a, b)
        out[i] = low + length * theta


@lean_kernel
def write_quantiles(counts, means, level, reals, out):
    """Write the quantile of each posterior at `level` in (0, 1)."""
    low, length, m = reals[0], reals[1] - reals[0], counts.shape[0]
    wins, losses = reals[2 : 2 + m], reals[2 + m :]
    a, b, quantile = 0.0, 0.0, 0.0
    for i in range(m):
        mean = min(max((means[i] - low) / length, 0.0), 1.0)
        won, lost = wins[i] + counts[i] * mean, losses[i] + counts[i] * (1.0 - mean)
        if won != a or lost != b:  # neighbouring arms often have the same posterior
            a, b, quantile = won, lost, beta_quantile(level, won, lost)
        out[i] = low + length * quantile


@index_kernel
def shared_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write the quantile of each arm's Beta posterior at one random level per round."""
    # Jin et al. (2026): F_i^{-1}(U), one U for all arms.
    write_quantiles(counts, means, max(rng.random(), 2.0**-54), reals, out)
    break_ties(counts, reals[0], reals[1], rng, out)


@index_kernel
def bayes_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write Bayes-UCB's indices. `reals` ends with the level (0 for the paper's) and the oracle's sign."""
    level, sign = reals[-2], reals[-1]
    if level == 0.0:  # Kaufmann et al. (2012), Algorithm 1 with c = 0, but at least 0.5: it is 0 in round 1
        level = max(1.0 - 1.0 / t, 0.5)
    write_quantiles(counts, means, level if sign > 0.0 else 1.0 - level, reals, out)


def beta_reals(
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
    counts = np.concatenate([weights * share, weights * (1.0 - share)])
    is_drawn = (weights >= _LIGHTEST) & (weights <= 1.0 / _LEAST)
    if not (is_drawn.all() and (counts >= _LEAST).all()):
        raise ValueError(
            f"prior_mean must lie strictly inside {support} and prior_weight must be"
            f" in [{_LIGHTEST:g}, {1.0 / _LEAST:g}],"
            f" got prior_mean={shown(prior_mean)}, prior_weight={shown(prior_weight)}"
        )
    return np.concatenate([[low, high], counts])


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
        return shared_indices if self.coupling == "shared" else thompson_indices

    def parameters(self) -> FloatArray:
        return beta_reals(self.oracle, self.support, self.prior_mean, self.prior_weight)

    def beta_prior(self) -> BetaPrior:
        wins, losses = np.split(self._reals[2:], 2)
        return BetaPrior(wins, losses)


@dataclass(frozen=True, eq=False)
class BayesUCB(CompiledIndexPolicy):
    """The quantile of each arm's Beta posterior at level ``1 - 1/t``, or at a fixed level.

    Use this policy if choices must be deterministic and outcomes lie in the unit interval. `KLCUCB` is
    similar and needs no prior.

    Prior and posterior are those of `CTS`, but nothing is random. For costs, the index is the quantile at
    ``1/t``, or at one minus `level`. The index keeps the meaning of the prior, unlike an upper confidence
    bound: given the past, a mean is above its index with probability 1/t if the prior is correct. On a large
    network the level ``1 - 1/t`` is too optimistic (see the page on influence). A level of 3/4 is closer to
    the behaviour of `CTS`.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    level : float, optional
        A fixed level in (0, 1). By default the level is ``1 - 1/t``, and 1/2 in round 1.
    prior_mean, prior_weight : float or array_like of shape (n_arms,)
        As in `CTS`. The default is the uniform distribution.
    support : tuple of float
        Interval of the outcomes.

    Examples
    --------
    >>> from cmab import BayesUCB, ArmStatistics, Feedback
    >>> from oracles import TopK
    >>> stats = ArmStatistics.empty(2)
    >>> for _ in range(3):
    ...     stats.update(Feedback([0], [0.0]))
    >>> BayesUCB(TopK(n_arms=2, k=1)).indices(stats, rng=None).round(3)  # Beta(1, 4) and Beta(1, 1), round 4
    array([0.293, 0.75 ])

    References
    ----------
    E. Kaufmann, O. Cappé, A. Garivier: On Bayesian Upper Confidence Bounds for Bandit Problems, AISTATS 2012
    (Algorithm 1 with c = 0, which they use in practice; from memory).
    """

    level: float | None = field(default=None, metadata=real(0.0, 1.0, inside=True, optional=True))
    _: KW_ONLY
    prior_mean: ArrayLike | None = None
    prior_weight: ArrayLike = 2.0
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())

    def rule(self) -> Any:
        return bayes_indices

    def parameters(self) -> FloatArray:
        prior = beta_reals(self.oracle, self.support, self.prior_mean, self.prior_weight)
        return np.append(prior, [self.level or 0.0, self.oracle._sign])


# Gaussian posteriors ------------------------------------------------------------------------------------

Coupling = Literal["independent", "shared"]
#: The default factor of each coupling.
_FACTORS: dict[str, float] = {"independent": 1.1, "shared": 0.4}
#: Used instead of infinity, as in the code of Hu et al.
_HUGE = 1e8


@index_kernel
def independent_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write CTS-Gaussian's indices: independent draws around the means, with unobserved arms first."""
    sigma, factor, low, high, unseen = reals[0], reals[1], reals[2], reals[3], reals[4]
    for i in range(counts.shape[0]):
        z = rng.standard_normal()
        # Perrault et al. (2020), CTS-Gaussian: N(mean, beta sigma^2 / N), beta > 1.
        index = means[i] + z * sigma * math.sqrt(factor / max(counts[i], 1))
        out[i] = min(max(index if counts[i] > 0 else unseen, low), high)
    break_ties(counts, low, high, rng, out)


@index_kernel
def shared_normal_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write CL-SG's indices: every mean is shifted by the same multiple of its width."""
    sigma, factor, low, high, unseen = reals[0], reals[1], reals[2], reals[3], reals[4]
    # Hu et al. (2026), CL-SG: mean + Z sqrt(gamma ln t / (N + 1)); gamma is the factor times sigma^2.
    width = rng.standard_normal() * sigma * math.sqrt(factor * math.log(t))
    for i in range(counts.shape[0]):
        mean = means[i] if counts[i] > 0 else unseen
        out[i] = min(max(mean + width / math.sqrt(counts[i] + 1.0), low), high)
    break_ties(counts, low, high, rng, out)


@dataclass(frozen=True, eq=False)
class GaussianCTS(CompiledIndexPolicy):
    """Thompson sampling with Gaussian posteriors, for arms of any scale and for correlated outcomes.

    Use this policy if outcomes have no bounded support, or are correlated within a round.

    Write N for the count of an arm, Z for a standard normal number, f for `variance_factor`, and L for
    the size of the largest super arm. The index of an arm is its mean plus a random term:

    - ``"independent"`` (CTS-Gaussian): ``Z_i sigma sqrt(f / N)`` with f > 1. Unobserved arms come first. The
      regret is ``O(m log(L)^2 log(T) / gap)`` for independent sub-Gaussian outcomes, plus a constant that is
      exponential in L. For correlated outcomes, `sigma` must bound the row sums of their covariance.
    - ``"shared"`` (CL-SG): ``Z sigma sqrt(f ln t / (N + 1))`` with one Z per round, so that all arms are
      optimistic together. The regret is ``O(sqrt(L m T))`` up to logarithms, for any sets of available arms.
      The mean of an unobserved arm is the worst end of `support`. Without a support, the arm comes first.

    These bounds are for linear rewards and exact oracles. Rewards and costs are treated alike. Ties between
    unobserved arms are broken at random, by changes of at most 1e-12 of the support.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.
    coupling : {"shared", "independent"}
        The rule, as above.
    sigma : float, optional
        Sub-Gaussian scale of the outcomes. The default is half the length of `support`. It is required if
        `support` is None.
    variance_factor : float, optional
        The factor f above, positive. The default is 1.1 for ``"independent"`` (the bound holds for any f >
        1), and 0.4 for ``"shared"`` (with sigma 1/2 this is gamma = 0.1 of the authors' figures).
    support : tuple of float or None
        Interval to which indices are clipped, for oracles that require it. `simulate` rejects outcomes
        outside it. With None, as in the papers, outcomes may be any numbers.

    Examples
    --------
    >>> from cmab import GaussianCTS, simulate
    >>> from instances import GaussianArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=3, k=1)
    >>> environment = SemiBandit(GaussianArms([20.0, 90.0, 10.0], 15.0), oracle)
    >>> policy = GaussianCTS(oracle, sigma=15.0, support=None)
    >>> simulate(policy, environment, horizon=500, rng=0).super_arms
    [array([1])]

    References
    ----------
    P. Perrault, E. Boursier, V. Perchet, M. Valko: Statistical Efficiency of Thompson Sampling for
    Combinatorial Semi-Bandits, NeurIPS 2020 (the constants from memory).
    B. Hu, J. Pan, Z. Huang: Worst-Case Regret Bounds for Combinatorial Thompson Sampling in Sleeping
    Semi-Bandits, INFOCOM 2026, arXiv:2605.09277 (abstract and the authors' code).
    """

    coupling: Coupling = field(default="shared", metadata=one_of(*_FACTORS))
    _: KW_ONLY
    sigma: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    variance_factor: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    support: tuple[float, float] | None = field(default=(0.0, 1.0), metadata=interval(optional=True))
    is_random: ClassVar[bool] = True

    def rule(self) -> Any:
        return shared_normal_indices if self.coupling == "shared" else independent_indices

    def parameters(self) -> FloatArray:
        factor = _FACTORS[self.coupling] if self.variance_factor is None else self.variance_factor
        low, high = self.support or (-np.inf, np.inf)
        if self.sigma is None and self.support is None:
            raise ValueError("sigma must be given if support is None, got None")
        sigma = (high - low) / 2 if self.sigma is None else self.sigma
        best, worst = (high, low) if self.oracle.sense == "max" else (low, high)
        # With a support, an unobserved arm of CL-SG has the worst mean, as in the authors' code, and its
        # width makes it optimistic. Without one, it comes first.
        unseen = best if self.coupling == "independent" else worst
        if self.support is None:
            unseen = self.oracle._sign * _HUGE * sigma
        return np.array([sigma, factor, low, high, unseen])
