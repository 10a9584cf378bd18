"""The 0-1 knapsack."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled.forms import Kernel
from cmab.description import described
from cmab.oracle import LinearOracle
from cmab.validation import as_array, real, vector

# Weights that are not integers are counted in units of 2^-40 of the capacity, so that three times 0.1 is 0.3.
_PARTS = 40
# The number of sets stored at once: initially, at most (2 GB), and in total for a compiled rule, which
# allocates in advance.
_FIRST, _MOST, _KEPT = 512, 512 * 8**5, 2**18


class Knapsack(LinearOracle):
    """The sets of arms with a total weight of at most `capacity`, including the empty set.

    Exact for all weights and capacities, by dynamic programming over the undominated sets. An upper bound
    removes further sets, so the lists are short for typical estimates. An arm of nonpositive mean is never
    chosen. The oracle has a compiled rule.

    Parameters
    ----------
    weights : array_like, shape (n_arms,)
        The weight of each arm, nonnegative. Integers below 2^53 are exact. If the weights are not integers,
        they are rounded down to multiples of 2^-40 times the capacity. So three arms of weight 0.1 fit into
        0.3, and a set exceeds the capacity by at most one such unit per arm.
    capacity : float
        The largest total weight of a super arm, nonnegative.
    epsilon : float
        The approximation parameter, in [0, 1). If it is positive, the value of the answer is at least
        ``alpha = 1 - epsilon`` times the optimum, in time polynomial in ``n_arms / epsilon`` for all means
        and weights. Use it in the hard case, with hundreds of arms with means approximately proportional
        to their weights.

    Raises
    ------
    ValueError
        If an argument is out of range. In `solve`, if more than 16 million sets would have to be stored at
        once. This can happen only for weights of many digits and means as in the hard case; a positive
        `epsilon` avoids it.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import Knapsack
    >>> oracle = Knapsack(weights=[3, 2, 2, 1], capacity=5)
    >>> oracle.solve(np.array([0.7, 0.6, 0.5, 0.1]), np.random.default_rng(0))
    array([0, 1])

    References
    ----------
    G. L. Nemhauser, Z. Ullmann: Discrete Dynamic Programming and Capital Allocation, Management Science 15
    (1969). O. H. Ibarra, C. E. Kim: Fast Approximation Algorithms for the Knapsack and Sum of Subset
    Problems, Journal of the ACM 22 (1975). H. Kellerer, U. Pferschy, D. Pisinger: Knapsack Problems (2004),
    sections 2.6 and 3.4. All from memory.
    """

    def __init__(self, weights: ArrayLike, capacity: float, *, epsilon: float = 0.0) -> None:
        if as_array("weights", weights).ndim == 2:
            raise ValueError(
                f"weights must be 1-D, one for each arm, got shape {np.shape(weights)}; use "
                "MultidimensionalKnapsack for several rows"
            )
        self.weights = vector("weights", weights, low=0.0)
        if not len(self.weights):
            raise ValueError("weights must have at least one entry, got none")
        self.weights.setflags(write=False)
        self.n_arms = len(self.weights)
        self.capacity = real("capacity", capacity, 0.0)
        self.epsilon = real("epsilon", epsilon, 0.0, 1.0)
        if self.epsilon == 1.0:
            raise ValueError("epsilon must be a finite number in [0, 1), got 1.0")
        self.alpha = 1.0 - self.epsilon
        self._sizes, self._room = _in_whole_numbers(self.weights, self.capacity)

    def __repr__(self) -> str:
        return described(self)

    @property
    def max_size(self) -> int:
        return int((np.cumsum(np.sort(self._sizes)) <= self._room).sum())

    def is_feasible(self, super_arm: IntArray) -> bool:
        return int(self._sizes[super_arm].sum()) <= self._room

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the best set that fits, in increasing order."""
        return self._packed(self._check_means(means), self._room)

    def solve_batch(self, means: FloatArray, rng: np.random.Generator) -> list[IntArray]:
        return self._solve_compiled(means, rng)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        values = self._check_means(means).copy()
        required, banned = self._check_constraints(include, exclude)
        room = self._room - int(self._sizes[required].sum())
        if room < 0:
            return None
        values[required] = values[banned] = 0.0
        return np.sort(np.concatenate((required, self._packed(values, room))))

    def kernel(self) -> Kernel | None:
        most = min(self._room + 1, 2 ** min(self.n_arms, 60))
        return self._compiled(self._room, most, self.n_arms * most) if self.n_arms * most <= _KEPT else None

    def _compiled(self, room: int, most: int, steps: int) -> Kernel:
        """Return the compiled rule for lists of at most `most` sets and `steps` steps in total."""
        from oracles.packing._kernels_knapsack import solve_knapsack

        scratch = np.empty(4 * self.n_arms + 4 * most + 2 * steps, np.int64)
        integers = np.concatenate(([room, most, steps], self._sizes, scratch))
        return Kernel(solve_knapsack, integers, np.append(self.epsilon, np.empty(2 * (self.n_arms + most))))

    def _packed(self, values: FloatArray, room: int) -> IntArray:
        means, chosen = np.require(values, float, ["C", "W"]), np.empty(self.n_arms, np.int64)
        most = min(_FIRST, 2 ** min(self.n_arms, 60))
        while most <= _MOST:
            rule = self._compiled(room, most, 4 * most)
            size = rule.function(means, rule.integers, rule.reals, chosen)
            if size >= 0:
                return chosen[:size]
            most *= 8
        raise ValueError(
            f"epsilon must be positive for these weights and means, got {self.epsilon}: the exact search "
            f"would have to compare more than {_MOST:,} sets at once"
        )


def _in_whole_numbers(weights: FloatArray, capacity: float) -> tuple[IntArray, int]:
    """Return weights and capacity in units with exact sums."""
    if (weights == np.floor(weights)).all() and capacity < 2.0**53:
        room = math.floor(capacity)
        return np.minimum(weights, room + 1.0).astype(np.int64), room
    room = 2**_PARTS
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        parts = np.where(weights == 0.0, 0.0, np.floor(weights / capacity * 2.0**_PARTS))
    # Limit heavier weights, which never fit, so that the sum of all weights is a 64-bit number.
    return np.minimum(parts, room + 1.0).astype(np.int64), room
