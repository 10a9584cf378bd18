"""Explorers that accept and reject arms: races, one arm in each phase, and one sample at a time."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.radii import around, scaled_radius
from cmab.bounds.samples import best_k_gaps
from cmab.compiled import SAMPLES, Rule, decide_kernel, kernel
from cmab.exploration.base import (
    DELTA,
    MORE_THAN_ARMS,
    MOST,
    N_ARMS,
    POSITIVE,
    POSITIVE_OR_NONE,
    SUPPORT,
    K,
    RuledExplorer,
    length,
)
from cmab.exploration.clucb import check_constrains, check_exact, possible
from cmab.exploration.phases import BudgetExplorer, PhasedExplorer, Phases, finish, settle, undecided_means
from cmab.explorer import BestSuperArm, ExploreM, Goal, best_k
from cmab.oracle import LinearOracle
from cmab.parameters import integer, one_of
from cmab.selection import descending_order
from cmab.statistics import ArmStatistics

# Races --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Race(PhasedExplorer):
    """Base class of races for the k best arms; a subclass defines `radii`."""

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    max_pulls: int = field(metadata=integer(1, lambda explorer: MOST // explorer.n_arms))

    @abstractmethod
    def radii(self, stats: ArmStatistics) -> FloatArray:
        """Return radii that hold for all counts up to `max_pulls`.

        The product of a radius and its count must not decrease as the count grows.
        """

    def intervals(self, state: Phases) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii; for a decided arm, those at its last sample."""
        radii = np.where(state.stats.counts > 0, self.radii(state.stats), np.inf)
        return around(state.stats.means, radii)

    def is_certified(self, state: Phases) -> bool:
        """Return whether all arms were decided by their intervals, before the limit `max_pulls`."""
        return self.is_done(state) and state.target <= self.max_pulls

    def pulls_per_arm(self, state: Phases) -> int:
        """Return a number of samples before which no arm can be decided, or 0 after `max_pulls` samples.

        The race therefore decides as if it compared the intervals after every sample.
        """
        if state.target < self.max_pulls:
            return min(max(1, self.least_pulls(state)), self.max_pulls - state.target)
        state.target = self.max_pulls + 1  # marks a race that ends with undecided arms
        return 0

    def least_pulls(self, state: Phases) -> int:
        """Return a lower bound on the number of samples per undecided arm before the next decision.

        Let b be the length of `support`. In d samples of each, the sums of two arms approach each other by at
        most ``b d``, and the product of radius and count does not decrease. Two intervals that overlap by x
        after T samples of each therefore still overlap after fewer than ``x T / b`` more. An arm is decided
        only if its interval does not overlap with the intervals of enough other arms.
        """
        arms, means = undecided_means(state)
        if not state.target or (state.stats.counts[arms] != state.target).any():
            return 1
        radii = self.radii(state.stats)[arms]
        lower, upper = np.sort(means - radii), np.sort(means + radii)
        wanted = self.k - int(state.accepted.sum())
        # The least overlap that must disappear before an arm can be accepted or rejected.
        overlap = min(upper[len(arms) - wanted - 1] - lower[-1], upper[0] - lower[-wanted])
        return int(state.target * overlap / length(self.support))

    def decide(self, state: Phases) -> None:
        """Decide arms until every remaining interval overlaps with enough others."""
        radii = self.radii(state.stats)
        while state.undecided.any():
            arms, means = undecided_means(state)
            lower, upper = np.sort(means - radii[arms]), np.sort(means + radii[arms])
            wanted = self.k - int(state.accepted.sum())
            # Accept an arm if at least n - k others have upper bounds below its lower bound. Here n is the
            # number of undecided arms and k the number of wanted arms.
            beats = np.searchsorted(upper, means - radii[arms], side="left") >= len(arms) - wanted
            loses = len(arms) - np.searchsorted(lower, means + radii[arms], side="right") >= wanted
            if not (beats | loses).any():
                return
            state.accepted[arms[beats]] = True
            state.undecided[arms[beats | loses]] = False
            settle(state, self.k)


