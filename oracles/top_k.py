"""The k largest means."""

from __future__ import annotations

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import Kernel
from cmab.oracle import LinearOracle, Sense
from cmab.validation import integer, one_of


class TopK(LinearOracle):
    """The super arms of exactly `k` base arms. Exact; ties go to the lower index.

    Parameters
    ----------
    n_arms : int
        Number of base arms, at least 1.
    k : int
        Size of a super arm, in ``[1, n_arms]``.
    sense : {"max", "min"}
        Whether the k largest or the k smallest means are wanted.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import TopK
    >>> TopK(n_arms=4, k=2).solve(np.array([0.2, 0.9, 0.5, 0.5]), np.random.default_rng(0))
    array([1, 2])
    """

    def __init__(self, n_arms: int, k: int, *, sense: Sense = "max") -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        self.k = integer("k", k, 1, self.n_arms)
        self.sense = one_of("sense", sense, ("max", "min"))

    @property
    def max_size(self) -> int:
        """The size of every super arm, k."""
        return self.k

    @property
    def uniform_size(self) -> int:
        """The size of every super arm, k."""
        return self.k

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the k best arms in increasing order of index."""
        from cmab.kernels import top_k

        values = self._check_means(means)
        chosen = np.empty(self.k, np.int64)
        top_k(values if self.sense == "max" else -values, self.k, chosen)
        return chosen

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the k best available arms; raises ``ValueError`` if fewer are available."""
        values, free = self._check_means(means), np.flatnonzero(available)
        if len(free) < self.k:
            raise self._none_within(available)
        return free[TopK(len(free), self.k, sense=self.sense).solve(values[free], rng)]

    def solve_batch(self, means: FloatArray, rng: np.random.Generator) -> list[IntArray]:
        """Return what `solve` gives for every row of `means`, by one call of the compiled rule."""
        return self._solve_compiled(means, rng)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        """Return `include` and the best of the arms left, in increasing order; None if that is not k arms."""
        values = self._check_means(means)
        required, banned = self._check_constraints(include, exclude)
        free = np.setdiff1d(np.arange(self.n_arms), np.concatenate((required, banned)))
        missing = self.k - len(required)
        if not 0 <= missing <= len(free):
            return None
        if missing == 0:
            return np.sort(required)
        chosen = TopK(len(free), missing, sense=self.sense).solve(values[free], rng)
        return np.sort(np.concatenate((required, free[chosen])))

    def kernel(self) -> Kernel:
        """Return the compiled rule."""
        return top_k_kernel(self.n_arms, self.k, sense=self.sense)

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether `super_arm` has k entries."""
        return len(super_arm) == self.k


def top_k_kernel(n_arms: int, k: int, *, sense: Sense) -> Kernel:
    """Return the compiled rule for the k best arms."""
    from cmab.kernels import solve_top_k

    return Kernel(solve_top_k, np.arange(k), np.empty(n_arms if sense == "min" else 0))
