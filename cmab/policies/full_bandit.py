"""A policy that observes only rewards: explore-then-commit greedy (full-bandit feedback)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cmab.arrays import IntArray
from cmab.feedback import LARGEST, Context, Feedback, Ticket
from cmab.oracle import Oracle, check_super_arm
from cmab.parameters import integer
from cmab.policy import Policy, refuse_parts


@dataclass(eq=False)
class TrialState:
    """The sets that were tried, their mean rewards, and the set that is played.

    Attributes
    ----------
    tried : list of IntArray
        Sets with known values, in the order of the trials.
    values : list of float
        Their mean rewards.
    current : IntArray, shape (size,)
        The set that is played: the next one to try, or the final one.
    total : float
        Sum of the rewards of the current set.
    told : int
        Number of these rewards.
    rounds : int
        Number of rounds with feedback.
    """

    tried: list[IntArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    current: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    total: float = 0.0
    told: int = 0
    rounds: int = 0


@dataclass(frozen=True, eq=False)
class ETCG(Policy[TrialState]):
    """Explore-then-commit greedy for submodular rewards, without observed base arms (full-bandit feedback).

    Use this policy if only rewards are observed, all sets of k entries are allowed, and smaller sets may be
    played. If base arms are observed, `CUCB` and `CTS` need far fewer rounds.

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
    >>> simulate(policy, world, 1000, rng=0).states[0].current
    array([0, 4])

    References
    ----------
    G. Nie, M. Agarwal, A. K. Umrawal, V. Aggarwal, C. J. Quinn: An Explore-then-Commit Algorithm for
    Submodular Maximization Under Full-bandit Feedback, UAI 2022; from memory.
    """

    oracle: Oracle
    horizon: int = field(metadata=integer(1, 10**15))
    _k: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        k, n = getattr(self.oracle, "k", None), self.oracle.n_choices
        if self.oracle.sense != "max" or not isinstance(k, int):
            raise ValueError(f"oracle must have all sets of k entries, and rewards, got {self.oracle!r}")
        for some in (np.arange(k), np.arange(n - k, n)):
            check_super_arm(self.oracle, some, "a set of k entries")
        object.__setattr__(self, "_k", k)

    @property
    def trials(self) -> int:
        """Number of trials of each entry in each step."""
        n, k = self.oracle.n_choices, self._k
        # Nie et al. (2022), section 4: (T root / (n + 2 n k root))^(2/3) with root = sqrt(2 ln T).
        root = math.sqrt(2.0 * math.log(self.horizon))
        return max(1, math.ceil(math.pow(self.horizon * root / (n + 2.0 * n * k * root), 2.0 / 3.0)))

    def initial_state(self, rng: np.random.Generator | None = None) -> TrialState:
        """Return the state with the first set to try."""
        state = TrialState()
        state.current = self._next(state)
        return state

    def select(self, state: TrialState, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the set on trial, or the final set."""
        refuse_parts(self, context)
        return state.current.copy()

    def update(
        self,
        state: TrialState,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with the reward of a ticket. Rewards of earlier sets are ignored."""
        # Sums of such rewards stay finite. The condition is false for nan.
        if not abs(feedback.reward) <= LARGEST:
            raise ValueError(
                f"feedback.reward must be known and at most {LARGEST:g} in absolute value, because"
                f" {type(self).__name__} uses only rewards, got {feedback.reward}"
            )
        state.rounds += 1
        is_late = ticket is not None and not np.array_equal(np.sort(ticket.super_arm), state.current)
        n_sets = self._k * self.oracle.n_choices - self._k * (self._k - 1) // 2
        if len(state.tried) == n_sets or is_late:
            return
        state.total += feedback.reward
        state.told += 1
        if state.told >= self.trials:
            state.tried.append(state.current)
            state.values.append(state.total / state.told)
            state.total, state.told = 0.0, 0
            state.current = self._next(state)

    def _next(self, state: TrialState) -> IntArray:
        """Return the next set to try, or after all trials the final set."""
        n, tried = self.oracle.n_choices, len(state.tried)
        chosen, first = np.empty(0, np.int64), 0
        for size in range(self._k):
            end = first + n - size
            if tried < end:
                others = np.setdiff1d(np.arange(n), chosen)
                return np.sort(np.append(chosen, others[tried - first]))
            chosen = state.tried[first + int(np.argmax(state.values[first:end]))]
            first = end
        return chosen
