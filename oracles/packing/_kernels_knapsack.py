"""The 0-1 knapsack: lists of undominated partial sets, pruned by an upper bound."""

import math
from typing import NamedTuple

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import descending_order, lean_kernel, solve_kernel


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
