"""The 0-1 knapsack."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled.forms import Kernel
from cmab.description import described
from cmab.solver_certificate import SolverCertificate
from cmab.validation import as_array, real, vector
from oracles._watch import watched
from oracles.anytime import AnytimeOracle, Clock, OnLimit, SolverError, checked_limits
from oracles.packing._core import fractional_bound, packed
from oracles.packing._rows import LARGEST, check_exact
from oracles.programs.linear_program import value_of

# Weights that are not integers are counted in units of 2^-40 of the capacity, so that three times 0.1 is 0.3.
_PARTS = 40
# The number of sets stored at once: initially, at most (for `epsilon`, 2 GB), and in total for a compiled
# rule, which allocates in advance.
_FIRST, _MOST, _KEPT = 512, 512 * 8**5, 2**18
# Sizes are at most 2^53 + 1, so the sum of fewer sizes is a 64-bit number.
_FEW = 2**9


class Knapsack(AnytimeOracle):
    """The sets of arms with a total weight of at most `capacity`, including the empty set.

    Exact for all weights and capacities, by dynamic programming over the undominated sets. An upper bound
    removes further sets, so the lists are short for typical estimates. Small problems have a compiled rule.
    For others, the sets differ from the greedy one only in a core of items, which expands (Pisinger 1997).
    A call stores at most 2 million sets at once (about 1 GB in total); this number is a limit like
    `time_limit`. An arm of nonpositive mean is never chosen.

    Parameters
    ----------
    weights : array_like, shape (n_arms,)
        The weight of each arm, nonnegative. Integers are exact and must be at most 2^53; larger numbers must
        be floats. If the weights are not integers, or if the capacity is above 2^53, the weights are rounded
        down to multiples of 2^-40 times the capacity. So three arms of weight 0.1 fit into 0.3, and a set
        exceeds the capacity by at most one such unit per arm.
    capacity : float
        The largest total weight of a super arm, nonnegative.
    epsilon : float
        The approximation parameter, in [0, 1). If it is positive, the value of the answer is at least
        ``alpha = 1 - epsilon`` times the optimum, in time polynomial in ``n_arms / epsilon`` for all means
        and weights. Use it in the hard case, with hundreds of arms with means approximately proportional
        to their weights. No limit applies to it.
    gap : float
        The relative gap, in [0, 1), at which a call may stop.
    time_limit : float, optional
        The time limit of a call in seconds. With 0, a call returns the greedy answer, or the best arm if its
        mean is larger. Small problems with a compiled rule always have an exact answer, unless it is 0.
    on_limit : {"raise", "best"}
        Whether `solve` raises an error at a limit, or returns the best set found. The latter has at least
        half of the optimum, and each call has its own ratio, as in `PuLPOracle`.

    Raises
    ------
    ValueError
        If an argument is out of range.
    SolverError
        In `solve`, if a limit ends the search and `on_limit` is ``"raise"``. For the limit on the number of
        sets, this happens only for weights of many digits and means as in the hard case.

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
    Problems, Journal of the ACM 22 (1975). D. Pisinger: A Minimal Algorithm for the 0-1 Knapsack Problem,
    Operations Research 45 (1997). H. Kellerer, U. Pferschy, D. Pisinger: Knapsack Problems (2004),
    sections 2.6 and 3.4. All from memory.
    """

    can_constrain = True

    has_membership = True

    def __init__(
        self,
        weights: ArrayLike,
        capacity: float,
        *,
        epsilon: float = 0.0,
        gap: float = 0.0,
        time_limit: float | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        if as_array("weights", weights).ndim == 2:
            raise ValueError(
                f"weights must be 1-D, one for each arm, got shape {np.shape(weights)}; use "
                "MultidimensionalKnapsack for several rows"
            )
        self.weights = vector("weights", weights, low=0.0)
        if not len(self.weights):
            raise ValueError("weights must have at least one entry, got none")
        check_exact("weights", weights)
        self.weights.setflags(write=False)
        self.n_arms = len(self.weights)
        self.capacity = real("capacity", capacity, 0.0)
        check_exact("capacity", capacity)
        self.epsilon = real("epsilon", epsilon, 0.0, 1.0)
        if self.epsilon == 1.0:
            raise ValueError("epsilon must be a finite number in [0, 1), got 1.0")
        self._sizes, self._room = _in_whole_numbers(self.weights, self.capacity)
        self._set_limits(checked_limits(time_limit, gap, on_limit), greedy_ratio=0.5)
        if self.epsilon > 0.0 and self.time_limit != 0.0:
            self.alpha = 1.0 - self.epsilon

    def __repr__(self) -> str:
        return described(self)

    @property
    def max_size(self) -> int:
        sizes = np.sort(self._sizes)
        # The sum of many sizes may exceed 64 bits.
        may_fit = np.cumsum(sizes, dtype=np.float64) <= 2.0 * self._room
        return int((np.cumsum(sizes)[may_fit] <= self._room).sum())

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return self._total(super_arm) <= self._room

    def _total(self, arms: IntArray) -> int:
        """Return the exact sum of the sizes of arms, which may exceed 64 bits."""
        sizes = self._sizes[arms]
        return int(sizes.sum()) if len(sizes) < _FEW else sum(sizes.tolist())

    @property
    def _may_stop_early(self) -> bool:
        if self.time_limit == 0.0:
            return True
        return self.on_limit == "best" and not (self._is_small or self.epsilon > 0.0)

    @property
    def _most(self) -> int:
        """The largest number of undominated sets."""
        return int(min(self._room + 1, 2 ** min(self.n_arms, 60)))

    @property
    def _is_small(self) -> bool:
        """Whether a compiled rule has enough memory for the problem."""
        return self.n_arms * self._most <= _KEPT

    def _search(self, values: FloatArray) -> SolverCertificate:
        """Return the best set found, in increasing order, with an upper bound on the mean of every set."""
        arms, bound = self._packed(values, self._room)
        answer = self._certificate(arms, value_of(values[arms]), bound)
        if answer.certified or self.epsilon == 0.0 or self.time_limit == 0.0:
            return answer
        return SolverCertificate(arms, answer.value, answer.bound, True)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        values = self._check_means(means).copy()
        required, banned = self._check_constraints(include, exclude)
        room = self._room - self._total(required)
        if room < 0:
            return None
        values[required] = values[banned] = 0.0
        return np.sort(np.concatenate((required, self._packed(values, room)[0])))

    def kernel(self) -> Kernel | None:
        if not self._is_small or self.time_limit == 0.0:
            return None
        return self._compiled(self._room, self._most, self.n_arms * self._most)

    def _compiled(self, room: int, most: int, steps: int) -> Kernel:
        """Return the compiled rule for lists of at most `most` sets and `steps` steps in total."""
        from oracles.packing._kernels_knapsack import solve_knapsack

        scratch = np.empty(4 * self.n_arms + 4 * most + 2 * steps, np.int64)
        integers = np.concatenate(([room, most, steps], self._sizes, scratch))
        return Kernel(solve_knapsack, integers, np.append(self.epsilon, np.empty(2 * (self.n_arms + most))))

    def _packed(self, values: FloatArray, room: int) -> tuple[IntArray, float]:
        """Return the best set found and an upper bound on the mean of every set."""
        if self.time_limit != 0.0 and (self._is_small or self.epsilon > 0.0):
            chosen = self._by_lists(values, room)
            value = value_of(values[chosen])
            return chosen, min(value / (1.0 - self.epsilon), self._fractional(values, room))
        with watched(type(self).__name__) as watch:
            clock, goes_on = Clock(self.time_limit), self.on_limit == "best"
            return packed(values, self._sizes, room, clock, self.gap, watch, goes_on)

    def _fractional(self, values: FloatArray, room: int) -> float:
        """Return an upper bound: infinite if the set is exact, otherwise the fractional knapsack."""
        if self.epsilon == 0.0:
            return np.inf
        return fractional_bound(values, self._sizes.astype(np.float64), float(room))

    def _by_lists(self, values: FloatArray, room: int) -> IntArray:
        """Return the best set by lists of undominated sets."""
        means, chosen = np.require(values, float, ["C", "W"]), np.empty(self.n_arms, np.int64)
        most = min(_FIRST, 2 ** min(self.n_arms, 60))
        while most <= _MOST:
            rule = self._compiled(room, most, 4 * most)
            size = rule.function(means, rule.integers, rule.reals, chosen)
            if size >= 0:
                return chosen[:size]
            most *= 8
        raise SolverError(
            f"epsilon must be larger for these weights and means, got {self.epsilon}: the search would have "
            f"to compare more than {_MOST:,} sets at once; or write epsilon=0 and on_limit='best'"
        )

    def _stopped(self) -> str:
        return (
            f"Knapsack must prove an optimum, got to time_limit={self.time_limit} or to its largest number "
            "of sets first; write on_limit='best' for the best set found, or a positive epsilon"
        )


def _in_whole_numbers(weights: FloatArray, capacity: float) -> tuple[IntArray, int]:
    """Return weights and capacity in units with exact sums."""
    if (weights == np.floor(weights)).all() and capacity <= LARGEST:
        room = math.floor(capacity)
        # A double above the capacity is at most 2^1023, and 64-bit numbers end at 2^63.
        return np.minimum(np.minimum(weights, 2.0**62).astype(np.int64), room + 1), room
    room = 2**_PARTS
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        parts = np.where(weights == 0.0, 0.0, np.floor(weights / capacity * 2.0**_PARTS))
    # Limit heavier weights, which never fit, so that the sum of all weights is a 64-bit number.
    return np.minimum(parts, room + 1.0).astype(np.int64), room
