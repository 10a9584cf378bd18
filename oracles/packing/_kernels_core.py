"""The 0-1 knapsack by an expanding core: partial sets around the break item, pruned by upper bounds."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import kernel, lean_kernel

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


@kernel
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
