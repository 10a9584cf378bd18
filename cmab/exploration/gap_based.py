"""GapE and UCB-E: explorers with a fixed budget that take one sample at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

from cmab.arrays import IntArray
from cmab.compiled import Rule
from cmab.declared import checked
from cmab.exploration.parameters import N_ARMS, POSITIVE, POSITIVE_OR_NONE, SUPPORT, budget, length
from cmab.exploration.ruled import RuledExplorer
from cmab.goals import ExploreEach, Goal, bandit_sizes, best_of_each
from cmab.statistics import ArmStatistics

#: A number of samples that is greater than the number of arms.
BUDGET = budget(lambda explorer: sum(bandit_sizes(explorer.arms_per_bandit)) + 1)


class FixedBudgetRule(RuledExplorer):
    """Base class of rules with a fixed budget, for one bandit or several.

    A subclass sets `budget`, `arms_per_bandit` and `k`, and defines `rule`. The arms are numbered one bandit
    after the other.
    """

    budget: int
    arms_per_bandit: Sequence[int]
    k: int
    is_proven = False
    is_bounded = True

    @property
    def goal(self) -> Goal:
        """The goal: the k best arms of each bandit, up to `epsilon` if the rule has a tolerance."""
        return ExploreEach(self.arms_per_bandit, self.k, epsilon=self.epsilon)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arms with the k largest means of each bandit."""
        return best_of_each(state.means, self.arms_per_bandit, k=self.k)


@dataclass(frozen=True, eq=False)
class GapE(FixedBudgetRule):
    """GapE (Gabillon et al. 2011): the best arm of each of several bandits, with a fixed budget.

    Use this explorer to compare with its paper.

    The explorer samples the arm with the largest ``-gap + b sqrt(a / T)``, where T is the number of its
    samples. Its gap is the distance of its mean from the best mean of its bandit, or for the best arm from
    the second best mean. No answer is certified.

    Parameters
    ----------
    arms_per_bandit : sequence of int
        Number of arms of each bandit, at least 2.
    support : tuple of float
        Interval that contains the outcomes. Its length is b.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    a : float
        Exploration parameter, positive.

    Examples
    --------
    >>> from cmab.exploration.gap_based import GapE
    >>> GapE(arms_per_bandit=(3, 4), budget=100, a=2.0).n_arms
    7

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric, S. Bubeck: Multi-Bandit Best Arm Identification, NIPS 2011.
    """

    arms_per_bandit: Sequence[int] = field(metadata=checked(lambda _, sizes: tuple(bandit_sizes(sizes))))
    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    budget: int = field(metadata=BUDGET)
    a: float = field(metadata=POSITIVE)

    k = 1

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of arms of all bandits."""
        return sum(self.arms_per_bandit)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms."""
        from cmab.exploration._kernels_budget import gape_rule

        return gape_rule(self.budget, self.arms_per_bandit, self.a, length(self.support))


@dataclass(frozen=True, eq=False)
class UCBE(FixedBudgetRule):
    """UCB-E (Audibert et al. 2010): the best arm, with a fixed budget.

    Use this explorer if the number of samples is fixed and the hardness of the problem is known or can be
    estimated. Without such knowledge, use `ContinuousRejects`.

    The explorer samples the arm with the largest ``mean + sqrt(a / T)``, where T is the number of its
    samples, and returns the arm with the largest mean. No answer is certified. The analysis assumes outcomes
    in [0, 1]. For other outcomes, which the explorer accepts as well, multiply `a` by the square of the
    length of their range.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    a : float, optional
        Exploration parameter, positive. The analysis allows values up to ``25 (budget - n_arms) / (36 H)``.
        If it is omitted, the adaptive version estimates the complexity H2 in the phases of Successive
        Rejects.
    c : float
        Factor of the adaptive version, which uses ``a = c budget / H2``.

    Examples
    --------
    >>> from cmab import UCBE
    >>> UCBE(20, budget=2000, a=10.0).arms_per_bandit
    (20,)

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010.
    """

    n_arms: int = field(metadata=N_ARMS)
    _: KW_ONLY
    budget: int = field(metadata=BUDGET)
    a: float | None = field(default=None, metadata=POSITIVE_OR_NONE)
    c: float = field(default=1.0, metadata=POSITIVE)

    k = 1

    @property
    def arms_per_bandit(self) -> Sequence[int]:  # type: ignore[override]
        """The number of arms of the one bandit."""
        return (self.n_arms,)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms."""
        from cmab.exploration._kernels_budget import ucbe_rule

        return ucbe_rule(self.n_arms, self.budget, self._phase_ends, self.a, self.c)

    @cached_property
    def _phase_ends(self) -> list[int]:
        """Return the numbers of samples after which Successive Rejects has dropped 1, 2, ... arms."""
        n_arms = self.n_arms
        log_sum = 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))
        # n_k of Successive Rejects, ceil((n - N) / (logbar (N + 1 - k))), which also defines the phases of
        # adaptive UCB-E.
        totals = [math.ceil((self.budget - n_arms) / (log_sum * left)) for left in range(n_arms, 1, -1)]
        return [sum(totals[:phase]) + (n_arms - phase) * totals[phase] for phase in range(n_arms - 1)]
