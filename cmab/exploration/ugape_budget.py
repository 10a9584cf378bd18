"""UGapE with a fixed budget, for one bandit or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmab._validation import integer, real
from cmab.confidence import scaled_radius
from cmab.exploration.gap_based import Budgeted, OneByOne
from cmab.hardness import best_k_gaps, ugape_hardness


class _UGapEb(OneByOne):
    """The rule of UGapEb, for one bandit or several."""

    k: int
    a: float | None
    epsilon: float
    b: float

    def _check_parameters(self) -> None:
        self._check(self.a, self.b)
        integer("k", self.k, 1, min(self.sizes) - 1)
        real("epsilon", self.epsilon, 0.0)

    def advance(self, state: Budgeted) -> None:
        """Sample the less known arm of the least sure bandit's pair; remember the surest answers."""
        if self.is_done(state):  # the paper's minimum is over t = 1, ..., n, before the last sample
            return
        from cmab._kernels_ugape import least_gaps

        radii = self.b * scaled_radius(state.stats.counts, self._exploration(state))
        worst, first = -np.inf, 0
        for bandit, size in enumerate(self.sizes):
            own, is_chosen = slice(first, first + size), np.empty(size, np.bool_)
            pull, bound = least_gaps(state.stats.means[own], radii[own], self.k, is_chosen)
            if bound < state.bounds[bandit]:
                state.bounds[bandit] = bound
                state.chosen[own] = is_chosen
            if bound > worst:
                worst, state.asked = bound, np.array([first + pull])
            first += size

    def _exploration(self, state: Budgeted) -> float:
        if self.a is not None:
            return self.a
        means, counts = state.stats.means, state.stats.counts
        gaps = np.concatenate([best_k_gaps(means[arms], self.k) for arms in self.bandits()])
        wide = gaps + self.b * np.sqrt(0.5 / counts)
        return (self.budget - self.n_arms) / (4.0 * ugape_hardness(wide, self.epsilon, self.b))


@dataclass(frozen=True, eq=False)
class MultiBanditUGapEb(_UGapEb):
    """UGapEb for several bandits at once (Gabillon et al. 2012): the k best arms of each, fixed budget.

    The bandit whose present answer is the least sure is sampled. It certifies nothing.

    Parameters
    ----------
    sizes : sequence of int
        Number of arms of each bandit, at least 2; the arms are numbered one bandit after the other.
    k : int
        How many arms of each bandit to return, fewer than it has.
    budget : int
        Samples that may be taken, more than there are arms.
    a : float, optional
        Exploration parameter; ``(budget - n_arms) / (4 H)`` is the paper's, with H of
        `cmab.hardness.ugape_hardness`. Left out, H is estimated at each step from the empirical gaps plus
        ``b sqrt(1 / 2T)``, our choice, for which nothing is proven.
    epsilon : float
        Tolerance, at least 0; used only where `a` is left out.
    b : float
        Length of the outcomes' support.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import MultiBanditUGapEb
    >>> MultiBanditUGapEb(sizes=(3, 4), k=1, budget=100).n_arms
    7

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification, a Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012.
    """

    sizes: Sequence[int]
    k: int
    budget: int
    a: float | None = None
    epsilon: float = 0.0
    b: float = 1.0

    def __post_init__(self) -> None:
        self._check_parameters()

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of arms of all bandits."""
        return sum(self.sizes)


@dataclass(frozen=True, eq=False)
class UGapEb(_UGapEb):
    """UGapEb (Gabillon et al. 2012): the k best arms with a fixed budget.

    Samples the less known of the two arms that make the present answer doubtful; returns the answer whose
    bound on the regret was the smallest of all steps. It certifies nothing.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k, budget, a, epsilon, b
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
    budget: int
    a: float | None = None
    epsilon: float = 0.0
    b: float = 1.0

    def __post_init__(self) -> None:
        self._check_parameters()

    @property
    def sizes(self) -> Sequence[int]:  # type: ignore[override]
        """One bandit."""
        return (self.n_arms,)
