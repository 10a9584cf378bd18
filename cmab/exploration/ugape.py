"""UGapE: unified gap-based exploration with fixed confidence or budget, for one bandit or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import Rule
from cmab.confidence.radii import anytime_radii, around, bernstein_radii
from cmab.exploration.gap_based import BUDGET, FixedBudgetRule
from cmab.exploration.parameters import (
    EPSILON,
    N_ARMS,
    POSITIVE,
    POSITIVE_OR_NONE,
    SUPPORT,
    K,
    length,
)
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.explorer import Explorer
from cmab.goals import ExploreEach, Goal, bandit_sizes, best_of_each
from cmab.renamed import Former, warn
from cmab.statistics import ArmStatistics


class SeveralBandits(Explorer[ArmStatistics]):
    """Base of explorers whose `n_arms` may be the numbers of arms of several bandits.

    These are kept as `bandits`, and `n_arms` is their sum.
    """

    bandits: Sequence[int] | None

    def __post_init__(self) -> None:
        given: Any = self.n_arms
        sizes: Any = self.bandits
        if sizes is None and isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes):
            sizes = given
        if sizes is not None:
            object.__setattr__(
                self, "bandits", tuple(bandit_sizes(sizes, "n_arms" if sizes is given else "bandits"))
            )
            object.__setattr__(self, "n_arms", sum(self.arms_per_bandit))
            if sizes is not given and given != self.n_arms:
                raise ValueError(f"n_arms must be the sum of bandits, {self.n_arms}, got {given!r}")
        super().__post_init__()

    @property
    def arms_per_bandit(self) -> Sequence[int]:
        """The number of arms of each bandit."""
        return (self.n_arms,) if self.bandits is None else self.bandits


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapERule(SeveralBandits, RuledExplorer, BestK):
    """Base of the rules with fixed confidence: the arms of least gap index."""

    n_arms: int | Sequence[int] = field(metadata=N_ARMS, kw_only=False)  # type: ignore[assignment]
    epsilon: float = field(default=0.0, metadata=EPSILON)
    bandits: Sequence[int] | None = None
    _by_variance = False

    @property
    def goal(self) -> Goal:
        """Every arm within `epsilon` of the k-th best of its bandit."""
        if self.bandits is None:
            return super().goal
        return ExploreEach(self.bandits, self.k, epsilon=self.epsilon)

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


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapEc(UGapERule):
    """UGapEc (Gabillon et al. 2012): the arms of least gap index; the less sampled of two critical arms.

    With probability at least ``1 - delta`` every returned arm has a mean of at least the k-th largest less
    `epsilon`. The paper's b is ``2 sigma``; its c is 1/2, and ties go to the lower index.

    Of several bandits, the one whose present answer is the least sure is sampled, until all are sure enough.
    The radii of all arms of all bandits hold at once, so nothing else changes in the proof.

    Parameters
    ----------
    n_arms : int or sequence of int
        Number of arms; or of several bandits the number of arms of each, at least 2. The arms are numbered
        one bandit after the other.
    k : int
        How many arms to return, of each bandit, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance, 0 for the best k exactly.
    sigma : float
        Sub-Gaussian scale of the outcomes; half the length of their support will do.
    bandits : sequence of int, optional
        The number of arms of each bandit, as it is kept if `n_arms` is a sequence.

    Examples
    --------
    >>> from cmab import UGapEc, identify
    >>> from instances import BernoulliArms
    >>> identify(UGapEc(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]
    >>> explorer = UGapEc((2, 3), k=1, delta=0.1)
    >>> identify(explorer, BernoulliArms([0.9, 0.1, 0.2, 0.1, 0.8]), rng=0).arms
    [array([0, 4])]

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification: A Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, Figures 1 and 2. The paper leaves several bandits to its technical
    report; the rule here is its counterpart of `UGapEb`.
    """

    sigma: float = field(default=0.5, metadata=POSITIVE)


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapEcV(UGapERule):
    """UGapEc with empirical-Bernstein radii, for arms of small variance: every arm twice at first.

    The radius is ``sqrt(2 V l / T) + 7 b l / (3 (T - 1))``, V the unbiased variance. The paper leaves the
    constants to its technical report; these are ours. Maurer and Pontil's inequality with ``l = ln(7 N t^3 /
    delta)`` fails for some arm, time and side with probability at most `delta`.

    Parameters
    ----------
    n_arms, k, delta, epsilon, bandits
        As for `UGapEc`.
    support : tuple of float
        Interval of the outcomes.

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

    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)

    # The unbiased variance divides by T - 1.
    initial_pulls = 2
    _by_variance = True


