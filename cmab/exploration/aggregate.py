"""Aggregate regret: the average mean of the returned k arms, against the k best."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from cmab.exploration.parameters import check_delta, check_factor, check_samples
from cmab.exploration.phases import (
    BudgetExplorer,
    PhasedExplorer,
    Phases,
    finish,
    settle,
    undecided_means,
)
from cmab.goals import AggregateTopK, Goal, best_k
from cmab.theory.hardness import best_k_gaps
from cmab.validation import integer, real

_DECAY = math.exp(0.2) * 0.75  # OptMAI's share of the budget falls by this factor a round


def _round_pulls(n_arms: int, delta: float, pulls_factor: float, phase: int) -> int:
    """Return AdaptiveTopK's pulls of each arm in round ``phase + 1``."""
    # 2^-r is the width of round r, and Hoeffding's inequality needs 4^r ln(2 n r^2 / delta)
    # outcomes for it (equation 18).
    r = phase + 1
    return math.ceil(pulls_factor * 4.0**r * math.log(2 * n_arms * r * r / delta))


def _decide_clear_arms(state: Phases, k: int) -> None:
    """Accept and reject every arm whose gap exceeds twice the round's width.

    The paper recomputes the border after each arm. Arms that leave the top take their place with them and
    arms that leave the bottom had none, so the border, and with it every gap, stays: one look decides all.
    """
    arms, means = undecided_means(state)
    wanted = k - int(state.accepted.sum())
    # Algorithm 1, inner loop, rebuilt from the proofs: gaps of more than 2 widths are those of true sides.
    clear = best_k_gaps(means, wanted) > 2.0 * 2.0 ** -(state.phase + 1)
    top = np.zeros(len(arms), np.bool_)
    top[best_k(means, wanted)] = True
    state.accepted[arms[clear & top]] = True
    state.undecided[arms[clear]] = False
    settle(state, k)


@dataclass(frozen=True, eq=False)
class AdaptiveTopK(PhasedExplorer):
    """AdaptiveTopK: k arms whose average mean is within `epsilon` of the best, with probability 1 - delta.

    For independent outcomes in [0, 1]. Means are cumulative over rounds. The guarantee needs
    ``pulls_factor = 1``.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    k : int
        How many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    epsilon : float
        Tolerance of the average, in (0, 1).
    pulls_factor : float
        Factor of the pulls in each round; below 1 the guarantee is lost and nothing certified.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import AdaptiveTopK, Session
    >>> Session(AdaptiveTopK(n_arms=1000, k=100, epsilon=0.01, delta=0.01), rng=0).ask().pulls
    49

    References
    ----------
    J. Chen, X. Chen, Q. Zhang, Y. Zhou: Adaptive Multiple-Arm Identification, ICML 2017, Algorithm 1.
    """

    n_arms: int
    k: int
    _: KW_ONLY
    delta: float
    epsilon: float
    support = (0.0, 1.0)
    pulls_factor: float = 1.0

    @property
    def is_proven(self) -> bool:
        """Whether `pulls_factor` leaves the paper's pulls at least."""
        return self.pulls_factor >= 1.0

    @property
    def goal(self) -> Goal:
        """The average of the arms within `epsilon` of the best."""
        return AggregateTopK(self.k, self.epsilon)

    def __post_init__(self) -> None:
        integer("k", self.k, 1, integer("n_arms", self.n_arms, 2) - 1)
        real("epsilon", self.epsilon, 1e-100, 1.0, inside=True)
        check_delta(self.delta)
        check_factor("pulls_factor", self.pulls_factor)
        # The last round is the first whose width costs epsilon at most; all before take a third of its pulls.
        r = math.ceil(math.log2(2.0 / self.epsilon))
        pulls = self.pulls_factor * math.log(2 * self.n_arms * r * r / self.delta) * 4 / 3 * self.n_arms
        check_samples(2.0 * r + math.log2(max(1.0, pulls)), "epsilon, delta and pulls_factor")

    def pulls_per_arm(self, state: Phases) -> int:
        """Return ``ceil(c 4^r ln(2 n r^2 / delta))``, c a factor; 0 when no place left can cost epsilon."""
        wanted = self.k - int(state.accepted.sum())
        # Equation 13: what is left can cost 2 * 2^-r each, and all together no more than eps K.
        if 2.0 * 2.0**-state.phase * wanted <= self.epsilon * self.k:
            return 0
        return _round_pulls(self.n_arms, self.delta, self.pulls_factor, state.phase)

    def decide(self, state: Phases) -> None:
        """Accept and reject the arms that are clear of the border."""
        _decide_clear_arms(state, self.k)


