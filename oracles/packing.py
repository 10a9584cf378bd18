"""Knapsacks with one capacity or several, and the generalised assignment of jobs to agents.

Small knapsacks have a compiled rule, which lists undominated partial sets. Others are solved by an
expanding core.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import Kernel, eager_kernel, kernel, lean_kernel, solve_kernel
from cmab.guarantees import SolverCertificate
from cmab.oracle import Sense
from cmab.parameters import described
from cmab.selection import descending_order
from cmab.validation import as_array, check_flag, one_of, real, real_array, shown, vector
from oracles.anytime import AnytimeOracle, Clock, OnLimit, SolverError, checked_limits
from oracles.programs import INTEGRAL, PuLPOracle, rows_of, scaled, unscaled, value_of

#: Integers up to this one are exact in double precision.
LARGEST = 2**53
# Rows with a larger capacity are divided into digits of this base. The tolerance of the solver, 1e-6 for each
# column, is far below one unit then.
_SHORT, _BASE_BITS = 2**20, 16

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


class Rows(NamedTuple):
    """The rows of a packing problem; `is_whole` marks rows of integers, which are satisfied exactly."""

    sizes: FloatArray
    room: FloatArray
    is_whole: list[bool]

    @classmethod
    def of(cls, weights: FloatArray, capacities: FloatArray) -> Rows:
        """Return rows with integers unchanged, and the other rows as shares of their capacity."""
        sizes, room, is_whole = np.empty(weights.shape), np.empty(len(weights)), []
        for i, (row, most) in enumerate(zip(weights, capacities, strict=True)):
            whole = bool((row == np.floor(row)).all() and most <= LARGEST)
            most = np.floor(most) if whole else most
            # A weight above the capacity never fits, so its size is irrelevant.
            limited = np.minimum(row, max(most + 1.0, float(np.nextafter(most, np.inf))))
            sizes[i], room[i] = (limited, most) if whole else scaled_row(row, float(most))
            is_whole.append(whole)
        return cls(sizes, room, is_whole)

    def allow(self, row: int, arms: IntArray) -> bool:
        """Return whether arms fit into the capacity of one row."""
        if self.is_whole[row]:
            return sum(int(size) for size in self.sizes[row, arms].tolist()) <= int(self.room[row])
        used = float(self.sizes[row, arms].sum())
        return used <= float(self.room[row]) + INTEGRAL * (1.0 + used)

    def program(self, places: IntArray, first: int) -> tuple[list[Row], list[float]]:
        """Return the rows of a program, and the largest values of further integer columns, from `first` on.

        Column ``places[row, i]`` is arm i of the row. Let w = B w' + d and c = B c' + r, with d, r < B. Then
        ``w x <= c`` if and only if there is an integer q >= 0 with ``d x - B q <= r`` and ``w' x + q <= c'``.
        """
        found: list[Row] = []
        most: list[float] = []
        for arms, row, room, whole in zip(places, self.sizes, self.room, self.is_whole, strict=True):
            if not whole or room < _SHORT:
                found.append((arms, row, -np.inf, float(room)))
                continue
            left, above, carried = row.astype(np.int64), int(room), np.empty(0, np.int64)
            base = 2**_BASE_BITS
            while above >= base:
                carry = np.array([first + len(most)])
                digits = np.concatenate([left % base, np.ones(len(carried)), [-base]])
                found.append((np.concatenate([arms, carried, carry]), digits, -np.inf, float(above % base)))
                most.append(len(arms) + 1.0)
                left, above, carried = left // base, above // base, carry
            last = np.concatenate([left, np.ones(len(carried))])
            found.append((np.concatenate([arms, carried]), last, -np.inf, float(above)))
        return found, most


def scaled_row(weights: FloatArray, room: float) -> tuple[FloatArray, float]:
    """Return integers unchanged, other rows as fractions of the capacity: solver tolerances are absolute."""
    if (weights == np.floor(weights)).all() and room == np.floor(room) and room < 2**20:
        return np.minimum(weights, room + 1.0), room
    if room == 0.0:
        return (weights > 0.0).astype(np.float64), 0.0
    with np.errstate(over="ignore"):  # a weight that exceeds a tiny capacity never fits
        return np.minimum(weights / room, 2.0), 1.0


class Items(NamedTuple):
    """The candidate items in decreasing order of value per size; `taken` is 1 for items of the answer."""

    arms: IntArray
    sizes: IntArray
    worth: FloatArray
    taken: IntArray


class States(NamedTuple):
    """Partial sets in increasing order of size and value: size, value and last step of each."""

    size: IntArray
    worth: FloatArray
    step: IntArray


@lean_kernel
def _sort_items(means, sizes, room, epsilon, items, order, ratio):
    """Write the items of positive mean and positive size that fit; return their number.

    Means are scaled by a power of two, so that sums neither overflow nor underflow. If `epsilon` is positive,
    means are rounded down to a multiple of ``epsilon * largest / n``. So a set of n items loses at most
    ``epsilon`` times the largest mean, which is at most the optimum (Ibarra and Kim 1975).
    """
    n, largest = 0, 0.0
    for arm in range(means.shape[0]):
        if means[arm] > 0.0 and 0 < sizes[arm] <= room:
            items.taken[n] = arm
            n += 1
            largest = max(largest, means[arm])
    exponent = math.frexp(largest)[1]
    grain = epsilon * math.ldexp(largest, -exponent) / max(n, 1)
    for i in range(n):
        worth = math.ldexp(means[items.taken[i]], -exponent)
        items.worth[i] = math.floor(worth / grain) if epsilon > 0.0 else worth
        ratio[i] = items.worth[i] / sizes[items.taken[i]]
    descending_order(ratio[:n], order[:n], items.arms[:n])
    for i in range(n):
        items.arms[i], ratio[i] = items.taken[order[i]], items.worth[order[i]]
    for i in range(n):
        items.sizes[i], items.worth[i] = sizes[items.arms[i]], ratio[i]
    return n


@lean_kernel
def _greedy(items, n, room):
    """Mark the items that fit when taken in this order, and return their value."""
    total = 0.0
    for i in range(n):
        items.taken[i] = 0
        if items.sizes[i] <= room:
            items.taken[i] = 1
            room -= items.sizes[i]
            total += items.worth[i]
    return total


@lean_kernel
def _best(items, n, room, old, new, history):
    """Mark the items of an optimal set; return false if the scratch arrays are too short.

    Nemhauser and Ullmann 1969: for each item, merge the list of sets with the same sets plus the item. Drop a
    set if another set has at most its size and at least its value. Also drop a set if its value plus the
    remaining room times the best remaining ratio does not exceed the best known value (Dantzig 1957). Step s
    added the item ``history[2 s + 1]`` after the step ``history[2 s]``.
    """
    best, best_step, steps, length = _greedy(items, n, room), -1, 0, 1
    old.size[0], old.worth[0], old.step[0] = 0, 0.0, -1
    for i in range(n):
        size, worth = items.sizes[i], items.worth[i]
        onward = items.worth[i + 1] / items.sizes[i + 1] if i + 1 < n else 0.0
        kept, last = 0, -1.0
        a, b = 0, 0  # the next old set, and the next set with the item
        while a < length or b < length:
            with_item = a == length
            if a < length and b < length:
                larger = old.size[b] + size - old.size[a]
                with_item = larger < 0 or (larger == 0 and old.worth[b] + worth > old.worth[a])
            if with_item:
                used, value, step = old.size[b] + size, old.worth[b] + worth, old.step[b]
                b += 1
            else:
                used, value, step = old.size[a], old.worth[a], old.step[a]
                a += 1
            if value <= last or used > room:
                continue
            last = value
            is_best, has_hope = value > best, value + (room - used) * onward > max(value, best)
            if with_item and (is_best or has_hope):
                if 2 * steps == history.shape[0]:
                    return False
                history[2 * steps], history[2 * steps + 1] = step, i
                step, steps = steps, steps + 1
            if is_best:
                best, best_step = value, step
            if has_hope:
                if kept == new.size.shape[0]:
                    return False
                new.size[kept], new.worth[kept], new.step[kept] = used, value, step
                kept += 1
        old, new, length = new, old, kept
    if best_step >= 0:
        items.taken[:] = 0
    while best_step >= 0:
        items.taken[history[2 * best_step + 1]] = 1
        best_step = history[2 * best_step]
    return True


@solve_kernel
def solve_knapsack(means, integers, reals, out):
    """Write the optimal set in increasing order; return -1 if the scratch arrays are too short.

    `integers`: room, largest number of sets, largest number of steps, sizes, scratch. `reals`: epsilon,
    scratch.
    """
    m, room, most, steps = means.shape[0], integers[0], integers[1], integers[2]
    sizes, arms, lists = integers[3 : 3 + m], integers[3 + m : 3 + 5 * m], integers[3 + 5 * m :]
    worth = reals[1 + 2 * m :]
    items = Items(arms[:m], arms[m : 2 * m], reals[1 : 1 + m], arms[2 * m : 3 * m])
    n = _sort_items(means, sizes, room, reals[0], items, arms[3 * m :], reals[1 + m : 1 + 2 * m])
    old = States(lists[:most], worth[:most], lists[most : 2 * most])
    new = States(lists[2 * most : 3 * most], worth[most:], lists[3 * most : 4 * most])
    if not _best(items, n, room, old, new, lists[4 * most : 4 * most + 2 * steps]):
        return -1
    order, chosen = arms[3 * m :], 0
    for arm in range(m):
        order[arm] = sizes[arm] == 0 and means[arm] > 0.0
    for i in range(n):
        order[items.arms[i]] = items.taken[i]
    for arm in range(m):
        if order[arm]:
            out[chosen] = arm
            chosen += 1
    return chosen


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


# The number of states at first and at most, and of steps of their histories at most. Together with the copies
# while they grow, the arrays take up to 1 GB.
_FIRST, _MOST, _MOST_STEPS = 2**12, 2**22, 2**26
# The number of states that remain when there are too many.
_NARROW = 2**16
# The number of merged states between two looks at the clock: about 0.02 seconds.
_BUDGET = 2_000_000


def packed(
    values: FloatArray,
    sizes: IntArray,
    room: int,
    clock: Clock,
    gap: float,
    goes_on: bool,
) -> tuple[IntArray, float]:
    """Return the best set found, in increasing order, and an upper bound on the value of every set.

    If there are too many states, the search ends, or continues with some of them if `goes_on` is true.
    """
    free = np.flatnonzero((values > 0.0) & (sizes == 0))
    items = np.flatnonzero((values > 0.0) & (sizes > 0) & (sizes <= room))
    exponent = -int(np.frexp(values[items].max(initial=0.0))[1])
    worth = np.ldexp(values[items], exponent)
    order = np.argsort(-worth / sizes[items], kind="stable")
    items, worth = items[order], worth[order]
    used, taken = sizes[items], np.zeros(len(items), bool)
    core = _longer(None, _FIRST, 4 * _FIRST)
    best = begin_core(used, worth, room, taken, core)
    state, bound, is_complete = SPENT, np.inf, True
    while state in (SPENT, SHORT):
        if state == SHORT:
            wider, longer = _room_for(core)
            if longer > _MOST_STEPS or (wider > _MOST and not goes_on):
                break
            if wider > _MOST:
                # From here on the bound remains, and the search continues with the most promising states.
                bound = min(bound, hope_left(used, worth, room, best, core))
                is_complete = False
                _narrow(core, used, worth, room)
                wider = core.size.shape[1]
            core = _longer(core, wider, longer)
        if clock.is_over:
            break
        state, best = expand(used, worth, room, _BUDGET, best, core)
        if state == SPENT:
            if is_complete:
                bound = min(bound, hope_left(used, worth, room, best, core))
            if bound - best <= gap * best:
                break
    if is_complete:
        bound = min(bound, hope_left(used, worth, room, best, core))
    mark_best(core, taken)
    arms = np.sort(np.concatenate((free, items[taken])))
    # The value of the set is summed again, in another order.
    share = 0.0 if bound <= best else unscaled(bound - best, exponent)
    with np.errstate(over="ignore"):
        return arms, float(values[arms].sum()) + share


def _narrow(core: Any, sizes: IntArray, worth: FloatArray, room: int) -> None:
    """Keep the states with the largest upper bounds."""
    side, length = core.numbers[SIDE], core.numbers[LENGTH]
    left, right = core.numbers[LEFT], core.numbers[RIGHT]
    before = worth[left] / sizes[left] if left >= 0 else np.inf
    after = worth[right] / sizes[right] if right < len(sizes) else 0.0
    size, value = core.size[side, :length], core.worth[side, :length]
    hope = value + np.where(size <= room, (room - size) * after, (room - size) * before)
    kept = np.sort(np.argpartition(-hope, _NARROW)[:_NARROW])
    for table in (core.size, core.worth, core.step):
        table[side, : len(kept)] = table[side, kept]
    core.numbers[LENGTH] = len(kept)


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
# The number of sets stored at once: initially, at most (for `epsilon`, 2 GB), and in total for a compiled
# rule, which allocates in advance.
_FIRST_knapsack, _MOST_knapsack, _KEPT = 512, 512 * 8**5, 2**18
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
        self._sizes, self._room = in_whole_numbers(self.weights, self.capacity)
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
        if not self._is_small or self.time_limit == 0.0:
            return None
        return self._compiled(self._room, self._most, self.n_arms * self._most)

    def _compiled(self, room: int, most: int, steps: int) -> Kernel:
        """Return the compiled rule for lists of at most `most` sets and `steps` steps in total."""
        scratch = np.empty(4 * self.n_arms + 4 * most + 2 * steps, np.int64)
        integers = np.concatenate(([room, most, steps], self._sizes, scratch))
        return Kernel(solve_knapsack, integers, np.append(self.epsilon, np.empty(2 * (self.n_arms + most))))

    def _packed(self, values: FloatArray, room: int) -> tuple[IntArray, float]:
        """Return the best set found and an upper bound on the mean of every set."""
        if self.time_limit != 0.0 and (self._is_small or self.epsilon > 0.0):
            chosen = self._by_lists(values, room)
            value = value_of(values[chosen])
            return chosen, min(value / (1.0 - self.epsilon), self._fractional(values, room))
        with Clock(self.time_limit) as clock:
            return packed(values, self._sizes, room, clock, self.gap, self.on_limit == "best")

    def _fractional(self, values: FloatArray, room: int) -> float:
        """Return an upper bound: infinite if the set is exact, otherwise the fractional knapsack."""
        if self.epsilon == 0.0:
            return np.inf
        return fractional_bound(values, self._sizes.astype(np.float64), float(room))

    def _by_lists(self, values: FloatArray, room: int) -> IntArray:
        """Return the best set by lists of undominated sets."""
        means, chosen = np.require(values, float, ["C", "W"]), np.empty(self.n_arms, np.int64)
        most = min(_FIRST_knapsack, 2 ** min(self.n_arms, 60))
        while most <= _MOST_knapsack:
            rule = self._compiled(room, most, 4 * most)
            size = rule.function(means, rule.integers, rule.reals, chosen)
            if size >= 0:
                return chosen[:size]
            most *= 8
        raise SolverError(
            f"epsilon must be larger for these weights and means, got {self.epsilon}: the search would have "
            f"to compare more than {_MOST_knapsack:,} sets at once; or write epsilon=0 and on_limit='best'"
        )

    def _stopped(self) -> str:
        return (
            f"Knapsack must prove an optimum, got to time_limit={self.time_limit} or to its largest number "
            "of sets first; write on_limit='best' for the best set found, or a positive epsilon"
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


class MultidimensionalKnapsack(PuLPOracle):
    """The sets of arms that satisfy several capacities, including the empty set.

    The oracle uses integer programming as in `PuLPOracle`; it is exact unless `gap` is positive. For one row,
    `Knapsack` is faster. Rows of integers with a capacity of at most 2^53 are satisfied exactly, other rows
    up to 1e-6 of their capacity.

    Parameters
    ----------
    weights : array_like, shape (rows, n_arms)
        The amount of each capacity that each arm uses, nonnegative. Integers must be at most 2^53; larger
        numbers must be floats.
    capacities : array_like, shape (rows,)
        The capacities, nonnegative, with the same largest integer.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    solver : a PuLP solver, optional
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

    has_membership = True

    def __init__(
        self,
        weights: ArrayLike,
        capacities: ArrayLike,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        solver: Any = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        self.weights = np.array(real_array("weights", weights))
        check_exact("weights", weights)
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise ValueError(f"weights must have shape (rows, n_arms), got {self.weights.shape}")
        vector("weights", self.weights.reshape(-1), low=0.0)
        self.capacities = vector("capacities", capacities, len(self.weights), 0.0)
        check_exact("capacities", capacities)
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        arms = np.arange(self.weights.shape[1])
        self._packing = Rows.of(self.weights, self.capacities)
        self._rows, self._room, _ = self._packing
        fitting = (np.cumsum(np.sort(self._rows), axis=1) <= self._room[:, np.newaxis] + INTEGRAL).sum(axis=1)
        places = np.tile(arms, (len(self.weights), 1))
        feasible = rows_of(len(arms), *self._packing.program(places, len(arms)))
        self._begin(
            feasible, "max", limits, solver, largest=np.empty(0, np.int64), max_size=int(fitting.min())
        )

    def __repr__(self) -> str:
        return described(self, sense=None, weights=self.weights.shape)

    def labels(self, super_arm: IntArray) -> list[Any]:
        super_arm = self._check_entries(super_arm)
        return [int(arm) for arm in super_arm]

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether the arms satisfy all capacities."""
        super_arm = self._check_entries(super_arm)
        return all(self._packing.allow(row, super_arm) for row in range(len(self._room)))

    def _greedy(self, values: FloatArray) -> IntArray:
        """Return the arms that fit, in decreasing order of the mean per share of all capacities."""
        shares = self._rows / np.where(self._room > 0.0, self._room, 1.0)[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            order = np.argsort(-values / shares.sum(axis=0), kind="stable")
        left, chosen = self._room.copy(), []
        for arm in order:
            if values[arm] > 0.0 and (self._rows[:, arm] <= left).all():
                chosen.append(arm)
                left -= self._rows[:, arm]
        return np.sort(np.array(chosen, np.int64))

    def _easy_bound(self, values: FloatArray) -> float:
        """Return the least upper bound of the fractional knapsacks of all rows (Dantzig 1957)."""
        return min(
            fractional_bound(values, row, room) for row, room in zip(self._rows, self._room, strict=True)
        )


# Prices of the capacities that the greedy assignment tries, relative to the mean of the means.
_PRICES = (0.0, 0.25, 0.5, 1.0, 2.0)


class GeneralizedAssignment(PuLPOracle):
    """Assignments of each job to at most one agent, where the jobs of an agent must fit its capacity.

    Base arm ``agent * jobs + job`` is the pair of `agent` and `job`. If all weights are 1, the super arms are
    b-matchings, which `Matching` with capacities solves for any graph of pairs.

    Parameters
    ----------
    weights : array_like, shape (agents, jobs)
        The capacity that each job needs of each agent, nonnegative. Integers must be at most 2^53; larger
        numbers must be floats. Capacities of integer rows are satisfied as in `MultidimensionalKnapsack`.
    capacities : array_like, shape (agents,)
        The capacity of each agent, nonnegative.
    complete : bool
        Whether every job must be assigned.
    method : {"program", "local_ratio"}
        The algorithm. ``"program"`` is exact, or within `gap`; see `PuLPOracle`. ``"local_ratio"`` solves one
        knapsack for each agent in turn, where the value of a job is its gain over the agent that has it so
        far (Cohen, Katzir, Raz 2006). Its ``alpha`` is 1/2. It requires nonnegative rewards and
        ``complete=False``. Calls with constraints always use the program.
    sense : {"max", "min"}
        Whether the means are rewards or costs.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    solver : a PuLP solver, optional
    on_limit : {"raise", "best"}
        As in `PuLPOracle`. With ``time_limit=0``, a call returns the greedy answer.

    Raises
    ------
    ValueError
        If an argument is out of range or does not fit the method, or if no complete assignment fits the
        capacities. In `solve`, if a mean is negative and the method is ``"local_ratio"``.
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

    References
    ----------
    R. Cohen, L. Katzir, D. Raz: An efficient approximation for the generalized assignment problem,
    Information Processing Letters 100 (2006); from memory.
    """

    has_membership = True

    def __init__(
        self,
        weights: ArrayLike,
        capacities: ArrayLike,
        *,
        complete: bool = False,
        method: Literal["program", "local_ratio"] = "program",
        sense: Sense = "max",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        solver: Any = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        self.weights = np.array(real_array("weights", weights))
        check_exact("weights", weights)
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise ValueError(f"weights must have shape (agents, jobs), got {self.weights.shape}")
        vector("weights", self.weights.reshape(-1), low=0.0)
        self.capacities = vector("capacities", capacities, len(self.weights), 0.0)
        check_exact("capacities", capacities)
        check_flag("complete", complete)
        self.complete = bool(complete)
        self.method = one_of("method", method, ("program", "local_ratio"))
        if method == "local_ratio" and (self.complete or sense == "min"):
            raise ValueError("method must be 'program' for costs and complete assignments, got 'local_ratio'")
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        arms = np.arange(self.weights.size).reshape(self.weights.shape)
        least = 1.0 if self.complete else -np.inf
        rows = [(jobs, np.ones(len(jobs)), least, 1.0) for jobs in arms.T]
        self._packing = Rows.of(self.weights, self.capacities)
        self._rows, self._room, _ = self._packing
        packing, carries = self._packing.program(arms, self.weights.size)
        feasible = rows_of(self.weights.size, rows + packing, carries)
        try:
            self._begin(
                feasible,
                sense,
                limits,
                solver,
                largest=None if self.complete else np.empty(0, np.int64),
                max_size=self.weights.shape[1],
            )
        except ValueError as error:
            if not (self.complete and "feasible" in str(error)):
                raise
            room = shown(self.capacities.tolist())
            raise ValueError(f"capacities must fit every job if complete=True, got {room}") from error
        if method == "local_ratio":
            self._agents = [
                Knapsack(row, room) for row, room in zip(self.weights, self.capacities, strict=True)
            ]
            self.alpha = 0.5

    def __repr__(self) -> str:
        return described(self, sense=self.sense, weights=self.weights.shape)

    @property
    def least_mean(self) -> float:
        """0 for ``"local_ratio"`` (its ratio is proved for nonnegative means); otherwise minus infinity."""
        return 0.0 if self.method == "local_ratio" else -np.inf

    def labels(self, super_arm: IntArray) -> list[Any]:
        super_arm = self._check_entries(super_arm)
        return [divmod(int(arm), self.weights.shape[1]) for arm in super_arm]

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether each job has at most one agent (exactly one if complete), and all jobs fit."""
        super_arm = self._check_entries(super_arm)
        agents, jobs = np.divmod(super_arm, self.weights.shape[1])
        counts = np.bincount(jobs, minlength=self.weights.shape[1])
        if (counts > 1).any() or (self.complete and not counts.all()):
            return False
        return all(self._packing.allow(agent, jobs[agents == agent]) for agent in range(len(self._room)))

    @property
    def certifies_calls(self) -> bool:  # type: ignore[override]
        """Whether calls have their own approximation ratios: true if a limit may end a search."""
        return self.method == "program" and self._may_stop_early

    def _search(self, values: FloatArray) -> SolverCertificate:
        """Return the best assignment found, with a bound on the optimum.

        For ``"local_ratio"``, the bound is the smaller of twice the value and the sum of the best agents.
        """
        if self.method == "program":
            return super()._search(values)
        worth, rng = values.reshape(self.weights.shape), np.random.default_rng(0)
        jobs = np.arange(self.weights.shape[1])
        # The profit of a job for an agent beyond its profit for the current agent (the local-ratio
        # decomposition).
        has, given = np.full(len(jobs), -1), np.zeros(len(jobs))
        for agent, knapsack in enumerate(self._agents):
            more = worth[agent] - given
            taken = knapsack.solve(np.maximum(more, 0.0), rng)
            taken = taken[more[taken] > 0.0]
            has[taken], given[taken] = agent, worth[agent, taken]
        chosen = has >= 0
        arms = np.sort(has[chosen] * len(jobs) + jobs[chosen])
        value = value_of(worth.reshape(-1)[arms])
        bound = max(value, min(2.0 * value, self._easy_bound(worth.reshape(-1))))
        return SolverCertificate(arms, value, bound, True)

    def _easy_bound(self, values: FloatArray) -> float:
        """Return the value if each job had its best agent, without capacities."""
        best = (self._sign * values.reshape(self.weights.shape)).max(axis=0)
        return self._sign * value_of(best if self.complete else np.maximum(best, 0.0))

    def _greedy(self, values: FloatArray) -> IntArray:
        """Return the best of several greedy assignments, or the one that the constructor found."""
        values, _ = scaled(values)
        worth = self._sign * values.reshape(self.weights.shape)
        sizes = self._rows / np.where(self._room > 0.0, self._room, 1.0)[:, np.newaxis]
        # The price of a capacity, in units of the means; relative sizes are at most the number of pairs.
        relative = sizes / max(sizes.mean(), np.finfo(np.float64).tiny)
        measures = [worth - price * np.abs(worth).mean() * relative for price in _PRICES]
        found = [self._assigned(worth, measure) for measure in (*measures, -sizes)]
        complete = [arms for arms in found if arms is not None]
        return max(complete, key=lambda arms: self._sign * values[arms].sum(), default=self._largest)

    def _assigned(self, worth: FloatArray, measure: FloatArray) -> IntArray | None:
        """Return a greedy assignment; None if it cannot be completed.

        The next job is the one that loses most by its second-best agent (Martello and Toth 1990, section 7.4,
        from memory). `measure` is the desirability of each pair.
        """
        left, chosen, jobs = self._room.copy(), [], np.arange(worth.shape[1])
        while len(jobs):
            is_good = self._rows[:, jobs] <= left[:, np.newaxis]
            if not self.complete:
                is_good &= worth[:, jobs] > 0.0
            if self.complete and not is_good.any(axis=0).all():
                return None
            jobs, is_good = jobs[is_good.any(axis=0)], is_good[:, is_good.any(axis=0)]
            if not len(jobs):
                break
            values = np.where(is_good, measure[:, jobs], -np.inf)
            agents = np.argmax(values, axis=0)
            best = values[agents, np.arange(len(jobs))]
            values[agents, np.arange(len(jobs))] = -np.inf
            with np.errstate(invalid="ignore", over="ignore"):
                place = int(np.argmax(best - values.max(axis=0)))
            agent, job = int(agents[place]), int(jobs[place])
            chosen.append(agent * worth.shape[1] + job)
            left[agent] -= self._rows[agent, job]
            jobs = np.delete(jobs, place)
        return np.sort(np.array(chosen, np.int64))
