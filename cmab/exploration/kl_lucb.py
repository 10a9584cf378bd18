"""KL-LUCB: the rule of LUCB1 with bounds by relative entropy."""

from __future__ import annotations

from dataclasses import dataclass

from cmab.compiled.forms import Rule
from cmab.exploration.parameters import check_epsilon
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.goals import ExploreM, Goal


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

    Raises
    ------
    ValueError
        If a parameter is out of its range.

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

    epsilon: float = 0.0

    support = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_epsilon(self.epsilon)

    @property
    def goal(self) -> Goal:
        """Every arm within `epsilon` of the k-th best."""
        return ExploreM(self.k, self.epsilon)

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms, for the clock moves every bound."""
        from cmab.exploration._kernels_lucb import kl_lucb_rule

        return kl_lucb_rule(self.k, self.delta, self.epsilon)