@dataclass(frozen=True, eq=False)
class AdaptiveTopKBudget(BudgetExplorer):
    """AdaptiveTopK with a fixed budget, as its paper's experiments run it; it certifies nothing.

    With the literal constants (``pulls_factor = 1``) the first round alone takes ``4 ln(2 n / delta)`` pulls
    of each arm: up to that budget it is uniform allocation. The last round is cut to what the budget allows.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    k : int
        How many to return, in ``[1, n_arms - 1]``.
    delta : float
        Parameter of the number of pulls, in (0, 1).
    budget : int
        Samples that may be taken, at least `n_arms`.
    pulls_factor : float
        Factor of the pulls in each round.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import AdaptiveTopKBudget, Session
    >>> Session(AdaptiveTopKBudget(n_arms=1000, k=100, budget=20_000), rng=0).ask().pulls
    20

    References
    ----------
    J. Chen, X. Chen, Q. Zhang, Y. Zhou: Adaptive Multiple-Arm Identification, ICML 2017, section 3.
    """

    n_arms: int
    k: int
    _: KW_ONLY
    delta: float = 0.01
    budget: int
    pulls_factor: float = 1.0

    def __post_init__(self) -> None:
        integer("k", self.k, 1, integer("n_arms", self.n_arms, 2) - 1)
        check_delta(self.delta)
        check_factor("pulls_factor", self.pulls_factor)
        self._check_budget(self.n_arms)

    def pulls_per_arm(self, state: Phases) -> int:
        """Return the round's pulls, or what the budget allows."""
        return self.affordable(state, _round_pulls(self.n_arms, self.delta, self.pulls_factor, state.phase))

    def decide(self, state: Phases) -> None:
        """Accept and reject the arms that are clear of the border, unless the budget cut the round short."""
        if self.affordable(state, 1) < 1:
            finish(state, self.k)
        else:
            _decide_clear_arms(state, self.k)


@dataclass(frozen=True, eq=False)
class OptMAI(BudgetExplorer):
    """OptMAI (Zhou et al. 2014): each round decides a quarter of the arms; fixed budget, certifies nothing.

    While there are 4k arms or more the worst quarter is dropped; afterwards the arms farthest from the border
    are accepted or rejected. Means are cumulative. Every round takes at least one sample of each arm that is
    left. The shares of the rounds fall geometrically and end when k arms are found, so that about a fifth of
    the budget is never spent: compare it at the samples that it took.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    k : int
        How many to return, in ``[1, n_arms - 1]``; the analysis needs ``k <= n_arms / 2``.
    budget : int
        Samples that may be taken, at least `n_arms`.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import OptMAI, Session
    >>> Session(OptMAI(n_arms=1000, k=100, budget=50_000), rng=0).ask().pulls
    4

    References
    ----------
    Y. Zhou, X. Chen, J. Li: Optimal PAC Multiple Arm Identification with Applications to Crowdsourcing,
    ICML 2014 (from memory, and public code).
    """

    n_arms: int
    k: int
    _: KW_ONLY
    budget: int

    def __post_init__(self) -> None:
        integer("k", self.k, 1, integer("n_arms", self.n_arms, 2) - 1)
        self._check_budget(self.n_arms)

    def pulls_per_arm(self, state: Phases) -> int:
        """Return this round's share of the budget for each arm that is left."""
        # Q_r = beta^r (1 - beta) Q sums up to the budget over all rounds.
        share = _DECAY**state.phase * (1.0 - _DECAY) * self.budget
        pulls = int(share // int(state.undecided.sum()))
        return self.affordable(state, max(1, pulls))

    def decide(self, state: Phases) -> None:
        """Drop the worst quarter, or accept and reject the quarter that is farthest from the border."""
        arms, means = undecided_means(state)
        quarter = -(-len(arms) // 4)
        wanted = self.k - int(state.accepted.sum())
        # Far more arms than places: none is accepted, the worst quarter goes.
        if len(arms) >= 4 * self.k:
            state.undecided[arms[np.argsort(-means, kind="stable")[len(arms) - quarter :]]] = False
            return
        farthest = arms[np.argsort(-best_k_gaps(means, wanted), kind="stable")[:quarter]]
        state.accepted[np.intersect1d(farthest, arms[best_k(means, wanted)])] = True
        state.undecided[farthest] = False
        settle(state, self.k)
