"""ETCG: greedy sets, learned from rewards alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.declared import integer
from cmab.feedback import LARGEST, Feedback
from cmab.oracle import Oracle
from cmab.policy import Policy
from cmab.statistics import count
from cmab.ticket import Ticket
from cmab.validation import arm_indices, check_vector, shown


@dataclass(eq=False)
class GreedyTrials:
    """The current set, and the rewards of this set with one more entry.

    Attributes
    ----------
    chosen : IntArray, shape (size,)
        Entries that are fixed in the set, in the order in which they were chosen.
    sums : FloatArray, shape (n_choices,)
        For each entry, the sum of the rewards of the set with this entry.
    trials : IntArray, shape (n_choices,)
        For each entry, the number of these rewards.
    rounds : int
        Number of rounds with feedback.

    Examples
    --------
    >>> from cmab import ETCG, Feedback
    >>> from oracles import TopK
    >>> policy = ETCG(TopK(3, k=2), horizon=100)
    >>> state = policy.initial_state()
    >>> policy.update(state, Feedback([], [], reward=0.5))
    >>> state.sums, state.trials
    (array([0.5, 0. , 0. ]), array([1, 0, 0]))
    """

    chosen: IntArray
    sums: FloatArray
    trials: IntArray
    rounds: int = 0

    def check(self, fresh: Self) -> None:
        """Raise ``ValueError`` if no feedback leads to this state."""
        n = len(fresh.sums)
        count("rounds", self.rounds)
        arm_indices("chosen", self.chosen, n)
        check_vector("sums", self.sums, n)
        if self.trials.shape != (n,) or self.trials.dtype != np.int64 or (self.trials < 0).any():
            raise ValueError(f"trials must be {n} counts, got {shown(self.trials.tolist())}")
        if self.trials.sum() > self.rounds or self.trials[self.chosen].any():
            raise ValueError("trials must be 0 for chosen entries, and their sum must be at most rounds")


@dataclass(frozen=True, eq=False)
class ETCG(Policy[GreedyTrials]):
    """Explore-then-commit greedy for submodular rewards, without observed base arms (full-bandit feedback).

    Use this policy if only rewards are observed, all sets of k entries are allowed, and smaller sets may be
    played. For other algorithms and constraints, use `CETC`.

    The set starts empty. In each step, every entry outside the set is tried with it `trials` times, and the
    entry with the largest mean reward is added for good. After k steps the policy plays the set forever. It
    uses only rewards, on any scale. Suppose that adding an entry never lowers the expected reward, and adds
    less to a larger set. Then the regret against ``1 - 1/e`` of the optimum in T = `horizon` rounds is
    ``O(k^(4/3) n^(1/3) T^(2/3) sqrt(ln T))`` for n entries and rewards in [0, 1]. The exploration takes about
    ``k n trials`` rounds.

    During exploration the policy plays sets of fewer than k entries. The environment must accept them, as
    `instances.IndependentCascade` does; its option ``feedback="none"`` shows rewards only. Contexts raise
    ``ValueError``. An entry is tried until `trials` of its rewards have arrived, so delayed feedback may lead
    to many more trials.

    Parameters
    ----------
    oracle : Oracle
        Defines ``k`` and `n_choices`; it is never called to solve. All sets of k entries must be super arms.
    horizon : int
        Number T of rounds, from 1 to 1e15.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the super arms are not all sets of k entries.

    Examples
    --------
    >>> import networkx as nx
    >>> from cmab import ETCG, simulate
    >>> from instances import IndependentCascade
    >>> from oracles import InfluenceMaximization
    >>> stars = nx.DiGraph([(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8)])
    >>> world = IndependentCascade(stars, 0.9, k=2, feedback="none")
    >>> policy = ETCG(InfluenceMaximization(stars, k=2), horizon=1000)
    >>> policy.trials
    9
    >>> simulate(policy, world, 1000, rng=0).states[0].chosen
    array([0, 4])

    References
    ----------
    G. Nie, M. Agarwal, A. K. Umrawal, V. Aggarwal, C. J. Quinn: An Explore-then-Commit Algorithm for
    Submodular Maximization Under Full-bandit Feedback, UAI 2022; from memory.
    """

    oracle: Oracle
    horizon: int = field(metadata=integer(1, 10**15))

    def __post_init__(self) -> None:
        super().__post_init__()
        k, n = getattr(self.oracle, "k", None), self.oracle.n_choices
        if self.oracle.sense != "max" or not isinstance(k, int):
            raise ValueError(f"oracle must have all sets of k entries, and rewards, got {self.oracle!r}")
        for some in (np.arange(k), np.arange(n - k, n)):
            self.oracle.check_super_arm(some, "a set of k entries")

    @property
    def trials(self) -> int:
        """Number of trials of each entry in each step."""
        n, k = self.oracle.n_choices, self._k
        # Nie et al. (2022), section 4: (T root / (n + 2 n k root))^(2/3) with root = sqrt(2 ln T).
        root = math.sqrt(2.0 * math.log(self.horizon))
        return max(1, math.ceil(math.pow(self.horizon * root / (n + 2.0 * n * k * root), 2.0 / 3.0)))

    @property
    def _k(self) -> int:
        return int(self.oracle.k)  # type: ignore[attr-defined]

    def initial_state(self) -> GreedyTrials:
        n = self.oracle.n_choices
        return GreedyTrials(np.empty(0, np.int64), np.zeros(n), np.zeros(n, np.int64))

    def _check_state(self, state: GreedyTrials) -> None:
        if len(state.sums) != self.oracle.n_choices:
            raise ValueError(f"state must have {self.oracle.n_choices} entries, got {len(state.sums)}")

    def select(self, state: GreedyTrials, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the set with the entry that has the fewest trials, or the final set of k entries."""
        return np.sort(np.append(state.chosen, self._next(state)))

    def _next(self, state: GreedyTrials) -> IntArray:
        if len(state.chosen) == self._k:
            return np.empty(0, np.int64)
        trials = state.trials.copy()
        trials[state.chosen] = np.iinfo(np.int64).max
        return np.array([np.argmin(trials)])

    def update(self, state: GreedyTrials, feedback: Feedback, ticket: Ticket | None = None) -> None:
        """Update `state` with the reward of a ticket. Rewards of earlier steps are ignored.

        Without a ticket, the reward is that of the set which `select` returns.

        Raises
        ------
        ValueError
            If the reward is unknown or exceeds 1e100 in absolute value, or an outcome is not finite.
        """
        if ticket is None:
            self._take(state, self._next(state), feedback)
            return
        of_step = len(ticket.super_arm) == len(state.chosen) + 1 <= self._k
        is_grown = of_step and np.isin(state.chosen, ticket.super_arm).all()
        tried = np.setdiff1d(ticket.super_arm, state.chosen) if is_grown else np.empty(0, np.int64)
        self._take(state, tried, feedback)

    def _take(self, state: GreedyTrials, tried: IntArray, feedback: Feedback) -> None:
        # Outcomes are not used, but invalid ones indicate an invalid report.
        check_vector("feedback.outcomes", feedback.outcomes, len(feedback.arms))
        # Sums of such rewards stay finite. The condition is false for nan.
        if not abs(feedback.reward) <= LARGEST:
            raise ValueError(
                f"feedback.reward must be known and at most {LARGEST:g} in absolute value, because"
                f" ETCG uses only rewards, got {feedback.reward}"
            )
        state.rounds += 1
        state.sums[tried] += feedback.reward
        state.trials[tried] += 1
        left = np.setdiff1d(np.arange(len(state.sums)), state.chosen)
        if len(state.chosen) == self._k or state.trials[left].min() < self.trials:
            return
        best = left[np.argmax(state.sums[left] / state.trials[left])]
        state.chosen = np.append(state.chosen, best)
        state.sums[:], state.trials[:] = 0.0, 0
