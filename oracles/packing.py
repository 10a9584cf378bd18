"""Knapsacks with one capacity or several, and the generalised assignment of jobs to agents.

Knapsacks with one capacity are solved by an expanding core, others by integer programming.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import Kernel, eager_kernel, kernel, lean_kernel, solve_kernel
from cmab.guarantees import SolverCertificate
from cmab.oracle import Sense
from cmab.parameters import described
from cmab.selection import descending_order
from cmab.validation import as_array, check_flag, real, real_array, shown, vector
from oracles.anytime import AnytimeOracle, Clock, OnLimit, checked_limits
from oracles.programs import INTEGRAL, PuLPOracle, rows_of, unscaled, value_of

#: Integers up to this one are exact in double precision.
LARGEST = 2**53

Row = tuple[IntArray, FloatArray, float, float]


def check_exact(name: str, values: ArrayLike) -> None:
    """Raise ``ValueError`` if an integer of `values` is above 2^53; floats of this size are accepted."""
    array = as_array(name, values)
    if array.dtype.kind not in "iufO" or not array.size or array.max() < LARGEST:
        return
    # numpy converts a list with integers above 2^63 to floats.
    entries = array if hasattr(values, "dtype") else np.asarray(values, dtype=object)
    for entry in entries.reshape(-1).tolist():
        if isinstance(entry, int) and entry > LARGEST:
            raise ValueError(
                f"{name} must be at most 2^53 for integers, which are exact, got {shown(entry)}; write a "
                "float if rounding is acceptable"
            )


def scaled_row(weights: FloatArray, room: float) -> tuple[FloatArray, float]:
    """Return integers unchanged, other rows as fractions of the capacity: solver tolerances are absolute."""
    if (weights == np.floor(weights)).all() and room == np.floor(room) and room < 2**20:
        return np.minimum(weights, room + 1.0), room
    if room == 0.0:
        return (weights > 0.0).astype(np.float64), 0.0
    with np.errstate(over="ignore"):  # a weight that exceeds a tiny capacity never fits
        return np.minimum(weights / room, 2.0), 1.0


#: Positions in `numbers`: how many states, which of the two lists has them, the next items to the left and to
#: the right of the core, how many steps, the step of the best set (-1 for the initial one), the break item.
LENGTH, SIDE, LEFT, RIGHT, STEPS, BEST, BREAK = range(7)
#: The results of `expand`: the search is over, the budget is spent, or the arrays are too short.
OVER, SPENT, SHORT = range(3)


class Core(NamedTuple):
    """The states of the search, in increasing order of size and worth, in two lists that alternate.

    A state is a set of items that differs from the break solution only within the core. `step` is the last
    step of its history: step i changed item ``items[i]`` after step ``parents[i]``.
    """

    size: IntArray
    worth: FloatArray
    step: IntArray
    parents: IntArray
    items: IntArray
    numbers: IntArray


@kernel
def begin_core(sizes, worth, room, taken, core):
    """Write the initial states; mark a set of at least half of the optimal worth, and return its worth.

    Items are in decreasing order of worth per size. The break solution has the items before the first one
    that does not fit. The set is the greedy one or the best item.
    """
    n, used, total, at = sizes.shape[0], 0, 0.0, 0
    while at < n and used + sizes[at] <= room:
        used += sizes[at]
        total += worth[at]
        at += 1
    core.size[0, 0], core.worth[0, 0], core.step[0, 0] = used, total, -1
    core.numbers[:] = 0
    core.numbers[LENGTH], core.numbers[BEST], core.numbers[BREAK] = 1, -1, at
    core.numbers[LEFT], core.numbers[RIGHT] = at - 1, at
    best, largest = total, 0
    taken[:] = False
    taken[:at] = True
    for i in range(at, n):
        if used + sizes[i] <= room:
            taken[i] = True
            used += sizes[i]
            best += worth[i]
    for i in range(n):
        if worth[i] > worth[largest]:
            largest = i
    if n > 0 and worth[largest] > best:
        taken[:] = False
        taken[largest] = True
        best = worth[largest]
    return best


@lean_kernel
def _hope(used, value, room, before, after):
    """Return an upper bound on the worth of a state: the rest of the room, or its excess, at these ratios."""
    return value + (room - used) * (after if used <= room else before)


@lean_kernel
def _ratio(sizes, worth, item):
    """Return the worth per size of an item; 0 after the last item, infinite before the first."""
    if item < 0:
        return np.inf
    return worth[item] / sizes[item] if item < sizes.shape[0] else 0.0


@lean_kernel
def _merge(sizes, worth, room, item, sign, best, core):
    """Replace the states by these and the same with the item added or removed; return the best worth."""
    old, new = core.numbers[SIDE], 1 - core.numbers[SIDE]
    length, kept, last = core.numbers[LENGTH], 0, -np.inf
    more, gain = sign * sizes[item], sign * worth[item]
    before = _ratio(sizes, worth, core.numbers[LEFT])
    after = _ratio(sizes, worth, core.numbers[RIGHT])
    a, b = 0, 0  # the next unchanged state, and the next changed one
    while a < length or b < length:
        changed = a == length
        if a < length and b < length:
            larger = core.size[old, b] + more - core.size[old, a]
            changed = larger < 0 or (larger == 0 and core.worth[old, b] + gain > core.worth[old, a])
        if changed:
            used, value, step = core.size[old, b] + more, core.worth[old, b] + gain, core.step[old, b]
            b += 1
        else:
            used, value, step = core.size[old, a], core.worth[old, a], core.step[old, a]
            a += 1
        if value <= last:
            continue
        last = value
        is_best = used <= room and value > best
        if is_best:
            best = value
        # The items that can still be removed have at most the size `room`. Larger sums could overflow.
        has_hope = used <= 2 * room and _hope(used, value, room, before, after) > best
        if changed and (is_best or has_hope):
            core.parents[core.numbers[STEPS]], core.items[core.numbers[STEPS]] = step, item
            step = core.numbers[STEPS]
            core.numbers[STEPS] += 1
        if is_best:
            core.numbers[BEST] = step
        if has_hope:
            core.size[new, kept], core.worth[new, kept], core.step[new, kept] = used, value, step
            kept += 1
    core.numbers[SIDE], core.numbers[LENGTH] = new, kept
    return best


@eager_kernel
def expand(sizes, worth, room, budget, best, core):
    """Expand the core until `budget` states were merged; return the result and the best worth.

    Pisinger (1997), MINKNAP, from memory: items join the core alternately from the right and from the left of
    the break item. A state is dropped if another has at most its size and at least its worth, or if its upper
    bound is not above the best worth. An item whose change alone has no hope does not join.
    """
    n, numbers = sizes.shape[0], core.numbers
    at = numbers[BREAK]
    ratio, used, total = _ratio(sizes, worth, at), 0, 0.0
    for i in range(at):
        used += sizes[i]
        total += worth[i]
    while numbers[LENGTH] > 0:
        if 2 * numbers[LENGTH] > core.size.shape[1]:
            return SHORT, best
        if numbers[STEPS] + numbers[LENGTH] > core.parents.shape[0]:
            return SHORT, best
        if budget <= 0:
            return SPENT, best
        # The next item is the nearer one to the break item.
        left, right = numbers[LEFT], numbers[RIGHT]
        if right < n and (left < 0 or right - at <= at - 1 - left):
            numbers[RIGHT] += 1
            if total + worth[right] + (room - used - sizes[right]) * ratio > best:
                budget -= 2 * numbers[LENGTH]
                best = _merge(sizes, worth, room, right, 1, best, core)
        elif left >= 0:
            numbers[LEFT] -= 1
            if total - worth[left] + (room - used + sizes[left]) * ratio > best:
                budget -= 2 * numbers[LENGTH]
                best = _merge(sizes, worth, room, left, -1, best, core)
        else:
            numbers[LENGTH] = 0
    return OVER, best


@kernel
def hope_left(sizes, worth, room, best, core):
    """Return an upper bound on the worth of every set: that of the states, or the best worth."""
    before = _ratio(sizes, worth, core.numbers[LEFT])
    after = _ratio(sizes, worth, core.numbers[RIGHT])
    side, most = core.numbers[SIDE], best
    for i in range(core.numbers[LENGTH]):
        most = max(most, _hope(core.size[side, i], core.worth[side, i], room, before, after))
    return most


@kernel
def mark_best(core, taken):
    """Mark the items of the best set, unless it is the initial one."""
    step = core.numbers[BEST]
    if step >= 0:
        taken[:] = False
        taken[: core.numbers[BREAK]] = True
        while step >= 0:
            taken[core.items[step]] = not taken[core.items[step]]
            step = core.parents[step]


@solve_kernel
def solve_knapsack(means, integers, reals, out):
    """Write an optimal set in increasing order.

    `integers`: room, largest number of states and of steps, sizes, scratch. `reals` is scratch space.
    """
    m, room, width, steps = means.shape[0], integers[0], integers[1], integers[2]
    sizes, rest, n, largest = integers[3 : 3 + m], integers[3 + m :], 0, 0.0
    order, arms, used, taken = rest[:m], rest[m : 2 * m], rest[2 * m : 3 * m], rest[3 * m : 4 * m]
    rest = rest[4 * m :]
    ratio, worth, listed = reals[:m], reals[m : 2 * m], reals[2 * m :]
    for arm in range(m):
        largest = max(largest, means[arm])
    # Scaling by a power of two is exact, and sums neither overflow nor underflow.
    exponent = math.frexp(largest)[1]
    for arm in range(m):
        if means[arm] > 0.0 and 0 < sizes[arm] <= room:
            arms[n], ratio[n] = arm, math.ldexp(means[arm], -exponent) / sizes[arm]
            n += 1
    descending_order(ratio[:n], order[:n], used[:n])
    for i in range(n):
        order[i] = arms[order[i]]
        used[i], worth[i] = sizes[order[i]], math.ldexp(means[order[i]], -exponent)
    core = Core(
        rest[: 2 * width].reshape((2, width)),
        listed.reshape((2, width)),
        rest[2 * width : 4 * width].reshape((2, width)),
        rest[4 * width : 4 * width + steps],
        rest[4 * width + steps : 4 * width + 2 * steps],
        rest[4 * width + 2 * steps : 4 * width + 2 * steps + 7],
    )
    best = begin_core(used[:n], worth[:n], room, taken[:n], core)
    expand(used[:n], worth[:n], room, np.int64(2) ** 62, best, core)
    mark_best(core, taken[:n])
    for arm in range(m):
        arms[arm] = sizes[arm] == 0 and means[arm] > 0.0
    for i in range(n):
        arms[order[i]] = taken[i]
    size = 0
    for arm in range(m):
        if arms[arm]:
            out[size] = arm
            size += 1
    return size


# The number of states at first and at most, and of steps of their histories at most. Together with the copies
# while they grow, the arrays take up to 1 GB.
_FIRST, _MOST, _MOST_STEPS = 2**12, 2**22, 2**26
# The number of merged states between two looks at the clock: about 0.02 seconds.
_BUDGET = 2_000_000


def packed(
    values: FloatArray,
    sizes: IntArray,
    room: int,
    clock: Clock,
    gap: float,
) -> tuple[IntArray, float]:
    """Return the best set found, in increasing order, and an upper bound on the value of every set."""
    free = np.flatnonzero((values > 0.0) & (sizes == 0))
    items = np.flatnonzero((values > 0.0) & (sizes > 0) & (sizes <= room))
    exponent = -int(np.frexp(values[items].max(initial=0.0))[1])
    worth = np.ldexp(values[items], exponent)
    order = np.argsort(-worth / sizes[items], kind="stable")
    items, worth = items[order], worth[order]
    used, taken = sizes[items], np.zeros(len(items), bool)
    core = _longer(None, _FIRST, 4 * _FIRST)
    best = begin_core(used, worth, room, taken, core)
    state, bound = SPENT, np.inf
    while state in (SPENT, SHORT):
        if state == SHORT:
            wider, longer = _room_for(core)
            if longer > _MOST_STEPS or wider > _MOST:
                break
            core = _longer(core, wider, longer)
        if clock.is_over:
            break
        state, best = expand(used, worth, room, _BUDGET, best, core)
        if state == SPENT:
            bound = min(bound, hope_left(used, worth, room, best, core))
            if bound - best <= gap * best:
                break
    bound = min(bound, hope_left(used, worth, room, best, core))
    mark_best(core, taken)
    arms = np.sort(np.concatenate((free, items[taken])))
    # The value of the set is summed again, in another order.
    share = 0.0 if bound <= best else unscaled(bound - best, exponent)
    with np.errstate(over="ignore"):
        return arms, float(values[arms].sum()) + share


def _room_for(core: Any) -> tuple[int, int]:
    """Return the lengths of the arrays that the next merge needs."""
    wider, longer = core.size.shape[1], len(core.parents)
    if 2 * core.numbers[LENGTH] > wider:
        wider *= 4
    if core.numbers[STEPS] + core.numbers[LENGTH] > longer:
        longer *= 4
    return wider, longer


def _longer(core: Any, width: int, steps: int) -> Any:
    """Return a core with longer arrays and the same content."""
    new = Core(
        np.empty((2, width), np.int64),
        np.empty((2, width)),
        np.empty((2, width), np.int64),
        np.empty(steps, np.int32),
        np.empty(steps, np.int32),
        np.zeros(7, np.int64),
    )
    if core is not None:
        for name in ("size", "worth", "step"):
            old = getattr(core, name)
            getattr(new, name)[:, : old.shape[1]] = old
        new.parents[: len(core.parents)], new.items[: len(core.items)] = core.parents, core.items
        new.numbers[:] = core.numbers
    return new


def fractional_bound(values: FloatArray, weights: FloatArray, room: float) -> float:
    """Return the value of the fractional knapsack with one row."""
    good = values > 0.0
    worth, weights = values[good], weights[good]
    with np.errstate(divide="ignore", over="ignore"):
        order = np.argsort(-worth / weights, kind="stable")
    worth, weights = worth[order], weights[order]
    filled = np.minimum(np.cumsum(weights), room)
    taken = np.diff(filled, prepend=0.0)
    shares = np.divide(taken, weights, out=np.ones_like(taken), where=weights > 0.0)
    with np.errstate(over="ignore"):
        return float((worth * shares).sum())


# Weights that are not integers are counted in units of 2^-40 of the capacity, so that three times 0.1 is 0.3.
_PARTS = 40
# The number of steps of a search up to which a compiled rule allocates them in advance.
_KEPT = 2**18
# Sizes are at most 2^53 + 1, so the sum of fewer sizes is a 64-bit number.
_FEW = 2**9


class Knapsack(AnytimeOracle):
    """The sets of arms with a total weight of at most `capacity`, including the empty set.

    Exact for all weights and capacities, by dynamic programming over the undominated sets. An upper bound
    removes further sets, and the sets differ from the greedy one only in a core of items, which expands
    (Pisinger 1997). Small problems have a compiled rule.
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
    gap : float
        The relative gap, in [0, 1), at which a call may stop.
    time_limit : float, optional
        The time limit of a call in seconds. With 0, a call returns the greedy answer, or the best arm if its
        mean is larger.
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
    (1969). D. Pisinger: A Minimal Algorithm for the 0-1 Knapsack Problem,
    Operations Research 45 (1997).
    """

    can_constrain = True

    has_membership = True

    def __init__(
        self,
        weights: ArrayLike,
        capacity: float,
        *,
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
        self._sizes, self._room = in_whole_numbers(self.weights, self.capacity)
        self._set_limits(checked_limits(time_limit, gap, on_limit), greedy_ratio=0.5)

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
        return self.on_limit == "best" and self._steps > _KEPT

    @property
    def _most(self) -> int:
        """The largest number of undominated sets; sets of more than twice the capacity are not listed."""
        return int(min(2 * self._room + 1, 2 ** min(self.n_arms, 60)))

    @property
    def _steps(self) -> int:
        """The largest number of steps of a search."""
        return self.n_arms * self._most

    def _search(self, values: FloatArray) -> SolverCertificate:
        """Return the best set found, in increasing order, with an upper bound on the mean of every set."""
        arms, bound = self._packed(values, self._room)
        return self._certificate(arms, value_of(values[arms]), bound)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        values = self._check_means(means).copy()
        required, banned = self._check_constraints(include, exclude)
        room = self._room - self._total(required)
        if room < 0:
            return None
        values[required] = values[banned] = 0.0
        return np.sort(np.concatenate((required, self._packed(values, room)[0])))

    def kernel(self) -> Kernel | None:
        return None if self._steps > _KEPT or self.time_limit == 0.0 else self._compiled(self._room)

    def _compiled(self, room: int) -> Kernel:
        """Return the compiled rule for a capacity, at most that of the oracle."""
        width, m = 2 * self._most, self.n_arms
        scratch = np.empty(4 * m + 4 * width + 2 * self._steps + 7, np.int64)
        integers = np.concatenate(([room, width, self._steps], self._sizes, scratch))
        return Kernel(solve_knapsack, integers, np.empty(2 * (m + width)))

    def _packed(self, values: FloatArray, room: int) -> tuple[IntArray, float]:
        """Return the best set found and an upper bound on the mean of every set."""
        if self._steps <= _KEPT and self.time_limit != 0.0:
            rule, out = self._compiled(room), np.empty(self.n_arms, np.int64)
            means = np.require(values, float, ["C", "W"])
            chosen = out[: rule.function(means, rule.integers, rule.reals, out)]
            return chosen, value_of(values[chosen])
        with Clock(self.time_limit) as clock:
            return packed(values, self._sizes, room, clock, self.gap)

    def _stopped(self) -> str:
        return (
            f"Knapsack must prove an optimum, got to time_limit={self.time_limit} or to its largest number "
            "of sets first; write on_limit='best' for the best set found"
        )


def in_whole_numbers(weights: FloatArray, capacity: float) -> tuple[IntArray, int]:
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


class Packing(PuLPOracle):
    """Sets of arms with rows of weights and capacities: a greedy answer for programs of `PuLPOracle`."""

    has_membership = True

    def _check_rows(self, weights: ArrayLike, capacities: ArrayLike, shape: str) -> None:
        """Set `weights` and `capacities`, and their rows as the solver gets them."""
        self.weights = np.array(real_array("weights", weights))
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise ValueError(f"weights must have shape {shape}, got {self.weights.shape}")
        vector("weights", self.weights.reshape(-1), low=0.0)
        self.capacities = vector("capacities", capacities, len(self.weights), 0.0)
        scaled_rows = [scaled_row(*row) for row in zip(self.weights, self.capacities.tolist(), strict=True)]
        self._rows = np.array([row for row, _ in scaled_rows])
        self._room = np.array([room for _, room in scaled_rows])

    def __repr__(self) -> str:
        return described(self, sense=self.sense, weights=self.weights.shape)

    def _greedy(self, values: FloatArray) -> IntArray:
        """Return the arms that fit, in decreasing order of the mean per share of all capacities."""
        feasible, n_rows = self._set, len(self._set.row_upper)
        rows = np.repeat(np.arange(n_rows), np.diff(feasible.starts))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shares = np.nan_to_num(feasible.coefficients / feasible.row_upper[rows], posinf=np.inf)
            total = np.bincount(feasible.columns, shares, self.n_arms)
            worth = self._sign * values
            order = np.argsort(-np.where(worth > 0.0, worth / total, worth * total), kind="stable")
        by_arm = np.argsort(feasible.columns, kind="stable")
        ends = np.cumsum(np.bincount(feasible.columns, minlength=self.n_arms))
        left, chosen = feasible.row_upper.copy(), []
        for arm in order:
            own = by_arm[ends[arm - 1] if arm else 0 : ends[arm]]
            if (worth[arm] > 0.0 or self._is_complete) and (
                feasible.coefficients[own] <= left[rows[own]]
            ).all():
                chosen.append(arm)
                left[rows[own]] -= feasible.coefficients[own]
        found = np.sort(np.array(chosen, np.int64))
        return found if self.is_feasible(found) else self._largest

    _is_complete = False


class MultidimensionalKnapsack(Packing):
    """The sets of arms that satisfy several capacities, including the empty set.

    The oracle uses integer programming as in `PuLPOracle`; it is exact unless `gap` is positive. For one row,
    `Knapsack` is faster. Rows of integers with a capacity below 2^20 are satisfied exactly, other rows up to
    1e-6 of their capacity.

    Parameters
    ----------
    weights : array_like, shape (rows, n_arms)
        The amount of each capacity that each arm uses, nonnegative.
    capacities : array_like, shape (rows,)
        The capacities, nonnegative.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    on_limit : {"raise", "best"}
        As in `PuLPOracle`. With ``time_limit=0``, a call returns the greedy answer.

    Raises
    ------
    ValueError
        If an argument is out of range.
    SolverError
        As in `PuLPOracle`.

    Examples
    --------
    Money and hours:

    >>> import numpy as np
    >>> from oracles import MultidimensionalKnapsack
    >>> oracle = MultidimensionalKnapsack([[3, 2, 2, 1], [1, 1, 4, 1]], capacities=[5, 4])
    >>> oracle.solve(np.array([0.4, 0.6, 0.9, 0.3]), np.random.default_rng(0))
    array([0, 1])

    References
    ----------
    H. Kellerer, U. Pferschy, D. Pisinger: Knapsack Problems (2004), chapter 9.
    """

    def __init__(
        self,
        weights: ArrayLike,
        capacities: ArrayLike,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        self._check_rows(weights, capacities, "(rows, n_arms)")
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        arms = np.arange(self.weights.shape[1])
        fitting = (np.cumsum(np.sort(self._rows), axis=1) <= self._room[:, np.newaxis] + INTEGRAL).sum(axis=1)
        rows = [(arms, row, -np.inf, room) for row, room in zip(self._rows, self._room, strict=True)]
        feasible = rows_of(len(arms), rows)
        self._begin(feasible, "max", limits, largest=np.empty(0, np.int64), max_size=int(fitting.min()))

    def _easy_bound(self, values: FloatArray) -> float:
        """Return the least upper bound of the fractional knapsacks of all rows (Dantzig 1957)."""
        return min(
            fractional_bound(values, row, room) for row, room in zip(self._rows, self._room, strict=True)
        )


class GeneralizedAssignment(Packing):
    """Assignments of each job to at most one agent, where the jobs of an agent must fit its capacity.

    Base arm ``agent * jobs + job`` is the pair of `agent` and `job`.

    Parameters
    ----------
    weights : array_like, shape (agents, jobs)
        The capacity that each job needs of each agent, nonnegative. Capacities are satisfied as in
        `MultidimensionalKnapsack`.
    capacities : array_like, shape (agents,)
        The capacity of each agent, nonnegative.
    complete : bool
        Whether every job must be assigned.
    sense : {"max", "min"}
        Whether the means are rewards or costs.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    on_limit : {"raise", "best"}
        As in `PuLPOracle`. With ``time_limit=0``, a call returns the greedy answer.

    Raises
    ------
    ValueError
        If an argument is out of range, or if no complete assignment fits the capacities.
    SolverError
        As in `PuLPOracle`.

    Examples
    --------
    Two agents with five hours each, and three jobs:

    >>> import numpy as np
    >>> from oracles import GeneralizedAssignment
    >>> oracle = GeneralizedAssignment([[3, 4, 2], [5, 2, 3]], capacities=[5, 5])
    >>> oracle.labels(oracle.solve(np.array([0.5, 0.9, 0.4, 0.8, 0.7, 0.6]), np.random.default_rng(0)))
    [(0, 0), (1, 1), (1, 2)]
    """

    def __init__(
        self,
        weights: ArrayLike,
        capacities: ArrayLike,
        *,
        complete: bool = False,
        sense: Sense = "max",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        self._check_rows(weights, capacities, "(agents, jobs)")
        check_flag("complete", complete)
        self.complete = self._is_complete = bool(complete)
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        self._names = list(np.ndindex(*self.weights.shape))
        arms = np.arange(self.weights.size).reshape(self.weights.shape)
        rows = [(jobs, np.ones(len(jobs)), 1.0 if complete else -np.inf, 1.0) for jobs in arms.T]
        rows += [
            (own, row, -np.inf, room) for own, row, room in zip(arms, self._rows, self._room, strict=True)
        ]
        try:
            self._begin(
                rows_of(self.weights.size, rows),
                sense,
                limits,
                largest=None if complete else np.empty(0, np.int64),
                max_size=self.weights.shape[1],
            )
        except ValueError as error:
            if not (complete and "feasible" in str(error)):
                raise
            room = shown(self.capacities.tolist())
            raise ValueError(f"capacities must fit every job if complete=True, got {room}") from error

    def _easy_bound(self, values: FloatArray) -> float:
        """Return the value if each job had its best agent, without capacities."""
        best = (self._sign * values.reshape(self.weights.shape)).max(axis=0)
        return self._sign * value_of(best if self.complete else np.maximum(best, 0.0))
