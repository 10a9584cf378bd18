"""KL-LUCB: the rule of LUCB1 with confidence bounds by relative entropy."""

from __future__ import annotations

from dataclasses import dataclass, field

from cmab.arrays import FloatArray
from cmab.compiled import Rule
from cmab.confidence.kl import kl_bounds, kl_rate
from cmab.exploration.likelihood import LikelihoodMode
from cmab.exploration.parameters import EPSILON, PROVEN_OR_NOT
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False, kw_only=True)
class KLLUCB(RuledExplorer, BestK):
    """KL-LUCB (Kaufmann and Kalyanakrishnan 2013): LUCB with Bernoulli confidence bounds.

    Use this explorer only to compare with its paper. `BernsteinLUCB` needs fewer samples and less time, also
    for means near 0 or 1 and with a tolerance.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    minus `epsilon`. This holds for all outcomes in [0, 1], because by convexity the bounds for Bernoulli
    outcomes hold for every distribution on [0, 1] with the same mean.

    Each round samples both critical arms, and the exploration rate grows with the number of rounds. If means
    are close to 0 or 1, the explorer needs far fewer samples than `LUCB1`.

    Parameters
    ----------
    n_arms, k : int
        The number of arms, at least 2, and the number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance. With 0, the default, the answer must be the k best arms.
    mode : {"faithful", "heuristic"}
        The exploration rate. "heuristic" uses ``ln((1 + ln t) / delta)`` after t samples, as experiments in
        the literature do. This rate is not proven, so no answer is certified.

    Examples
    --------
    >>> from cmab import identify
    >>> from cmab.exploration.kl_lucb import KLLUCB
    >>> from instances import BernoulliArms
    >>> identify(KLLUCB(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    E. Kaufmann, S. Kalyanakrishnan: Information Complexity in Bandit Subset Selection, COLT 2013. The rate is
    that of Theorem 1 with alpha = 1.1 (from memory, confirmed by the constant in public code).
    """

    epsilon: float = field(default=0.0, metadata=EPSILON)
    mode: LikelihoodMode = field(default="faithful", metadata=PROVEN_OR_NOT)

    support = (0.0, 1.0)

    @property
    def is_proven(self) -> bool:
        """Whether the exploration rate is the proven one."""
        return self.mode == "faithful"

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms because every bound changes with time."""
        from cmab.exploration._kernels_lucb import kl_lucb_rule

        return kl_lucb_rule(self.k, self.delta, self.epsilon, is_proven=self.is_proven)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the confidence bounds by relative entropy."""
        from cmab.confidence._kernels_kl import heuristic_rate

        if self.is_proven:
            rate = kl_rate(self.n_arms, state.rounds, delta=self.delta)
        else:
            rate = heuristic_rate(int(state.counts.sum()), self.delta)
        return kl_bounds(state.means, state.counts, rate=rate)
