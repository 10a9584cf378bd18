"""KL-LUCB: the rule of LUCB1 with bounds by relative entropy."""

from __future__ import annotations

from dataclasses import dataclass, field

from cmab.arrays import FloatArray
from cmab.compiled.forms import Rule
from cmab.confidence.kl import kl_bounds, kl_rate
from cmab.exploration.likelihood import LikelihoodMode
from cmab.exploration.parameters import EPSILON, PROVEN_OR_NOT
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False, kw_only=True)
class KLLUCB(RuledExplorer, BestK):
    """KL-LUCB (Kaufmann and Kalyanakrishnan 2013): LUCB with Bernoulli confidence bounds.

    For any outcomes in [0, 1]: by convexity no distribution there deviates more easily than the Bernoulli one
    of the same mean.

    With probability at least ``1 - delta`` every returned arm has a mean of at least the k-th largest less
    `epsilon`. Both critical arms are sampled; the clock of the exploration rate counts decisions. Far fewer
    samples than `LUCB1` where means are close to 0 or 1.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, 0 for the best k exactly.
    mode : {"faithful", "heuristic"}
        "heuristic" takes the rate ``ln((1 + ln t) / delta)`` after t samples, as experiments in the
        literature do: nothing is proven, and no answer is certified.

    Examples
    --------
    >>> from cmab import KLLUCB, identify
    >>> from instances import BernoulliArms
    >>> identify(KLLUCB(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    E. Kaufmann, S. Kalyanakrishnan: Information Complexity in Bandit Subset Selection, COLT 2013; the rate
    is Theorem 1's with alpha = 1.1 (from memory, confirmed by the constant in public code).
    """

    epsilon: float = field(default=0.0, metadata=EPSILON)
    mode: LikelihoodMode = field(default="faithful", metadata=PROVEN_OR_NOT)

    support = (0.0, 1.0)

    @property
    def is_proven(self) -> bool:
        """Whether the exploration rate is the proven one."""
        return self.mode == "faithful"

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms, for the clock moves every bound."""
        from cmab.exploration._kernels_lucb import kl_lucb_rule

        return kl_lucb_rule(self.k, self.delta, self.epsilon, is_proven=self.is_proven)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the bounds by relative entropy."""
        from cmab.confidence._kernels_kl import heuristic_rate

        if self.is_proven:
            rate = kl_rate(self.n_arms, state.rounds, delta=self.delta)
        else:
            rate = heuristic_rate(int(state.counts.sum()), self.delta)
        return kl_bounds(state.means, state.counts, rate=rate)
