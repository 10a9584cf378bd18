"""UGapE with a fixed budget, for one bandit or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from cmab.arrays import IntArray
from cmab.compiled.forms import Rule
from cmab.exploration.gap_based import FixedBudgetRule
from cmab.exploration.parameters import check_epsilon, check_factor, length
from cmab.goals import bandit_sizes
from cmab.statistics import ArmStatistics
from cmab.validation import integer


class _UGapEb(FixedBudgetRule):
    """The rule of UGapEb, for one bandit or several."""

    a: float | None
    epsilon: float
    support: tuple[float, float]
    c: float

    def _check_parameters(self) -> None:
        self._check(self.a)
        integer("k", self.k, 1, min(self.arms_per_bandit) - 1)
        check_epsilon(self.epsilon)
        check_factor("c", self.c)

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


@dataclass(frozen=True, eq=False)
class MultiBanditUGapEb(_UGapEb):
    """UGapEb for several bandits at once (Gabillon et al. 2012): the k best arms of each, fixed budget.

    The bandit whose present answer is the least sure is sampled. It certifies nothing.

    Parameters
    ----------
    arms_per_bandit : sequence of int
        Number of arms of each bandit, at least 2; the arms are numbered one bandit after the other.
    k : int
        How many arms of each bandit to return, fewer than it has.
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

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import MultiBanditUGapEb
    >>> MultiBanditUGapEb(arms_per_bandit=(3, 4), k=1, budget=100).n_arms
    7

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification, a Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012.
    """

    arms_per_bandit: Sequence[int]
    k: int
    _: KW_ONLY
    epsilon: float = 0.0
    support: tuple[float, float] = (0.0, 1.0)
    budget: int
    a: float | None = None
    c: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms_per_bandit", tuple(bandit_sizes(self.arms_per_bandit)))
        self._check_parameters()

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of arms of all bandits."""
        return sum(self.arms_per_bandit)


@dataclass(frozen=True, eq=False)
class UGapEb(_UGapEb):
    """UGapEb (Gabillon et al. 2012): the k best arms with a fixed budget.

    Samples the less known of the two arms that make the present answer doubtful; returns the answer whose
    bound on the regret was the smallest of all steps. It certifies nothing.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k, epsilon, support, budget, a, c
        As for `MultiBanditUGapEb`.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import UGapEb
    >>> UGapEb(20, k=3, budget=2000).n_arms
    20

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification, a Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, Figures 1 and 2.
    """

    n_arms: int
    k: int
    _: KW_ONLY
    epsilon: float = 0.0
    support: tuple[float, float] = (0.0, 1.0)
    budget: int
    a: float | None = None
    c: float = 1.0

    def __post_init__(self) -> None:
        self._check_parameters()

    @property
    def arms_per_bandit(self) -> Sequence[int]:  # type: ignore[override]
        """One bandit."""
        return (self.n_arms,)
