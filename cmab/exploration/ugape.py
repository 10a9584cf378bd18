"""UGapE: unified gap-based exploration with fixed confidence or budget, for one bandit or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import Rule
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
from cmab.statistics import ArmStatistics


class SeveralBandits(Explorer[ArmStatistics]):
    """Base class of explorers with an argument `n_arms` that may be a sequence, the sizes of several bandits.

    The constructor stores the sequence as `bandits` and its sum as `n_arms`.
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
                raise ValueError(f"n_arms must be {self.n_arms}, the sum of bandits, got {given!r}")
        super().__post_init__()

    @property
    def arms_per_bandit(self) -> Sequence[int]:
        """The number of arms of each bandit."""
        return (self.n_arms,) if self.bandits is None else self.bandits


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapERule(SeveralBandits, RuledExplorer, BestK):
    """Base class of the rules with fixed confidence, which return the arms with the least gap indices."""

    n_arms: int | Sequence[int] = field(metadata=N_ARMS, kw_only=False)  # type: ignore[assignment]
    epsilon: float = field(default=0.0, metadata=EPSILON)
    bandits: Sequence[int] | None = None
    _by_variance = False

    @property
    def goal(self) -> Goal:
        """The goal that every returned arm is within `epsilon` of the k-th best of its bandit."""
        if self.bandits is None:
            return super().goal
        return ExploreEach(self.bandits, self.k, epsilon=self.epsilon)

    @property
    def _length(self) -> float:
        """The length b of the support, or ``2 sigma``."""
        # Outcomes in an interval of length b are b / 2 sub-Gaussian (Hoeffding), so sigma replaces b / 2.
        return 2.0 * (self.sigma or 0.0) if self.support is None else length(self.support)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms because every radius changes with time."""
        from cmab.exploration._kernels_ugape import ugape_rule

        levels = self.delta, self._length, self.epsilon
        return ugape_rule(self.k, self._by_variance, self.arms_per_bandit, *levels)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii at the present number of samples."""
        samples = int(state.counts.sum())
        if self._by_variance and self.support is not None:
            radii = bernstein_radii(state, samples, delta=self.delta, support=self.support)
        else:
            radii = anytime_radii(state.counts, samples, delta=self.delta, sigma=self._length / 2.0)
        return around(state.means, radii)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arms with the least gap indices, or the best means if an arm has too few outcomes."""
        from cmab.exploration._kernels_ugape import present_answer

        # The index needs a finite radius for every arm.
        if len(self.unseen(state)):
            return best_of_each(state.means, self.arms_per_bandit, k=self.k)
        is_chosen = np.empty(self.n_arms, np.bool_)
        present_answer(self.seen(state), *self.parameters, is_chosen)
        return np.flatnonzero(is_chosen)


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapEc(UGapERule):
    """UGapEc (Gabillon et al. 2012): the k best arms of one bandit or of several, with fixed confidence.

    Use this explorer if several bandits share one error probability. For one bandit, `BestKGLR` and
    `LUCBPlusPlus` need fewer samples.

    The gap index of an arm is the k-th largest upper bound of the other arms minus the lower bound of the
    arm. The answer is the set of the k arms with the least gap indices. The critical arms are the arm in the
    answer with the least lower bound and the other arm with the largest upper bound. The explorer samples the
    less sampled of the two.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    of its bandit minus `epsilon`. The paper's b is ``2 sigma``, its c is 1/2, and ties go to the lower index.

    With several bandits, the explorer samples the bandit with the least certain answer, until all answers
    are certain enough. The radii of all arms of all bandits hold at once, so the proof is otherwise the same.

    Parameters
    ----------
    n_arms : int or sequence of int
        Number of arms, at least 2. For several bandits, the number of arms of each bandit; the arms are
        numbered one bandit after the other.
    k : int
        Number of arms to return from each bandit, at least 1 and less than the size of every bandit.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance. With 0, the default, the answer must be the k best arms.
    sigma : float
        Sub-Gaussian scale of the outcomes. Half the length of their support is always valid.
    bandits : sequence of int, optional
        The number of arms of each bandit. If `n_arms` is a sequence, the constructor sets this field.

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
    report. The rule for several bandits here is the analogue of `UGapEb`.
    """

    sigma: float = field(default=0.5, metadata=POSITIVE)


@dataclass(frozen=True, eq=False, kw_only=True)
class UGapEcV(UGapERule):
    """UGapEc with empirical-Bernstein radii, for arms with small variances.

    Use this explorer to compare with its paper.

    The explorer first samples every arm twice. The radius is ``sqrt(2 V l / T) + 7 b l / (3 (T - 1))`` with
    ``l = ln(7 N t^3 / delta)`` and the unbiased variance V. The probability that Maurer and Pontil's
    inequality fails for any arm, time and side is then at most `delta`. The paper leaves the constants to its
    technical report; these constants are ours.

    Parameters
    ----------
    n_arms, k, delta, epsilon, bandits
        As for `UGapEc`.
    support : tuple of float
        Interval that contains the outcomes.

    Examples
    --------
    >>> from cmab import identify
    >>> from cmab.exploration.ugape import UGapEcV
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
    """UGapEb (Gabillon et al. 2012): the k best arms of one bandit or of several, with a fixed budget.

    Use this explorer for several bandits that share a number of samples, or if the hardness is known.
    Otherwise, use `SAR`.

    The explorer selects the bandit with the least certain answer, and samples the critical arm with the
    larger radius (see `UGapEc`). For each bandit, it returns the answer of the step with the smallest bound
    on the regret. No answer is certified.

    Parameters
    ----------
    n_arms, k, bandits
        As for `UGapEc`.
    epsilon : float
        Tolerance of `goal`, at least 0. The rule itself uses it only if `a` is omitted.
    support : tuple of float
        Interval that contains the outcomes. Its length is b.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    a : float, optional
        Exploration parameter, positive. The paper uses ``(budget - n_arms) / (4 H)`` with H of
        `cmab.theory.hardness.ugape_hardness`. If `a` is omitted, each step estimates H from the empirical
        gaps plus ``b sqrt(1 / 2T)``. This estimate is our choice, and nothing is proven for it.
    c : float
        Factor of the estimated `a`, used only if `a` is omitted. The default, 1, is the constant of the
        proof. It explores too little on most instances; with 4, `a` is about ``budget / H``.

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
        """Return the compiled rule, which scans all arms."""
        from cmab.exploration._kernels_budget import ugapeb_rule

        parameters = self.a, self.epsilon, length(self.support), self.c
        return ugapeb_rule(self.budget, self.k, self.arms_per_bandit, *parameters)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the answer with the least bound for each bandit, or the best means if an arm is unseen."""
        if len(self.unseen(state)):
            return super().recommend(state)
        # `memory` holds the least bound so far of each bandit, then for each arm 1 if the arm is in the
        # answer of that step.
        return np.flatnonzero(state.memory[len(self.arms_per_bandit) :])
