"""Goals of identification: when a returned set of arms is right."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import LinearOracle


class Goal(ABC):
    """What an explorer certifies. Goals differ and rarely imply each other: compare like with like."""

    @abstractmethod
    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether `arms` is a right answer where the true means are `means`."""


@dataclass(frozen=True)
class ExploreM(Goal):
    """Every one of the `k` arms has a mean of at least the k-th largest less `epsilon`.

    With ``epsilon=0`` this is exact identification: arms tied with the k-th best are interchangeable.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.goals import ExploreM
    >>> ExploreM(k=2).is_correct(np.array([0, 2]), np.array([0.9, 0.4, 0.5]))
    True
    """

    k: int
    epsilon: float = 0.0

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether there are `k` arms and each is good enough."""
        least = np.sort(means)[-self.k] - self.epsilon
        return len(arms) == self.k and bool((means[arms] >= least).all())


@dataclass(frozen=True)
class AggregateTopK(Goal):
    """The average mean of the `k` arms is within `epsilon` of the largest possible one.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.goals import AggregateTopK
    >>> AggregateTopK(k=2, epsilon=0.06).is_correct(np.array([0, 1]), np.array([0.9, 0.4, 0.5]))
    True
    """

    k: int
    epsilon: float

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether there are `k` arms and their average is good enough."""
        best = np.sort(means)[-self.k :].mean()
        return len(arms) == self.k and bool(best - means[arms].mean() <= self.epsilon)


@dataclass(frozen=True, eq=False)
class BestSuperArm(Goal):
    """The super arm is feasible and its value (a sum) is within `epsilon` of the optimum; sums are rounded.

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

    def is_correct(self, arms: IntArray, means: FloatArray) -> bool:
        """Return whether `arms` is feasible and good enough."""
        if not self.oracle.is_feasible(arms):
            return False
        # A copy, for numba compiles a kernel once more for read-only arrays.
        truth = np.array(means)
        best = truth[self.oracle.solve(truth, np.random.default_rng(0))].sum()
        rounding = 1e-12 * float(np.abs(truth).sum())
        return bool(abs(best - truth[arms].sum()) <= self.epsilon + rounding)
