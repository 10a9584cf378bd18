"""Goals of identification, which define when a returned set of arms is correct."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import LinearOracle, require_oracle
from cmab.validation import integer, listed, real, real_array, vector


def bandits(arms_per_bandit: Sequence[int]) -> list[IntArray]:
    """Return the arms of each of several bandits; the arms are numbered one bandit after the other.

    Examples
    --------
    >>> from cmab.goals import bandits
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
    >>> from cmab.goals import bandit_sizes
    >>> bandit_sizes((2, 3))
    [2, 3]
    """
    return _sizes(name, arms_per_bandit, 2)


def best_of_each(values: FloatArray, arms_per_bandit: Sequence[int], *, k: int) -> IntArray:
    """Return the `k` arms with the largest values in each of several bandits; ties go to the lower index.

    Examples
    --------
    >>> from cmab.goals import best_of_each
    >>> best_of_each([0.9, 0.4, 0.5, 0.3, 0.8], arms_per_bandit=[2, 3], k=1)
    array([0, 4])
    """
    parts = bandits(arms_per_bandit)
    array = vector("values", values, sum(map(len, parts)))
    return np.concatenate([arms[best_k(array[arms], k)] for arms in parts])


def _slack(means: FloatArray, epsilon: float) -> float:
    """Return a tolerance for the rounding of sums of `means` and `epsilon`: 0.8 - 0.1 is not 0.7."""
    return 1e-12 * (float(np.abs(means).max(initial=0.0)) + epsilon)


def _check_goal(goal: ExploreM | ExploreEach | AggregateTopK) -> None:
    object.__setattr__(goal, "k", integer("k", goal.k, 1))
    object.__setattr__(goal, "epsilon", real("epsilon", goal.epsilon, 0.0))


class Goal(ABC):
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
    >>> from cmab.goals import ExploreM
    >>> ExploreM(k=2).is_correct(np.array([0, 2]), np.array([0.9, 0.4, 0.5]))
    True
    """

    k: int
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        _check_goal(self)

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
    >>> from cmab.goals import ExploreEach
    >>> goal = ExploreEach(arms_per_bandit=(2, 3), k=1)
    >>> goal.is_correct(np.array([0, 2]), np.array([0.9, 0.4, 0.5, 0.3, 0.2]))
    True
    """

    arms_per_bandit: Sequence[int]
    k: int
    _: KW_ONLY
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms_per_bandit", tuple(bandit_sizes(self.arms_per_bandit)))
        _check_goal(self)

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
    >>> from cmab.goals import AggregateTopK
    >>> AggregateTopK(k=2, epsilon=0.06).is_correct(np.array([0, 1]), np.array([0.9, 0.4, 0.5]))
    True
    """

    k: int
    epsilon: float

    def __post_init__(self) -> None:
        _check_goal(self)

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
    >>> from cmab.goals import BestSuperArm
    >>> from oracles import TopK
    >>> BestSuperArm(TopK(3, k=2)).is_correct(np.array([0, 1]), np.array([0.9, 0.4, 0.5]))
    False
    """

    oracle: LinearOracle
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        require_oracle(self.oracle)
        object.__setattr__(self, "epsilon", real("epsilon", self.epsilon, 0.0))

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
    >>> from cmab.goals import best_k
    >>> best_k([0.2, 0.5, 0.5, 0.1], k=1)
    array([1])
    """
    # Negate the values: a stable sort then puts the lower index first among ties.
    array = real_array("values", values)
    if array.ndim != 1:
        raise ValueError(f"values must be a 1-D array, got shape {array.shape}")
    order = np.argsort(-array, kind="stable")
    return np.sort(order[: integer("k", k, 0)])