@dataclass(frozen=True, eq=False)
class HoeffdingRace(_Race):
    """Hoeffding race (Maron and Moore 1994) for the k best arms.

    Use this explorer if all arms must be sampled in equal batches and outcomes use the whole support.
    Otherwise, `LUCBPlusPlus` needs fewer samples.

    The race accepts an arm if its lower bound exceeds the upper bounds of all but k - 1 other arms. It
    rejects an arm if the lower bounds of k other arms exceed its upper bound. With probability at least ``1 -
    delta``, all these decisions are right. If arms are still undecided after `max_pulls` samples of each, the
    race accepts those with the largest means, and `is_certified` returns False.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    support : tuple of float
        Interval that contains the outcomes. Its length is b.
    max_pulls : int
        Maximum number of samples of one arm.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import Feedback, HoeffdingRace, Session
    >>> session = Session(HoeffdingRace(n_arms=3, k=1, delta=0.1, max_pulls=1000), rng=0)
    >>> while not session.is_done:
    ...     ticket = session.ask()
    ...     outcomes, pulls = 0.5 * (ticket.super_arm == 2), np.full(len(ticket), ticket.pulls)
    ...     sums, squares = pulls * outcomes, pulls * outcomes**2
    ...     session.tell(Feedback(ticket.super_arm, sums, pulls=pulls, squares=squares))
    >>> session.recommend(), session.state.target
    (array([2]), 89)

    References
    ----------
    O. Maron, A. Moore: Hoeffding Races, NIPS 1993. V. Heidrich-Meisner, C. Igel: Hoeffding and Bernstein
    Races for Selecting Policies in Evolutionary Direct Policy Search, ICML 2009.
    """

    def radii(self, stats: ArmStatistics) -> FloatArray:
        """Return ``b sqrt(ln(2 N max_pulls / delta) / 2T)``."""
        # A union bound over two sides, all arms and all counts up to `max_pulls`.
        log = math.log(2 * self.n_arms * self.max_pulls / self.delta)
        return length(self.support) * scaled_radius(stats.counts, log / 2.0)


@dataclass(frozen=True, eq=False)
class BernsteinRace(_Race):
    """Bernstein race (Mnih et al. 2008): a race with empirical-Bernstein intervals, for small variances.

    Use this explorer if all arms must be sampled in equal batches and outcomes vary little. Otherwise,
    `BernsteinLUCB` needs fewer samples.

    Parameters
    ----------
    n_arms, k, delta, support, max_pulls
        As for `HoeffdingRace`.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import BernsteinRace, Feedback, Session
    >>> session = Session(BernsteinRace(n_arms=3, k=1, delta=0.1, max_pulls=1000), rng=0)
    >>> while not session.is_done:
    ...     ticket = session.ask()
    ...     outcomes, pulls = 0.1 * (ticket.super_arm == 2), np.full(len(ticket), ticket.pulls)
    ...     sums, squares = pulls * outcomes, pulls * outcomes**2
    ...     session.tell(Feedback(ticket.super_arm, sums, pulls=pulls, squares=squares))
    >>> session.recommend()
    array([2])

    References
    ----------
    V. Mnih, C. Szepesvari, J.-Y. Audibert: Empirical Bernstein Stopping, ICML 2008.
    """

    def radii(self, stats: ArmStatistics) -> FloatArray:
        """Return ``sqrt(2 V l / T) + 3 b l / T`` with ``l = ln(3 N max_pulls / delta)``.

        V is the biased variance. See Audibert, Munos and Szepesvari (2009), Theorem 1.
        """
        counts = np.maximum(stats.counts, 1)
        # Theorem 1 fails with probability at most 3 exp(-l) at one count.
        log = math.log(3 * self.n_arms * self.max_pulls / self.delta)
        spread = 2.0 * stats.deviations / counts
        radii: FloatArray = np.sqrt(spread * log / counts) + 3.0 * length(self.support) * log / counts
        return radii


