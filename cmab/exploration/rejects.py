"""Fixed budget by successive rejects and accepts: one arm is decided a phase."""

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
    """Phases in which the arm with the largest gap is decided; `log_sum` sets how pulls grow."""

    @property
    @abstractmethod
    def log_sum(self) -> float:
        """The paper's logarithm-like sum, which makes the schedule meet the budget."""

    def pulls_per_arm(self, state: Phases) -> int:
        """Return what the undecided arms lack to the phase's total."""
        left = self.n_arms - state.phase
        # n_k = ceil((n - N) / (logbar (N + 1 - k))) outcomes in all, phases being counted from 0 here.
        return math.ceil((self.budget - self.n_arms) / (self.log_sum * left)) - state.target

    def _begin(self, state: Phases) -> None:
        # Where the schedule repeats a total the phase costs nothing, which must not end the run.
        state.target += max(0, self.pulls_per_arm(state))

    def decide(self, state: Phases) -> None:
        """Accept or reject the arm whose gap is the largest; ties go to the lower index."""
        best, gaps = self.best_and_gaps(state)
        gaps = np.where(state.undecided, gaps, -np.inf)
        arm = int(np.argmax(gaps))
        state.undecided[arm] = False
        state.accepted[arm] = arm in best

    @abstractmethod
    def best_and_gaps(self, state: Phases) -> tuple[IntArray, FloatArray]:
        """Return the best arms by present means, given what was decided, and the gaps of all arms."""


class _BestK(_OneAPhase):
    """Accepts and rejects for the k best arms."""

    @property
    def log_sum(self) -> float:
        """``1/2 + 1/2 + 1/3 + ... + 1/n_arms``."""
        return 0.5 + sum(1.0 / i for i in range(2, self.n_arms + 1))

    def best_and_gaps(self, state: Phases) -> tuple[IntArray, FloatArray]:
        """Return the best undecided arms that are still wanted, and the gaps of the undecided arms."""
        arms, means = undecided_means(state)
        wanted = self.k - int(state.accepted.sum())
        gaps = np.full(self.n_arms, -np.inf)
        gaps[arms] = best_k_gaps(means, wanted)
        return arms[best_k(means, wanted)], gaps


@dataclass(frozen=True, eq=False)
class SAR(_BestK):
    """Successive Accepts and Rejects (Bubeck et al. 2013): the k best arms with a fixed budget.

    It certifies nothing; `cmab.theory.hardness.rejects_error` bounds its probability of error on a known
    instance.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    k : int
        How many to return, in ``[1, n_arms - 1]``.
    budget : int
        Samples that may be taken, more than `n_arms`.

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
        """Decide one arm; after the last phase but one the last arm is decided without more samples."""
        super().decide(state)
        if state.phase == self.n_arms - 2:
            finish(state, self.k)


@dataclass(frozen=True, eq=False)
class SuccessiveRejects(_BestK):
    """Successive Rejects (Audibert et al. 2010): the worst arm is dropped each phase; best arm, fixed budget.

    It certifies nothing.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    budget : int
        Samples that may be taken, more than `n_arms`.

    Examples
    --------
    >>> from cmab import Session, SuccessiveRejects
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
        """Drop the worst mean, the higher index first; accept the arm that is left."""
        arms, means = undecided_means(state)
        state.undecided[arms[len(arms) - 1 - int(np.argmin(means[::-1]))]] = False
        if state.undecided.sum() == 1:
            finish(state, 1)


@dataclass(frozen=True, eq=False)
class CSAR(_OneAPhase):
    """Combinatorial Successive Accepts and Rejects (Chen et al. 2014): any linear family, fixed budget.

    Each phase asks the oracle for the best super arm with each undecided arm on its other side, and decides
    the arm that matters most. It certifies nothing.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle that defines `solve_constrained`, for any arms forced in: not a shortest path in a
        graph with a cycle.
    budget : int
        Samples that may be taken, more than the number of arms.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, or the budget is too small.
    TypeError
        If the oracle cannot force arms in.

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
        """Return the best super arm given what was decided, and the oracle's gaps."""
        rejected = np.flatnonzero(~state.undecided & ~state.accepted)
        rng = np.random.default_rng(0)  # exact oracles need none, and updates must not depend on one
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
        assert best is not None  # an arm is accepted from, and rejected outside, a super arm that exists
        return np.sort(best)
