"""Explorers: policies that identify the best arms, and their goals, which define correct answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from cmab import parameters as declared
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import ExplorerKernel
from cmab.feedback import Context
from cmab.oracle import LinearOracle, require_oracle
from cmab.policy import Policy, State
from cmab.validation import integer, listed, real_array, vector


def bandits(arms_per_bandit: Sequence[int]) -> list[IntArray]:
    """Return the arms of each of several bandits; the arms are numbered one bandit after the other.

    Examples
    --------
    >>> from cmab.explorer import bandits
    >>> bandits([2, 3])
    [array([0, 1]), array([2, 3, 4])]
    """
    sizes = _sizes("arms_per_bandit", arms_per_bandit, 1)
    return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])


def _sizes(name: str, given: Sequence[int], least: int) -> list[int]:
    sizes = listed(name, given, "numbers of arms")
    if not sizes:
        raise ValueError(f"{name} must contain the number of arms of at least one bandit, got []")
    return [integer(f"n_arms of each bandit in {name}", size, least) for size in sizes]


def bandit_sizes(arms_per_bandit: Sequence[int], name: str = "arms_per_bandit") -> list[int]:
    """Return the validated numbers of arms of several bandits.

    Raises
    ------
    ValueError
        If there is no bandit, or if a bandit has fewer than two arms.

    Examples
    --------
    >>> from cmab.explorer import bandit_sizes
    >>> bandit_sizes((2, 3))
    [2, 3]
    """
    return _sizes(name, arms_per_bandit, 2)


def best_of_each(values: FloatArray, arms_per_bandit: Sequence[int], *, k: int) -> IntArray:
    """Return the `k` arms with the largest values in each of several bandits; ties go to the lower index.

    Examples
    --------
    >>> from cmab.explorer import best_of_each
    >>> best_of_each([0.9, 0.4, 0.5, 0.3, 0.8], arms_per_bandit=[2, 3], k=1)
    array([0, 4])
    """
    parts = bandits(arms_per_bandit)
    array = vector("values", values, sum(map(len, parts)))
    return np.concatenate([arms[best_k(array[arms], k)] for arms in parts])


def _slack(means: FloatArray, epsilon: float) -> float:
    """Return a tolerance for the rounding of sums of `means` and `epsilon`: 0.8 - 0.1 is not 0.7."""
    return 1e-12 * (float(np.abs(means).max(initial=0.0)) + epsilon)


class Goal(declared.Declared, ABC):
    """The property that an explorer certifies.

    A goal rarely implies another goal, so compare explorers with the same goal.

    Examples
    --------
    >>> from cmab import LUCB1
    >>> LUCB1(3, k=1, delta=0.1).goal
    ExploreM(k=1, epsilon=0.0)
    """

    @abstractmethod
    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether `arms` is a correct answer if the true means are `means`."""


@dataclass(frozen=True)
class ExploreM(Goal):
    """The goal of `k` arms with means of at least the k-th largest mean minus `epsilon`.

    With ``epsilon=0`` this is exact identification: arms that tie with the k-th best are interchangeable. A
    mean at a distance of exactly `epsilon` is correct, whatever the rounding of the difference.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.explorer import ExploreM
    >>> ExploreM(k=2).is_correct(np.array([0, 2]), np.array([0.9, 0.4, 0.5]))
    True
    """

    k: int = field(metadata=declared.integer(1))
    epsilon: float = field(default=0.0, metadata=declared.real(0.0))

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether there are `k` arms and the mean of each is large enough."""
        # Without a tolerance `epsilon`, means are compared exactly. Only a difference is rounded.
        slack = _slack(means, self.epsilon) if self.epsilon else 0.0
        least = np.sort(means)[-self.k] - self.epsilon - slack
        return len(arms) == self.k and bool((means[arms] >= least).all())


@dataclass(frozen=True)
class ExploreEach(Goal):
    """The goal `ExploreM` in each of several bandits. Their arms are numbered one bandit after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.explorer import ExploreEach
    >>> goal = ExploreEach(arms_per_bandit=(2, 3), k=1)
    >>> goal.is_correct(np.array([0, 2]), np.array([0.9, 0.4, 0.5, 0.3, 0.2]))
    True
    """

    arms_per_bandit: Sequence[int]
    k: int = field(metadata=declared.integer(1))
    _: KW_ONLY
    epsilon: float = field(default=0.0, metadata=declared.real(0.0))

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms_per_bandit", tuple(bandit_sizes(self.arms_per_bandit)))
        super().__post_init__()

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether every bandit has `k` arms and the mean of each is large enough."""
        goal = ExploreM(self.k, self.epsilon)
        return all(
            # Subtract the first index, because the arms and means are those of one bandit.
            goal.is_correct(arms[np.isin(arms, bandit)] - bandit[0], means[bandit])
            for bandit in bandits(self.arms_per_bandit)
        )


