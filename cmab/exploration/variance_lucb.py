"""LUCB for arms of unknown variances: intervals that follow the variance seen."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.compiled.forms import Rule
from cmab.confidence.variances import one_sided_evidence
from cmab.exploration.lucb import best_mask
from cmab.exploration.parameters import EPSILON, SUPPORT
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False, kw_only=True)
class VarianceLUCB(RuledExplorer, BestK):
    """Base of the two: both critical arms, the levels of LUCB++, and a stop where overlaps are `epsilon`."""

    epsilon: float = field(default=0.0, metadata=EPSILON)

    @property
    def levels(self) -> tuple[float, float]:
        """Probability that one side of an arm fails: as one of the k best means, and as one of the others."""
        return self.delta / (2.0 * (self.n_arms - self.k)), self.delta / (2.0 * self.k)

    @abstractmethod
    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms, of which those that were sampled get new radii."""

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of each arm: at the level of its side, so only the inner ends are proven."""
        from cmab.exploration._kernels_variance_lucb import variance_bounds

        integers, reals = self.parameters
        lower, upper = np.empty(self.n_arms), np.empty(self.n_arms)
        is_high = best_mask(state.means, self.k)
        variance_bounds(self.seen(state), is_high, int(integers[0]), reals, lower, upper)
        return lower, upper


@dataclass(frozen=True, eq=False, kw_only=True)
class BernsteinLUCB(VarianceLUCB):
    """LUCB with empirical-Bernstein intervals that hold at all times, for outcomes in a known interval.

    With probability at least ``1 - delta`` every returned arm has a mean of at least the k-th largest less
    `epsilon`, whatever the distributions and their variances. The radius is about ``sqrt(2 V l / T)`` with V
    the variance seen and l from ``ln(2 n / delta)`` up, hardly growing with time; where V is 0 it is about
    ``1.9 l / T`` of the interval's length. Outcomes may come in batches; without their squares the largest
    variance of outcomes with these means is taken, which for outcomes 0 and 1 is theirs.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, 0 for the best k exactly.
    support : tuple of float
        Interval of the outcomes.

    Notes
    -----
    The intervals are those of `cmab.confidence.anytime_bernstein_radii`, where their proof is, at the levels
    of LUCB++. If a wrong arm b is returned, below the k-th best by more than `epsilon`, then one of the best
    k, a, is not, and b's lower bound is at least a's upper bound less `epsilon`. So either b's mean is too
    large by more than its radius, which each of the n - k arms outside the best k is with probability at most
    ``delta / (2 (n - k))``, or a's is too small, for each of k arms with probability at most ``delta / (2
    k)``: together `delta`.

    Examples
    --------
    >>> from cmab import BernsteinLUCB, identify
    >>> from instances import BernoulliArms
    >>> identify(BernsteinLUCB(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    S. Kalyanakrishnan et al.: PAC Subset Selection in Stochastic Multi-armed Bandits, ICML 2012; M.
    Simchowitz et al.: The Simulator, COLT 2017; I. Waudby-Smith, A. Ramdas: Estimating means of bounded
    random variables by betting, JRSS-B 2024. The bets are ours.
    """

    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms, of which those that were sampled get new radii."""
        from cmab.exploration._kernels_variance_lucb import variance_rule

        high, low = self.levels
        logs = -math.log(high), -math.log(low)
        return variance_rule(self.n_arms, self.k, self.epsilon, logs, self.support)


@dataclass(frozen=True, eq=False, kw_only=True)
class StudentLUCB(VarianceLUCB):
    """LUCB with Student's intervals that hold at all times, for Gaussian arms of unknown variances.

    With probability at least ``1 - delta`` every returned arm has a mean of at least the k-th largest less
    `epsilon`, if the outcomes of each arm are Gaussian, whatever their variances. **For other outcomes
    nothing is proven**: an arm that is nearly always 0 and rarely large looks as if it had no variance. No
    check can tell, so no answer is certified. For outcomes in a known interval take `BernsteinLUCB`.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, 0 for the best k exactly.

    Notes
    -----
    The intervals are those of `cmab.confidence.student_radii`, where their proof is, at the levels of
    `BernsteinLUCB`, for the same reason.

    An arm has no interval before about a dozen outcomes, as long as all of them are equal, or after a batch
    without its squares; then no run ends. Spreads below 3e-7 of the mean count as rounding: take a constant
    off such outcomes.

    Examples
    --------
    >>> from cmab import StudentLUCB, identify
    >>> from instances import GaussianArms
    >>> arms = GaussianArms([1.0, 0.0, 0.0], sigma=0.3)
    >>> identify(StudentLUCB(3, k=1, delta=0.1), arms, rng=0).arms
    [array([0])]

    References
    ----------
    S. Kalyanakrishnan et al.: PAC Subset Selection in Stochastic Multi-armed Bandits, ICML 2012; M.
    Simchowitz et al.: The Simulator, COLT 2017; T. L. Lai: On Confidence Sequences, Annals of Statistics 4
    (1976); H. Wang, A. Ramdas: Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
    variance, 2023.
    """

    # Below two outcomes there is no spread.
    initial_pulls = 2

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms, of which those that were sampled get new radii."""
        from cmab.exploration._kernels_variance_lucb import variance_rule

        high, low = (one_sided_evidence(level) for level in self.levels)
        return variance_rule(self.n_arms, self.k, self.epsilon, (high, low), None)
