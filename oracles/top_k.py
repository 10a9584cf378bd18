"""The `k` base arms with the largest means."""

from __future__ import annotations

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import Kernel
from cmab.oracle import LinearOracle, Sense
from cmab.selection import are_finite, solve_top_k, top_k
from cmab.validation import integer, one_of


class TopK(LinearOracle):
    """The super arms with exactly `k` base arms. `solve` is exact; ties go to the lower index.

    Parameters
    ----------
    n_arms : int
        Number of base arms, at least 1.
    k : int
        The size of a super arm, in ``[1, n_arms]``.
    sense : {"max", "min"}
        Whether the k largest or the k smallest means are selected.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import TopK
    >>> TopK(n_arms=4, k=2).solve(np.array([0.2, 0.9, 0.5, 0.5]), np.random.default_rng(0))
    array([1, 2])
    """

    can_constrain = True

    has_membership = True

    def __init__(self, n_arms: int, k: int, *, sense: Sense = "max") -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        self.k = integer("k", k, 1, self.n_arms)
        self.sense = one_of("sense", sense, ("max", "min"))

    @property
    def max_size(self) -> int:
        return self.k

    @property
    def _uniform_size(self) -> int:
        return self.k

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the k best arms in increasing order of index."""
        is_plain = type(means) is np.ndarray and means.dtype == np.float64 and means.shape == (self.n_arms,)
        if not (is_plain and are_finite(means)):
            means = self._check_means(means)
        return _best(means, self.k, self.sense)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        """Return `include` and the best other arms, in increasing order; None if they cannot be k arms."""
        values = self._check_means(means)
        required, banned = self._check_constraints(include, exclude)
        is_free = np.ones(self.n_arms, bool)
        is_free[required] = is_free[banned] = False
        free = np.flatnonzero(is_free)
        missing = self.k - len(required)
        if not 0 <= missing <= len(free):
            return None
        return np.sort(np.concatenate((required, free[_best(values[free], missing, self.sense)])))

    def kernel(self) -> Kernel:
        return Kernel(solve_top_k, np.arange(self.k), np.empty(self.n_arms if self.sense == "min" else 0))

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return len(super_arm) == self.k


def _best(values: FloatArray, k: int, sense: Sense) -> IntArray:
    chosen = np.empty(k, np.int64)
    top_k(values if sense == "max" else -values, k, chosen)
    return chosen