# One arm a phase ----------------------------------------------------------------------------------------


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

    No answer is certified. For a known instance, `cmab.bounds.samples.rejects_error` bounds the probability
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


@dataclass(frozen=True, eq=False)
class _BestArm(RuledExplorer):
    """Base class of rules for the best arm that take one sample at a time from a budget."""

    n_arms: int = field(metadata=N_ARMS)
    _: KW_ONLY
    budget: int = field(metadata=MORE_THAN_ARMS)
    is_proven = False
    is_bounded = True

    @property
    def goal(self) -> Goal:
        return ExploreM(1)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arm with the largest mean."""
        return best_k(state.means, 1)


@kernel
def refresh_complexity(means, samples, ends, memory):
    """Estimate UCB-E's H2 again if `samples` is at the end of a phase; `memory` holds H2 and the phase.

    In phase p, H2 is the largest ``i / gap^2`` over the p largest gaps, where i is the rank of the gap in
    increasing order.
    """
    phase = int(memory[1])
    while phase < ends.shape[0] and ends[phase] <= samples:
        phase += 1
    if phase > memory[1]:
        n, top = means.shape[0], means.max()
        order, scratch = np.empty(n, np.int64), np.empty(n, np.int64)
        descending_order(-means, order, scratch)
        memory[0], memory[1] = 0.0, phase
        # Audibert et al. (COLT 2010), Figure 4 (from memory): after phase k the complexity is the largest i /
        # gap_i^2 for i = N - k + 1, ..., N, with gaps in increasing order. `order` starts with the largest
        # gap.
        for place in range(phase):
            gap = top - means[order[place]]
            memory[0] = max(memory[0], (n - place) / (gap * gap))


@decide_kernel
def decide_ucbe(seen, coin, integers, reals, chosen):
    """Sample the arm with the largest ``mean + sqrt(a / T)``.

    Audibert et al. (COLT 2010), Figures 2 and 4 (from memory).
    """
    # `integers` holds the budget and the ends of the phases. The memory is that of `refresh_complexity`.
    counts, means, samples = seen.counts, seen.means, seen.clock[SAMPLES]
    a, c, memory, largest = reals[0], reals[1], reals[2:], -np.inf
    if a == 0.0:
        refresh_complexity(means, samples, integers[1:], memory)
        # Figure 4 (from memory): a = c n / H.
        a = c * integers[0] / memory[0]
    for i in range(means.shape[0]):
        index = means[i] + math.sqrt(a / counts[i])
        if index > largest:
            chosen[0], largest = i, index
    return -1 if samples >= integers[0] else 1


@dataclass(frozen=True, eq=False)
class UCBE(_BestArm):
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
    >>> UCBE(20, budget=2000, a=10.0).goal
    ExploreM(k=1, epsilon=0.0)

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010.
    """

    _: KW_ONLY
    a: float | None = field(default=None, metadata=POSITIVE_OR_NONE)
    c: float = field(default=1.0, metadata=POSITIVE)

    def rule(self) -> Rule:
        # H = N in phase 0, as in the paper.
        memory = np.array([float(self.n_arms), 0.0])
        return Rule(decide_ucbe, [self.budget, *self._phase_ends()], [self.a or 0.0, self.c], memory)

    def _phase_ends(self) -> list[int]:
        """Return the numbers of samples after which Successive Rejects has dropped 1, 2, ... arms."""
        n_arms = self.n_arms
        log_sum = 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))
        # n_k of Successive Rejects, ceil((n - N) / (logbar (N + 1 - k))), which also defines the phases of
        # adaptive UCB-E.
        totals = [math.ceil((self.budget - n_arms) / (log_sum * left)) for left in range(n_arms, 1, -1)]
        return [sum(totals[:phase]) + (n_arms - phase) * totals[phase] for phase in range(n_arms - 1)]