@dataclass(frozen=True, eq=False)
class UGapEb(SeveralBandits, FixedBudgetRule):  # type: ignore[override]
    """UGapEb (Gabillon et al. 2012): the k best arms, of one bandit or of several, with a fixed budget.

    Samples the less known of the two arms that make the present answer doubtful, in the bandit whose answer
    is the least sure; returns the answer whose bound on the regret was the smallest of all steps. It
    certifies nothing.

    Parameters
    ----------
    n_arms, k, bandits
        As for `UGapEc`.
    epsilon : float
        Tolerance, at least 0, of `goal`; the rule itself uses it only where `a` is left out.
    support : tuple of float
        Interval of the outcomes, of length b.
    budget : int
        Samples that may be taken, more than there are arms.
    a : float, optional
        Exploration parameter; ``(budget - n_arms) / (4 H)`` is the paper's, with H of
        `cmab.theory.hardness.ugape_hardness`. Left out, H is estimated at each step from the empirical gaps
        plus ``b sqrt(1 / 2T)``, our choice, for which nothing is proven.
    c : float
        Factor of the estimated `a`, used only where `a` is left out; 1 is the constant of the proof, which
        explores too little on most instances (4 is about ``budget / H``).

    Examples
    --------
    >>> from cmab import UGapEb
    >>> UGapEb(20, k=3, budget=2000).n_arms, UGapEb((3, 4), k=1, budget=100).n_arms
    (20, 7)

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification, a Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, Figures 1 and 2.
    """

    n_arms: int | Sequence[int] = field(metadata=N_ARMS)  # type: ignore[assignment]
    k: int = field(metadata=K)
    _: KW_ONLY
    epsilon: float = field(default=0.0, metadata=EPSILON)
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    budget: int = field(metadata=BUDGET)
    a: float | None = field(default=None, metadata=POSITIVE_OR_NONE)
    c: float = field(default=1.0, metadata=POSITIVE)
    bandits: Sequence[int] | None = None

    def rule(self) -> Rule:
        """Return the compiled rule: a scan of all arms."""
        from cmab.exploration._kernels_budget import ugapeb_rule

        parameters = self.a, self.epsilon, length(self.support), self.c
        return ugapeb_rule(self.budget, self.k, self.arms_per_bandit, *parameters)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the surest answers so far; before every arm was seen, the best means."""
        if len(self.unseen(state)):
            return super().recommend(state)
        # `memory`: of each bandit the least bound so far, then for each arm whether it
        # is in the answer of that step.
        return np.flatnonzero(state.memory[len(self.arms_per_bandit) :])


class MultiBanditUGapEc(UGapEc, metaclass=Former):
    """The former name of `UGapEc` for several bandits."""

    def __init__(self, arms_per_bandit: Sequence[int], k: int, **parameters: Any) -> None:
        warn("MultiBanditUGapEc", "UGapEc, whose n_arms may be the numbers of arms of several bandits")
        super().__init__(arms_per_bandit, k, **parameters)
        MultiBanditUGapEc.become_present(self)

    def stands_for(self: UGapEc) -> bool:
        """Return whether there are several bandits."""
        return self.bandits is not None


class MultiBanditUGapEb(UGapEb, metaclass=Former):
    """The former name of `UGapEb` for several bandits."""

    def __init__(self, arms_per_bandit: Sequence[int], k: int, **parameters: Any) -> None:
        warn("MultiBanditUGapEb", "UGapEb, whose n_arms may be the numbers of arms of several bandits")
        super().__init__(arms_per_bandit, k, **parameters)
        MultiBanditUGapEb.become_present(self)

    def stands_for(self: UGapEb) -> bool:
        """Return whether there are several bandits."""
        return self.bandits is not None