@dataclass(frozen=True)
class AggregateTopK(Goal):
    """The goal of `k` arms with an average mean within `epsilon` of the largest possible average.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.explorer import AggregateTopK
    >>> AggregateTopK(k=2, epsilon=0.06).is_correct(np.array([0, 1]), np.array([0.9, 0.4, 0.5]))
    True
    """

    k: int = field(metadata=declared.integer(1))
    epsilon: float = field(metadata=declared.real(0.0))

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether there are `k` arms and their average is large enough."""
        best, slack = np.sort(means)[-self.k :].mean(), _slack(means, self.epsilon)
        return len(arms) == self.k and bool(best - means[arms].mean() <= self.epsilon + slack)


@dataclass(frozen=True, eq=False)
class BestSuperArm(Goal):
    """The goal of a feasible super arm with a value (a sum of means) within `epsilon` of the optimum.

    The comparison allows for the rounding of the sums.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.explorer import BestSuperArm
    >>> from oracles import TopK
    >>> BestSuperArm(TopK(3, k=2)).is_correct(np.array([0, 1]), np.array([0.9, 0.4, 0.5]))
    False
    """

    oracle: LinearOracle
    epsilon: float = field(default=0.0, metadata=declared.real(0.0))

    def __post_init__(self) -> None:
        require_oracle(self.oracle)
        super().__post_init__()

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether `arms` is feasible and its value is large enough."""
        if not self.oracle.is_feasible(arms):
            return False
        # Copy the means, because numba compiles a kernel again for read-only arrays.
        truth = np.array(means)
        best = truth[self.oracle.solve(truth, np.random.default_rng(0))].sum()
        rounding = 1e-12 * float(np.abs(truth).sum())
        return bool(abs(best - truth[arms].sum()) <= self.epsilon + rounding)


def best_k(values: ArrayLike, k: int) -> IntArray:
    """Return the `k` arms of the largest `values` in increasing order; ties go to the lower index.

    Examples
    --------
    >>> from cmab.explorer import best_k
    >>> best_k([0.2, 0.5, 0.5, 0.1], k=1)
    array([1])
    """
    # Negate the values: a stable sort then puts the lower index first among ties.
    array = real_array("values", values)
    if array.ndim != 1:
        raise ValueError(f"values must be a 1-D array, got shape {array.shape}")
    order = np.argsort(-array, kind="stable")
    return np.sort(order[: integer("k", k, 0)])


