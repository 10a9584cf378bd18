"""Rules with a fixed budget: one decision in each phase (SAR, Successive Rejects, CSAR), and UCB-E."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.samples import best_k_gaps
from cmab.compiled import SAMPLES, Rule, decide_kernel
from cmab.exploration.base import MORE_THAN_ARMS, N_ARMS, POSITIVE, K, RuledExplorer
from cmab.exploration.clucb import check_constrains, check_exact, possible
from cmab.exploration.phases import BudgetExplorer, Phases, finish, undecided_means
from cmab.explorer import BestSuperArm, ExploreM, Goal, best_k
from cmab.oracle import LinearOracle
from cmab.statistics import ArmStatistics


class _OneAPhase(BudgetExplorer):
    """Base class of rules that decide one arm in each phase.

    The sum ``first_term + 1/2 + 1/3 + ... + 1/n_arms``, about a logarithm, sets the numbers of samples.
    """

    first_term = 0.5

    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples that each undecided arm needs to reach the total of the phase."""
        left = self.n_arms - state.phase
        log_sum = sum((1.0 / i for i in range(2, self.n_arms + 1)), self.first_term)
        # The total is n_k = ceil((n - N) / (logbar (N + 1 - k))); here phases are counted from 0.
        return math.ceil((self.budget - self.n_arms) / (log_sum * left)) - state.target

    def _begin(self, state: Phases) -> None:
        # If the schedule repeats a total, the phase takes no samples. That must not end the run.
        state.target += max(0, self.pulls_per_arm(state))


def decide_widest(state: Phases, best: IntArray, gaps: FloatArray) -> None:
    """Accept or reject the undecided arm with the largest gap; ties go to the lower index."""
    arm = int(np.argmax(np.where(state.undecided, gaps, -np.inf)))
    state.undecided[arm] = False
    state.accepted[arm] = arm in best


@dataclass(frozen=True, eq=False)
class SAR(_OneAPhase):
    """Successive Accepts and Rejects (Bubeck et al. 2013): the k best arms with a fixed budget.

    Use this explorer for the k best arms if the number of samples is fixed and no parameter is known.

    No answer is certified.

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
    budget: int = field(metadata=MORE_THAN_ARMS)

    def decide(self, state: Phases) -> None:
        """Decide the arm with the largest gap; the last undecided arm needs no more samples."""
        arms, means = undecided_means(state)
        wanted = self.k - int(state.accepted.sum())
        gaps = np.zeros(self.n_arms)
        gaps[arms] = best_k_gaps(means, wanted)
        decide_widest(state, arms[best_k(means, wanted)], gaps)
        if state.phase == self.n_arms - 2:
            finish(state, self.k)


@dataclass(frozen=True, eq=False)
class SuccessiveRejects(_OneAPhase):
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
    budget: int = field(metadata=MORE_THAN_ARMS)
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
    budget: int = field(metadata=MORE_THAN_ARMS)
    first_term = 1.0

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

    def decide(self, state: Phases) -> None:
        """Decide the arm with the largest gap by the oracle, given the decisions so far."""
        decide_widest(state, *self.oracle.gaps(*self._question(state)))

    def _question(self, state: Phases) -> tuple[FloatArray, IntArray, IntArray, np.random.Generator]:
        """Return the means, the accepted arms, the rejected arms, and a generator."""
        rejected = np.flatnonzero(~state.undecided & ~state.accepted)
        # Exact oracles need no randomness, and updates must not depend on it.
        rng = np.random.default_rng(0)
        return possible(self.oracle, state.stats.means), np.flatnonzero(state.accepted), rejected, rng

    def recommend(self, state: Phases) -> IntArray:
        """Return the best super arm by present means among those that agree with the decisions."""
        best = self.oracle.solve_constrained(*self._question(state))
        assert best is not None  # every decision agrees with a super arm that exists
        return np.sort(best)


# One sample at a time -----------------------------------------------------------------------------------


@decide_kernel
def decide_ucbe(seen, coin, integers, reals, chosen):
    """Sample the arm with the largest ``mean + sqrt(a / T)``.

    Audibert et al. (COLT 2010), Figure 2 (from memory).
    """
    counts, means, largest = seen.counts, seen.means, -np.inf
    for i in range(means.shape[0]):
        index = means[i] + math.sqrt(reals[0] / counts[i])
        if index > largest:
            chosen[0], largest = i, index
    return -1 if seen.clock[SAMPLES] >= integers[0] else 1


@dataclass(frozen=True, eq=False)
class UCBE(RuledExplorer):
    """UCB-E (Audibert et al. 2010): the best arm, with a fixed budget.

    Use this explorer if the number of samples is fixed and the hardness of the problem is known. Without such
    knowledge, use `SAR`.

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
    a : float
        Exploration parameter, positive. The analysis allows values up to ``25 (budget - n_arms) / (36 H)``,
        where H is the sum of ``1 / gap^2`` over the arms (`cmab.bounds.hardness`).

    Examples
    --------
    >>> from cmab import UCBE
    >>> UCBE(20, budget=2000, a=10.0).goal
    ExploreM(k=1, epsilon=0.0)

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010.
    """

    n_arms: int = field(metadata=N_ARMS)
    _: KW_ONLY
    budget: int = field(metadata=MORE_THAN_ARMS)
    a: float = field(metadata=POSITIVE)
    is_proven = False
    is_bounded = True

    @property
    def goal(self) -> Goal:
        return ExploreM(1)

    def rule(self) -> Rule:
        return Rule(decide_ucbe, [self.budget], [self.a])

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arm with the largest mean."""
        return best_k(state.means, 1)
