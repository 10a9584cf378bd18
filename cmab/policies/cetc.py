"""C-ETC: any approximation algorithm that asks for values of sets, learned from rewards alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.declared import integer, real
from cmab.feedback import LARGEST, Feedback
from cmab.oracle import Oracle
from cmab.policy import Policy
from cmab.statistics import count
from cmab.ticket import Ticket
from cmab.validation import arm_indices, check_vector, shown

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
    n_choices : int
        Number of entries among which the algorithm chooses.
    size : int
        Number of entries of `current`.

    Examples
    --------
    >>> from cmab import CETC, Feedback
    >>> from oracles import TopK
    >>> policy = CETC(TopK(3, k=2), horizon=100)
    >>> state = policy.initial_state()
    >>> policy.update(state, Feedback([], [], reward=0.5))
    >>> state.current, state.total, state.told
    (array([0]), 0.5, 1)
    """

    queries: list[IntArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    current: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    has_ended: bool = False
    total: float = 0.0
    told: int = 0
    rounds: int = 0
    n_choices: int = 0
    size: int = 0

    def check(self, fresh: QueryState) -> None:
        """Raise ``ValueError`` if no feedback leads to this state."""
        if self.n_choices != fresh.n_choices:
            raise ValueError(f"n_choices must be {fresh.n_choices}, got {self.n_choices}")
        for name in ("rounds", "told"):
            count(name, getattr(self, name))
        for query in (*self.queries, self.current):
            arm_indices("queries", query, self.n_choices)
        if len(self.current) != self.size:
            raise ValueError(f"current must have {self.size} entries, got {len(self.current)}")
        check_vector("values", np.array(self.values, dtype=float), len(self.queries))
        if self.told > self.rounds or not math.isfinite(self.total) or (self.has_ended and self.told):
            raise ValueError(f"told must be at most rounds, and 0 after the last query, got {self.told}")


@dataclass(frozen=True, eq=False)
class CETC(Policy[QueryState]):
    """Combinatorial explore-then-commit: an approximation algorithm on mean rewards (full-bandit feedback).

    Use this policy if only the reward of a super arm is observed, and an approximation algorithm is known
    that asks for values of sets. For greedy sets of k entries, `ETCG` has the same guarantee with fewer
    trials. If base arms are observed, `CUCB` and `CTS` need far fewer rounds.

    An algorithm asks for the values of sets and returns a set. The policy plays each set that it asks for
    `trials` times, answers with the mean reward, and plays the result forever. It uses only rewards. Suppose
    that the algorithm asks at most N times, and that errors of at most e in all values reduce its result by
    at most ``robustness * e`` below alpha times the optimum. Then the regret against alpha times the optimum
    in T = `horizon` rounds is ``O(robustness^(2/3) N^(1/3) T^(2/3) (ln T)^(1/3))`` for rewards in [0, 1].

    Without an `algorithm`, the policy plays greedy sets of k entries, with ``robustness = 2 k``, ``N = n k``
    and alpha = 1 - 1/e if the expected reward is monotone and submodular. The environment must then accept
    sets of fewer than k entries. Contexts raise ``ValueError``. A set is played until `trials` of its rewards
    have arrived, so delayed feedback may lead to more trials.

    Parameters
    ----------
    oracle : Oracle
        Defines `n_choices`, and ``k`` for the greedy algorithm. It is never called to solve.
    horizon : int
        Number T of rounds, from 1 to 1e15.
    algorithm : callable, optional
        A function of `value` that returns a set of entries. It calls ``value(entries)`` for the values of
        sets and must be deterministic, because it is run again after each answer.
    queries : int, optional
        Upper bound N on the number of sets that `algorithm` asks for. It is required with `algorithm`.
    robustness : float, optional
        The factor of the errors above. It is required with `algorithm`.

    Raises
    ------
    ValueError
        If a parameter is out of its range, `queries` or `robustness` is missing, or the super arms of the
        greedy algorithm are not all sets of k entries.

    Examples
    --------
    >>> import networkx as nx
    >>> from cmab import CETC, simulate
    >>> from instances import IndependentCascade
    >>> from oracles import InfluenceMaximization
    >>> stars = nx.DiGraph([(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8)])
    >>> world = IndependentCascade(stars, 0.9, k=2, feedback="none")
    >>> policy = CETC(InfluenceMaximization(stars, k=2), horizon=1000)
    >>> policy.trials
    35
    >>> simulate(policy, world, 1000, rng=0).states[0].current
    array([0, 4])

    References
    ----------
    G. Nie, Y. Y. Nadew, Y. Zhu, V. Aggarwal, C. J. Quinn: A Framework for Adapting Offline Algorithms to
    Solve Combinatorial Multi-Armed Bandit Problems with Bandit Feedback, ICML 2023, Algorithm 1 (abstract;
    the number of trials and the robustness of greedy from memory).
    """

    oracle: Oracle
    horizon: int = field(metadata=integer(1, 10**15))
    _: KW_ONLY
    algorithm: Algorithm | None = None
    queries: int | None = field(default=None, metadata=integer(1, 2**53, optional=True))
    robustness: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.oracle.sense != "max":
            raise ValueError(f"oracle must have rewards, not costs, got {self.oracle!r}")
        if self.algorithm is not None:
            if not callable(self.algorithm):
                raise ValueError(f"algorithm must be a function, got {shown(self.algorithm)}")
            for name in ("queries", "robustness"):
                if getattr(self, name) is None:
                    raise ValueError(f"{name} must be given if algorithm is, got None")
            return
        k, n = getattr(self.oracle, "k", None), self.oracle.n_choices
        if not isinstance(k, int):
            raise ValueError(
                f"oracle must have all sets of k entries without an algorithm, got {self.oracle!r}"
            )
        for some in (np.arange(k), np.arange(n - k, n)):
            self.oracle.check_super_arm(some, "a set of k entries")

    @property
    def trials(self) -> int:
        """Number of rewards of each query."""
        most = self.queries or self.oracle.n_choices * self._k
        factor = self.robustness or 2.0 * self._k
        # Nie et al. (2023), Algorithm 1: delta^(2/3) T^(2/3) ln(T)^(1/3) / (2 N^(2/3)).
        squares = (factor * self.horizon / most) ** 2 * math.log(self.horizon)
        return max(1, math.ceil(math.pow(squares, 1.0 / 3.0) / 2.0))

    @property
    def _k(self) -> int:
        return int(getattr(self.oracle, "k", 1))

    def initial_state(self) -> QueryState:
        """Return the state with the first query of the algorithm."""
        state = QueryState(n_choices=self.oracle.n_choices)
        self._ask(state)
        return state

    def _check_state(self, state: Any) -> None:
        if not isinstance(state, QueryState) or state.n_choices != self.oracle.n_choices:
            raise ValueError(
                f"state must be a QueryState of {self.oracle.n_choices} entries, got {shown(state)}"
            )

    def select(self, state: QueryState, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the current query, or the result of the algorithm."""
        return state.current.copy()

    def update(self, state: QueryState, feedback: Feedback, ticket: Ticket | None = None) -> None:
        """Update `state` with the reward of a ticket. Rewards of earlier queries are ignored.

        Raises
        ------
        ValueError
            If the reward is unknown or exceeds 1e100 in absolute value, or an outcome is not finite.
        """
        # Outcomes are not used, but invalid ones indicate an invalid report.
        check_vector("feedback.outcomes", feedback.outcomes, len(feedback.arms))
        # Sums of such rewards stay finite. The condition is false for nan.
        if not abs(feedback.reward) <= LARGEST:
            raise ValueError(
                f"feedback.reward must be known and at most {LARGEST:g} in absolute value, because"
                f" CETC uses only rewards, got {feedback.reward}"
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
            self._ask(state)

    def _ask(self, state: QueryState) -> None:
        """Run the algorithm with the known values, until it asks for another set or returns its result."""
        known = {
            tuple(query.tolist()): value for query, value in zip(state.queries, state.values, strict=True)
        }

        def value(entries: ArrayLike) -> float:
            query = np.sort(arm_indices("entries", entries, self.oracle.n_choices))
            if (key := tuple(query.tolist())) not in known:
                raise _Asked(query)
            return known[key]

        try:
            result = self._greedy(value) if self.algorithm is None else self.algorithm(value)
        except _Asked as asked:
            state.current = asked.entries
        else:
            state.current = np.sort(arm_indices("the result of algorithm", result, self.oracle.n_choices))
            state.has_ended = True
        state.size = len(state.current)

    def _greedy(self, value: Value) -> IntArray:
        """Return the set to which the entry with the largest value was added k times."""
        chosen: list[int] = []
        for _ in range(self._k):
            others = [i for i in range(self.oracle.n_choices) if i not in chosen]
            values: FloatArray = np.array([value([*chosen, i]) for i in others])
            chosen.append(others[int(np.argmax(values))])
        return np.array(chosen, np.int64)