@decide_kernel
def decide_continuous_rejects(seen, coin, integers, reals, chosen):
    """Reject the worst arm if its gap exceeds G, then sample the active arm with the fewest samples."""
    # The memory holds 1 for each arm that is not rejected, then the largest count of a rejected arm and the
    # number of samples at the last test.
    counts, means, samples, budget = seen.counts, seen.means, seen.counts.sum(), integers[0]
    n, length, to_closest, memory = counts.shape[0], reals[0], reals[1], reals[2:]
    if samples < budget and memory[n + 1] != samples:  # not again in a second call without a new sample
        memory[n + 1] = samples
        left, spent, worst, total = 0, 0, -1, 0.0
        for i in range(n):
            if memory[i] > 0.0:
                left += 1
                spent += counts[i]
                total += means[i]
                if worst < 0 or means[i] < means[worst]:
                    worst = i
        if left > 2 and counts[worst] > memory[n]:
            closest, log_sum = math.inf, 0.5
            for i in range(n):
                if memory[i] > 0.0 and i != worst:
                    closest = min(closest, means[i])
            for i in range(2, left + 1):
                log_sum += 1.0 / i
            other = closest if to_closest > 0.0 else (total - means[worst]) / (left - 1)
            # beta = logbar(j) sum of N_k over active arms / (T - sum of N_k over rejected arms), and
            # G(beta) = 1 / sqrt(beta) - 1. All samples are of active or of rejected arms.
            share = log_sum * spent / (budget - (samples - spent))
            if (other - means[worst]) / length > 1.0 / math.sqrt(share) - 1.0:
                memory[worst] = 0.0
                memory[n] = float(counts[worst])  # larger than that of each rejected arm
    chosen[0] = -1
    for i in range(n):
        if memory[i] > 0.0 and (chosen[0] < 0 or counts[i] < counts[chosen[0]]):
            chosen[0] = i
    return -1 if samples >= budget else 1


@dataclass(frozen=True, eq=False)
class ContinuousRejects(_BestArm):
    """Continuous Rejects (Wang et al. 2023): the best arm, with a fixed budget.

    Use this explorer for the best arm if the number of samples is fixed and samples come one at a time. The
    budget should exceed ``n_arms^2 / 2``, because the active arms are sampled in turn, and each rejected arm
    needs more samples than the one before. With a smaller budget, few arms are rejected, and `SAR` errs less.

    The explorer samples the active arms in turn. After each sample, it rejects the active arm with the
    smallest mean if the arm has more samples than each rejected arm and its gap exceeds ``1 / sqrt(beta) -
    1``. Here beta is the spent share of the budget that is left for the active arms, times ``1/2 + 1/2 +
    1/3 + ... + 1/j`` for j active arms. An arm with a large gap is therefore rejected earlier than by
    Successive Rejects. The last two arms are sampled until the end. No answer is certified. Of equal means,
    the arm with the lower index is rejected first, so the order of the arms matters if successes are rare.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    support : tuple of float
        Interval that contains the outcomes. Gaps are divided by its length.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.
    variant : {"A", "C"}
        The gap of an arm: the distance of its mean to the average of the other active means ("A", the CR-A of
        the paper), or to the closest of them ("C", the conservative CR-C).

    Examples
    --------
    >>> from cmab import ContinuousRejects, identify
    >>> from instances import BernoulliArms
    >>> identify(ContinuousRejects(3, budget=100), BernoulliArms([0.1, 0.9, 0.1]), rng=0).arms
    [array([1])]

    References
    ----------
    P.-A. Wang, R.-C. Tzeng, A. Proutiere: Best Arm Identification with Fixed Budget: A Large Deviation
    Perspective, NeurIPS 2023, by the code of the authors.
    """

    _: KW_ONLY
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    variant: Literal["A", "C"] = field(default="A", metadata=one_of("A", "C"))

    def rule(self) -> Rule:
        memory = np.concatenate((np.ones(self.n_arms), np.zeros(2)))
        parameters = [length(self.support), float(self.variant == "C")]
        return Rule(decide_continuous_rejects, [self.budget], parameters, memory)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arm with the largest mean that is not rejected; ties go to the lower index."""
        active = np.flatnonzero(state.memory[: self.n_arms])
        return active[best_k(state.means[active], 1)]
