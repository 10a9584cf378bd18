"""Policies that observe only rewards: C-ETC for any approximation algorithm, and ETCG for greedy sets."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.feedback import LARGEST, Context, Feedback, Ticket
from cmab.oracle import Oracle, check_super_arm
from cmab.parameters import integer, real
from cmab.policy import Policy, refuse_parts
from cmab.validation import arm_indices, shown

#: The value of a set of entries, and an algorithm that asks for such values and returns a set.
Value = Callable[[ArrayLike], float]
Algorithm = Callable[[Value], ArrayLike]


class _Asked(Exception):
    """Ends a run of the algorithm that asks for the value of a set without enough rewards."""

    def __init__(self, entries: IntArray) -> None:
        super().__init__()
        self.entries = entries


@dataclass(eq=False)
class QueryState:
    """The sets that an algorithm asked for, their mean rewards, and the set that is played.

    Attributes
    ----------
    queries : list of IntArray
        Sets with known values, in the order of the questions.
    values : list of float
        Their mean rewards.
    current : IntArray, shape (size,)
        The set that is played: the next query, or the result of the algorithm.
    has_ended : bool
        Whether the algorithm has returned a result.
    total : float
        Sum of the rewards of the current query.
    told : int
        Number of these rewards.
    rounds : int
        Number of rounds with feedback.
    """

    queries: list[IntArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    current: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    has_ended: bool = False
    total: float = 0.0
    told: int = 0
    rounds: int = 0


@dataclass(frozen=True, eq=False)
class SetTrials(Policy[QueryState]):
    """Base of policies that play each set in question `trials` times, and then one set forever."""

    oracle: Oracle
    horizon: int = field(metadata=integer(1, 10**15))

    @property
    @abstractmethod
    def trials(self) -> int:
        """Number of rewards of each query."""

    def initial_state(self, rng: np.random.Generator | None = None) -> QueryState:
        """Return the state with the first query."""
        state = QueryState()
        state.current, state.has_ended = self._next(state)
        return state

    def select(self, state: QueryState, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the current query, or the final set."""
        refuse_parts(self, context)
        return state.current.copy()

    def update(
        self,
        state: QueryState,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state` with the reward of a ticket. Rewards of earlier queries are ignored."""
        # Sums of such rewards stay finite. The condition is false for nan.
        if not abs(feedback.reward) <= LARGEST:
            raise ValueError(
                f"feedback.reward must be known and at most {LARGEST:g} in absolute value, because"
                f" {type(self).__name__} uses only rewards, got {feedback.reward}"
            )
        state.rounds += 1
        is_late = ticket is not None and not np.array_equal(np.sort(ticket.super_arm), state.current)
        if state.has_ended or is_late:
            return
        state.total += feedback.reward
        state.told += 1
        if state.told >= self.trials:
            state.queries.append(state.current)
            state.values.append(state.total / state.told)
            state.total, state.told = 0.0, 0
            state.current, state.has_ended = self._next(state)

    @abstractmethod
    def _next(self, state: QueryState) -> tuple[IntArray, bool]:
        """Return the set to play and whether it is final."""


@dataclass(frozen=True, eq=False)
class CETC(SetTrials):
    """Combinatorial explore-then-commit: an approximation algorithm on mean rewards (full-bandit feedback).

    Use this policy if only the reward of a super arm is observed, and an approximation algorithm is known
    that asks for values of sets. For greedy sets of k entries, use `ETCG`. If base arms are observed, `CUCB`
    and `CTS` need far fewer rounds.

    An algorithm asks for the values of sets and returns a set. The policy plays each set that it asks for
    `trials` times, answers with the mean reward, and plays the result forever. It uses only rewards. Suppose
    that the algorithm asks at most N times, and that errors of at most e in all values reduce its result by
    at most ``robustness * e`` below alpha times the optimum. Then the regret against alpha times the optimum
    in T = `horizon` rounds is ``O(robustness^(2/3) N^(1/3) T^(2/3) (ln T)^(1/3))`` for rewards in [0, 1].

    The environment must accept the sets that the algorithm asks for. Contexts raise ``ValueError``. A set is
    played until `trials` of its rewards have arrived, so delayed feedback may lead to more trials.

    Parameters
    ----------
    oracle : Oracle
        Defines `n_choices`. It is never called to solve.
    horizon : int
        Number T of rounds, from 1 to 1e15.
    algorithm : callable
        A function of `value` that returns a set of entries. It calls ``value(entries)`` for the values of
        sets and must be deterministic, because it is run again after each answer.
    queries : int
        Upper bound N on the number of sets that `algorithm` asks for.
    robustness : float
        The factor of the errors above. For the best of single entries it is 2.

    Examples
    --------
    >>> from cmab import CETC, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> def best(value):
    ...     return [max(range(3), key=lambda entry: value([entry]))]
    >>> oracle = TopK(3, k=1)
    >>> policy = CETC(oracle, 1000, algorithm=best, queries=3, robustness=2.0)
    >>> policy.trials
    73
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1]), oracle)
    >>> simulate(policy, environment, 1000, rng=0).states[0].current
    array([1])

    References
    ----------
    G. Nie, Y. Y. Nadew, Y. Zhu, V. Aggarwal, C. J. Quinn: A Framework for Adapting Offline Algorithms to
    Solve Combinatorial Multi-Armed Bandit Problems with Bandit Feedback, ICML 2023, Algorithm 1 (abstract;
    the number of trials from memory).
    """

    _: KW_ONLY
    algorithm: Algorithm
    queries: int = field(metadata=integer(1, 2**53))
    robustness: float = field(metadata=real(0.0, inside=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle.sense != "max":
            raise ValueError(f"oracle must have rewards, not costs, got {self.oracle!r}")
        if not callable(self.algorithm):
            raise ValueError(f"algorithm must be a function, got {shown(self.algorithm)}")

    @property
    def trials(self) -> int:
        """Number of rewards of each query."""
        # Nie et al. (2023), Algorithm 1: delta^(2/3) T^(2/3) ln(T)^(1/3) / (2 N^(2/3)).
        squares = (self.robustness * self.horizon / self.queries) ** 2 * math.log(self.horizon)
        return max(1, math.ceil(math.pow(squares, 1.0 / 3.0) / 2.0))

    def _next(self, state: QueryState) -> tuple[IntArray, bool]:
        """Run the algorithm with the known values, until it asks for another set or returns its result."""
        n = self.oracle.n_choices
        sets = (tuple(query.tolist()) for query in state.queries)
        known = dict(zip(sets, state.values, strict=True))

        def value(entries: ArrayLike) -> float:
            query = np.sort(arm_indices("entries", entries, n))
            if (key := tuple(query.tolist())) not in known:
                raise _Asked(query)
            return known[key]

        try:
            return np.sort(arm_indices("the result of algorithm", self.algorithm(value), n)), True
        except _Asked as asked:
            return asked.entries, False


@dataclass(frozen=True, eq=False)
class ETCG(SetTrials):
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

    def _next(self, state: QueryState) -> tuple[IntArray, bool]:
        n, asked = self.oracle.n_choices, len(state.queries)
        chosen, first = np.empty(0, np.int64), 0
        for size in range(self._k):
            end = first + n - size
            if asked < end:
                others = np.setdiff1d(np.arange(n), chosen)
                return np.sort(np.append(chosen, others[asked - first])), False
            chosen = state.queries[first + int(np.argmax(state.values[first:end]))]
            first = end
        return chosen, True
