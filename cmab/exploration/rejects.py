"""Explorers with a fixed budget that accept or reject one arm in each phase."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.exploration.families import check_constrains, check_exact, possible
from cmab.exploration.parameters import N_ARMS, K, budget
from cmab.exploration.phases import BudgetExplorer, Phases, finish, undecided_means
from cmab.goals import BestSuperArm, Goal, best_k
from cmab.oracle import LinearOracle
from cmab.theory.hardness import best_k_gaps

_BUDGET = budget(lambda explorer: explorer.n_arms + 1)


class _OneAPhase(BudgetExplorer):
    """Base class: each phase decides the arm with the largest gap; `log_sum` sets the number of samples."""

    @property
    @abstractmethod
    def log_sum(self) -> float:
        """The sum in the schedule, about a logarithm, with which the total meets the budget."""

    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples that each undecided arm needs to reach the total of the phase."""
        left = self.n_arms - state.phase
        # The total is n_k = ceil((n - N) / (logbar (N + 1 - k))); here phases are counted from 0.
        return math.ceil((self.budget - self.n_arms) / (self.log_sum * left)) - state.target

    def _begin(self, state: Phases) -> None:
        # If the schedule repeats a total, the phase takes no samples. That must not end the run.
        state.target += max(0, self.pulls_per_arm(state))

    def decide(self, state: Phases) -> None:
        """Accept or reject the arm with the largest gap; ties go to the lower index."""
        best, gaps = self.best_and_gaps(state)
        gaps = np.where(state.undecided, gaps, -np.inf)
        arm = int(np.argmax(gaps))
        state.undecided[arm] = False
        state.accepted[arm] = arm in best

    @abstractmethod
    def best_and_gaps(self, state: Phases) -> tuple[IntArray, FloatArray]:
        """Return the best arms by present means, given the decisions so far, and the gaps of all arms."""


class _BestK(_OneAPhase):
    """Base class of the rules for the k best arms."""

    @property
    def log_sum(self) -> float:
        """``1/2 + 1/2 + 1/3 + ... + 1/n_arms``."""
        return 0.5 + sum(1.0 / i for i in range(2, self.n_arms + 1))

    def best_and_gaps(self, state: Phases) -> tuple[IntArray, FloatArray]:
        """Return the undecided arms among the k best by present means, and the gaps of undecided arms."""
        arms, means = undecided_means(state)
        wanted = self.k - int(state.accepted.sum())
        gaps = np.full(self.n_arms, -np.inf)
        gaps[arms] = best_k_gaps(means, wanted)
        return arms[best_k(means, wanted)], gaps


@dataclass(frozen=True, eq=False)
class SAR(_BestK):
    """Successive Accepts and Rejects (Bubeck et al. 2013): the k best arms with a fixed budget.

    Use this explorer for the k best arms if the number of samples is fixed and no parameter is known.

    No answer is certified. For a known instance, `cmab.theory.hardness.rejects_error` bounds the probability
    of error.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``.
    budget : int
        Maximum number of samples, greater than `n_arms`.
        Samples of open tickets are not counted.

    Examples
    --------
    >>> from cmab import SAR, Session
    >>> Session(SAR(n_arms=20, k=3, budget=2000), rng=0).ask().pulls
    32

    References
    ----------
    S. Bubeck, T. Wang, N. Viswanathan: Multiple Identifications in Multi-Armed Bandits, ICML 2013.
    """

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    budget: int = field(metadata=_BUDGET)

    def decide(self, state: Phases) -> None:
        """Decide one arm; if one undecided arm is left, decide it without more samples."""
        super().decide(state)
        if state.phase == self.n_arms - 2:
            finish(state, self.k)


@dataclass(frozen=True, eq=False)
class SuccessiveRejects(_BestK):
    """Successive Rejects (Audibert et al. 2010): the best arm with a fixed budget.

    Use this explorer to compare with its paper.

    Each phase drops the worst arm. No answer is certified.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    budget : int
        Maximum number of samples, greater than `n_arms`.
        Samples of open tickets are not counted.

    Examples
    --------
    >>> from cmab import Session
    >>> from cmab.exploration.rejects import SuccessiveRejects
    >>> Session(SuccessiveRejects(n_arms=20, budget=2000), rng=0).ask().pulls
    32

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010.
    """

    n_arms: int = field(metadata=N_ARMS)
    _: KW_ONLY
    budget: int = field(metadata=_BUDGET)
    k = 1

    def decide(self, state: Phases) -> None:
        """Drop the arm with the least mean (ties: the higher index); accept the last arm that is left."""
        arms, means = undecided_means(state)
        state.undecided[arms[len(arms) - 1 - int(np.argmin(means[::-1]))]] = False
        if state.undecided.sum() == 1:
            finish(state, 1)


@dataclass(frozen=True, eq=False)
class CSAR(_OneAPhase):
    """Combinatorial Successive Accepts and Rejects (Chen et al. 2014): the best super arm, fixed budget.

    Use this explorer for the best super arm if the number of samples is fixed.

    In each phase, the oracle finds the best super arm. For each undecided arm, it also finds the best super
    arm with the opposite decision: without the arm if the best super arm contains it, and with the arm
    otherwise. The gap of the arm is the loss of value. The phase decides the arm with the largest gap: it
    accepts the arm if the best super arm contains it, and rejects the arm otherwise. No answer is certified.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle with a `solve_constrained` that accepts any arms that must be contained. A shortest
        path in a graph with a cycle does not qualify.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, or the budget is too small.
    TypeError
        If the oracle cannot find a super arm that must contain given arms.

    Examples
    --------
    >>> from cmab import CSAR, Session
    >>> from oracles import TopK
    >>> Session(CSAR(TopK(20, k=3), budget=2000), rng=0).ask().pulls
    28

    References
    ----------
    S. Chen, T. Lin, I. King, M. R. Lyu, W. Chen: Combinatorial Pure Exploration of Multi-Armed Bandits,
    NIPS 2014 (from memory).
    """

    oracle: LinearOracle
    _: KW_ONLY
    budget: int = field(metadata=_BUDGET)

    @property
    def goal(self) -> Goal:
        return BestSuperArm(self.oracle)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_exact(self.oracle)
        check_constrains(self.oracle)

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of base arms."""
        return self.oracle.n_arms

    @property
    def log_sum(self) -> float:
        """``1 + 1/2 + ... + 1/n_arms``."""
        return sum(1.0 / i for i in range(1, self.n_arms + 1))

    def best_and_gaps(self, state: Phases) -> tuple[IntArray, FloatArray]:
        """Return the best super arm given the decisions so far, and the gaps by the oracle."""
        rejected = np.flatnonzero(~state.undecided & ~state.accepted)
        rng = np.random.default_rng(0)  # exact oracles need no randomness; updates must not depend on it
        means = possible(self.oracle, state.stats.means)
        return self.oracle.gaps(means, np.flatnonzero(state.accepted), rejected, rng)

    def recommend(self, state: Phases) -> IntArray:
        """Return the best super arm by present means among those that agree with the decisions."""
        accepted, rejected = (
            np.flatnonzero(state.accepted),
            np.flatnonzero(~state.undecided & ~state.accepted),
        )
        means = possible(self.oracle, state.stats.means)
        best = self.oracle.solve_constrained(means, accepted, rejected, np.random.default_rng(0))
        assert best is not None  # every decision agrees with a super arm that exists
        return np.sort(best)