class Explorer(Policy[State]):
    """A policy that samples base arms until it can name the best ones.

    `select` returns the base arms to sample next rather than a super arm to play. `pulls` returns the number
    of samples of each. An explorer without an oracle sets `n_arms` itself.

    Attributes
    ----------
    n_arms : int
        Number of base arms.
    delta : float, optional
        The probability with which the certified answer may be wrong. An explorer that proves its answers
        declares it, because certificates and checks read it. An explorer with a budget and without a
        guarantee sets `is_proven` to False.
    sigma : float or None
        Sub-Gaussian scale of the outcomes that the theory assumes; None if it assumes a support.
    support : tuple of float or None
        Interval of the outcomes that the theory assumes; None if it assumes no interval.
    is_bounded : bool
        Whether every run ends, whatever the outcomes are. `identify` limits the runs of other explorers.
    is_proven : bool
        Whether the stopping rule proves the answer. The default is True for explorers that declare `sigma` or
        `support`, because a proof needs an assumption on the noise. Modes without a proof override it.
    goal : Goal or None
        The condition under which the recommended arms are correct; None if the explorer does not declare it.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import ArmStatistics, Explorer, Feedback, Session
    >>> class Uniform(Explorer):
    ...     '''Ten outcomes of every arm, then the arm with the best mean.'''
    ...     n_arms = 3
    ...     def initial_state(self, rng=None):
    ...         return ArmStatistics.empty(self.n_arms)
    ...     def select(self, state, rng, context=None):
    ...         return np.arange(self.n_arms)
    ...     def update(self, state, feedback, ticket=None, rng=None):
    ...         state.update(feedback)
    ...     def is_done(self, state):
    ...         return state.counts.min() >= 10
    ...     def recommend(self, state):
    ...         return np.array([np.argmax(state.means)])
    >>> session = Session(Uniform(), rng=0)
    >>> while not session.is_done:
    ...     session.tell(Feedback(session.ask(), [0.1, 0.5, 0.2]))
    >>> session.recommend()
    array([1])
    """

    n_arms: int
    sigma: float | None = None
    is_bounded: bool = False
    _in_kernel: ClassVar[tuple[str, ...]] = (
        *("select", "step", "is_done", "update", "initial_state", "pulls", "unseen"),
    )

    @property
    def is_proven(self) -> bool:
        """Whether the stopping rule proves the answer for outcomes that satisfy `sigma` or `support`."""
        return self.sigma is not None or self.support is not None

    @property
    def goal(self) -> Goal | None:
        """The condition under which the recommended arms are correct."""
        return None

    def kernel(self) -> ExplorerKernel | None:
        """Return a compiled form of the rule for the compiled loop, or None (default)."""
        return None

    def unseen(self, state: State) -> IntArray:
        """Return the arms to sample in Python before the compiled loop starts; repeated after each sample.

        The default is an empty array. The compiled rule must then handle arms without outcomes.
        """
        return np.empty(0, np.int64)

    def step(self, state: State, rng: np.random.Generator) -> IntArray:
        """Return the arms to sample next, or an empty array if the stopping rule holds.

        This combines `is_done` and `select` for the loop of `identify`. Override it if the two methods would
        repeat the same expensive computation. The arms must be those of `select`.
        """
        return np.empty(0, np.int64) if self.is_done(state) else self.select(state, rng)

    def pulls(self, state: State) -> int:
        """Return the number of outcomes of each selected arm that the explorer requests at once."""
        return 1

    @abstractmethod
    def is_done(self, state: State) -> bool:
        """Return whether the stopping rule holds. If it does, `recommend` returns the answer."""

    def is_certified(self, state: State) -> bool:
        """Return whether the recommended arms have a guarantee: the stopping rule holds and is proven.

        Override it if an explorer with a proof may also stop for another reason, such as a budget.
        """
        return self.is_proven and self.is_done(state)

    def intervals(self, state: State) -> tuple[FloatArray, FloatArray] | None:
        """Return the lower and upper bounds that the stopping rule compares, or None (default).

        The bounds of an arm without outcomes are infinite, or the ends of the support. At a certified stop,
        the answer is correct for all means within the bounds. If an explorer drops arms, as a race does, it
        compares earlier bounds, so that this may rarely fail.
        """
        return None

    def witness(self, state: State, named: IntArray) -> tuple[int, int] | None:
        """Return the arm of `named` and the other arm that are the hardest to separate.

        These are the arm of `named` with the smallest lower bound and the other arm with the largest upper
        bound. Return None if there are no `intervals`.
        """
        ends = self.intervals(state)
        if ends is None:
            return None
        lower, upper = ends
        others = np.setdiff1d(np.arange(self.n_arms), named)
        return int(named[np.argmin(lower[named])]), int(others[np.argmax(upper[others])])

    @abstractmethod
    def recommend(self, state: State) -> IntArray:
        """Return the arms that the explorer currently considers the best, in increasing order."""

    @abstractmethod
    def select(self, state: State, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the distinct base arms to sample next. `state` is not changed.

        The feedback of the round has all of these arms, in any order. After the stop, the answer is not used.
        """


AnyExplorer = Explorer[Any]
