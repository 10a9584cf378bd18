"""UGapE: unified gap-based exploration with fixed confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import Rule
from cmab.confidence.radii import anytime_radii, around, bernstein_radii
from cmab.exploration.parameters import check_epsilon, check_noise, check_support, length
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.goals import ExploreEach, ExploreM, Goal, bandit_sizes, best_of_each
from cmab.statistics import ArmStatistics
from cmab.validation import integer


class UGapERule(RuledExplorer):
    """Base of the family: the arms of least gap index."""

    k: int
    delta: float
    epsilon: float
    arms_per_bandit: Sequence[int]
    _by_variance = False

    @property
    def goal(self) -> Goal:
        """Every arm within `epsilon` of the k-th best."""
        return ExploreM(self.k, self.epsilon)

    @property
    def _length(self) -> float:
        """The paper's b."""
        # Outcomes on an interval of length b are b / 2 sub-Gaussian (Hoeffding), so sigma stands for b / 2.
        return 2.0 * (self.sigma or 0.0) if self.support is None else length(self.support)

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms, for the clock moves every radius."""
        from cmab.exploration._kernels_ugape import ugape_rule

        levels = self.delta, self._length, self.epsilon
        return ugape_rule(self.k, self._by_variance, self.arms_per_bandit, *levels)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means less and plus the radii after so many samples."""
        samples = int(state.counts.sum())
        if self._by_variance and self.support is not None:
            radii = bernstein_radii(state, samples, delta=self.delta, support=self.support)
        else:
            radii = anytime_radii(state.counts, samples, delta=self.delta, sigma=self._length / 2.0)
        return around(state.means, radii)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arms of least gap index; before every arm was seen, the best means."""
        from cmab.exploration._kernels_ugape import present_answer

        # The index needs a radius for every arm, and there is none at T = 0.
        if len(self.unseen(state)):
            return best_of_each(state.means, self.arms_per_bandit, k=self.k)
        is_chosen = np.empty(self.n_arms, np.bool_)
        present_answer(self.seen(state), *self.parameters, is_chosen)
        return np.flatnonzero(is_chosen)


@dataclass(frozen=True, eq=False)
class MultiBanditUGapEc(UGapERule):
    """UGapEc for several bandits at once (Gabillon et al. 2012): the k best arms of each.

    The bandit whose present answer is the least sure is sampled, until all are sure enough. With probability
    at least ``1 - delta`` every returned arm has a mean of at least the k-th largest of its bandit less
    `epsilon`: the radii of all arms of all bandits hold at once, so nothing else changes in the proof.

    Parameters
    ----------
    arms_per_bandit : sequence of int
        Number of arms of each bandit, at least 2; the arms are numbered one bandit after the other.
    k : int
        How many arms of each bandit to return, fewer than it has.
    delta : float
        Probability that the answer for some bandit is wrong, in (0, 1).
    epsilon : float
        Tolerance, 0 for the best k exactly.
    sigma : float
        Sub-Gaussian scale of the outcomes; half the length of their support will do.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import MultiBanditUGapEc, identify
    >>> from instances import BernoulliArms
    >>> explorer = MultiBanditUGapEc(arms_per_bandit=(2, 3), k=1, delta=0.1)
    >>> identify(explorer, BernoulliArms([0.9, 0.1, 0.2, 0.1, 0.8]), rng=0).arms
    [array([0, 4])]

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification: A Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, Figures 1 and 2. The paper leaves several bandits to its technical
    report; the rule here is its counterpart of `MultiBanditUGapEb`.
    """

    arms_per_bandit: Sequence[int]
    k: int
    _: KW_ONLY
    delta: float
    epsilon: float = 0.0
    sigma: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms_per_bandit", tuple(bandit_sizes(self.arms_per_bandit)))
        integer("k", self.k, 1, min(self.arms_per_bandit) - 1)
        check_noise(self.delta, self.sigma)
        check_epsilon(self.epsilon)

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of arms of all bandits."""
        return sum(self.arms_per_bandit)

    @property
    def goal(self) -> Goal:
        """Every arm within `epsilon` of the k-th best of its bandit."""
        return ExploreEach(self.arms_per_bandit, self.k, epsilon=self.epsilon)


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapEc(UGapERule, BestK):
    """UGapEc (Gabillon et al. 2012): the arms of least gap index; the less sampled of two critical arms.

    With probability at least ``1 - delta`` every returned arm has a mean of at least the k-th largest less
    `epsilon`. The paper's b is ``2 sigma``; its c is 1/2, and ties go to the lower index.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, 0 for the best k exactly.
    sigma : float
        Sub-Gaussian scale of the outcomes; half the length of their support will do.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import UGapEc, identify
    >>> from instances import BernoulliArms
    >>> identify(UGapEc(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification: A Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, Figures 1 and 2.
    """

    epsilon: float = 0.0
    sigma: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_epsilon(self.epsilon)

    @property
    def arms_per_bandit(self) -> Sequence[int]:  # type: ignore[override]
        """One bandit."""
        return (self.n_arms,)


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapEcV(UGapERule, BestK):
    """UGapEc with empirical-Bernstein radii, for arms of small variance: every arm twice at first.

    The radius is ``sqrt(2 V l / T) + 7 b l / (3 (T - 1))``, V the unbiased variance. The paper leaves the
    constants to its technical report; these are ours. Maurer and Pontil's inequality with ``l = ln(7 N t^3 /
    delta)`` fails for some arm, time and side with probability at most `delta`.

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

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import UGapEcV, identify
    >>> from instances import BernoulliArms
    >>> identify(UGapEcV(3, k=1, delta=0.1), BernoulliArms([0.9, 0.01, 0.01]), rng=0).arms
    [array([0])]

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification: A Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, section 5. A. Maurer, M. Pontil: Empirical Bernstein Bounds and
    Sample-Variance Penalization, COLT 2009, Theorem 4.
    """

    epsilon: float = 0.0
    support: tuple[float, float] = (0.0, 1.0)

    # The unbiased variance divides by T - 1.
    initial_pulls = 2
    _by_variance = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_epsilon(self.epsilon)
        check_support(self.support)

    @property
    def arms_per_bandit(self) -> Sequence[int]:  # type: ignore[override]
        """One bandit."""
        return (self.n_arms,)
