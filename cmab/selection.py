"""Selection of the largest entries: top k, orders, heaps and tournament trees.

Among equal values, the entry with the lower index comes first.
"""

import math

import numpy as np

from cmab.compiled import Kernel, kernel, lean_kernel, solve_kernel

_BLOCK = 64


@lean_kernel
def _worse(values, i, j):
    """Return whether arm `i` ranks after arm `j`: a smaller value, or an equal value and a higher index."""
    return bool(values[i] < values[j] or (values[i] == values[j] and i > j))


@lean_kernel
def top_k(values, k, heap):
    """Write the indices of the `k` largest `values` to `heap`, in increasing order; ties go to lower indices.

    The function keeps a binary heap of the k best so far, with the worst of them at the root. It then orders
    the indices by a second pass, or by sorting if k is small. The expected time is O(m + k log k log(m/k)) on
    shuffled input.
    """
    for i in range(k):
        child = i
        heap[child] = i
        # Move up from the leaf. The root is the worst chosen entry, which later entries must beat.
        while child > 0:
            parent = (child - 1) >> 1
            if not _worse(values, heap[child], heap[parent]):
                break
            heap[child], heap[parent] = heap[parent], heap[child]
            child = parent
    if k == 0:
        return
    bar = values[heap[0]]
    for start in range(k, values.shape[0], _BLOCK):
        block = values[start : start + _BLOCK]
        if _count_above(block, bar) == 0:  # most blocks
            continue
        for i in range(start, start + block.shape[0]):
            if values[i] > bar:
                heap[0] = i
                _sift_down(values, k, heap)
                bar = values[heap[0]]
    # The heap is not in order of index. If k is large, one pass over all values is cheaper than sorting k
    # entries.
    if k * k > values.shape[0]:
        worst, position = heap[0], 0
        for i in range(values.shape[0]):
            if values[i] > bar or (values[i] == bar and i <= worst):
                heap[position] = i
                position += 1
    else:
        _insertion_sort(heap, k)


@lean_kernel
def _count_above(block, bar):
    """Return the number of entries above `bar`, in a loop that the compiler can vectorise."""
    count = 0
    for i in range(block.shape[0]):
        if block[i] > bar:
            count += 1
    return count


@lean_kernel
def _count_from(block, bar):
    """Return the number of entries of at least `bar`, in a loop that the compiler can vectorise."""
    count = 0
    for i in range(block.shape[0]):
        if block[i] >= bar:
            count += 1
    return count


@lean_kernel
def _insertion_sort(entries, n):
    """Sort the first `n` entries."""
    for i in range(1, n):
        entry, j = entries[i], i
        while j > 0 and entries[j - 1] > entry:
            entries[j] = entries[j - 1]
            j -= 1
        entries[j] = entry


@lean_kernel
def _sift_down(values, k, heap):
    """Restore the heap below its root."""
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= k:
            return
        if child + 1 < k and _worse(values, heap[child + 1], heap[child]):
            child += 1
        if not _worse(values, heap[child], heap[parent]):
            return
        heap[parent], heap[child] = heap[child], heap[parent]
        parent = child


@lean_kernel
def renew_top_k(values, k, best):
    """Replace the first `k` entries of `best`, any k arms in increasing order, by the result of `top_k`.

    The function is fast if `best` is nearly right, for example the choice of the last round. It takes one
    pass over the values, and for each exchange one pass over `best`. After many exchanges it calls `top_k`.
    """
    last = last_in_rank(values, k, best)
    bar, passed, exchanges_left = values[best[last]], 0, 8 + values.shape[0] // k
    for start in range(0, values.shape[0], _BLOCK):
        block = values[start : start + _BLOCK]
        stop, before = start + block.shape[0], passed
        while passed < k and best[passed] < stop:
            passed += 1
        # A value equal to `bar` counts only before the arm to beat. All chosen arms of a block are counted.
        rivals = _count_above(block, bar) if start > best[last] else _count_from(block, bar)
        if rivals == passed - before:  # most blocks
            continue
        passed = before
        for i in range(start, stop):
            if passed < k and best[passed] == i:
                passed += 1
            elif values[i] > bar or (values[i] == bar and i < best[last]):
                # An exchange takes about k steps and `top_k` about m, so after m / k exchanges `top_k` is
                # cheaper.
                if exchanges_left == 0:
                    top_k(values, k, best)
                    return
                exchanges_left -= 1
                if best[last] > i:
                    passed += 1
                _exchange(best, k, last, i)
                last = last_in_rank(values, k, best)
                bar = values[best[last]]


@lean_kernel
def last_in_rank(values, k, best):
    """Return the place of the entry with the worst rank among the first `k` entries of `best`.

    These entries must be in increasing order.
    """
    place = 0
    for j in range(1, k):
        if values[best[j]] <= values[best[place]]:
            place = j
    return place


@lean_kernel
def _exchange(entries, n, place, entry):
    """Replace the entry at `place` by `entry`, and keep the `n` entries in increasing order."""
    while place + 1 < n and entries[place + 1] < entry:
        entries[place] = entries[place + 1]
        place += 1
    while place > 0 and entries[place - 1] > entry:
        entries[place] = entries[place - 1]
        place -= 1
    entries[place] = entry


@lean_kernel
def _border(values, inside):
    """Return the least value inside the set and the largest value outside."""
    # Each minimum depends on the one before. Four independent chains run in parallel in the processor.
    low, high, lower, higher = np.inf, -np.inf, np.inf, -np.inf
    even = values.shape[0] & ~1
    for i in range(0, even, 2):
        low = min(low, values[i] if inside[i] else np.inf)
        high = max(high, -np.inf if inside[i] else values[i])
        lower = min(lower, values[i + 1] if inside[i + 1] else np.inf)
        higher = max(higher, -np.inf if inside[i + 1] else values[i + 1])
    for i in range(even, values.shape[0]):
        low = min(low, values[i] if inside[i] else np.inf)
        high = max(high, -np.inf if inside[i] else values[i])
    return min(low, lower), max(high, higher)


@lean_kernel
def restore_best(values, inside):
    """Update the mask `inside` to the largest `values`, with the same number of arms.

    Return the least value inside and the largest value outside. Ties go to the lower index. The function
    takes one pass over the values and one for each exchange, so it is fast if the mask is nearly right.
    """
    # Each iteration exchanges the worst arm inside with the best arm outside, until they are in order.
    while True:
        least, most = _border(values, inside)
        if least > most:
            return least, most
        worst, best = values.shape[0] - 1, 0
        # The first comparison is nearly always true, which the processor predicts well. The mask is not.
        while worst >= 0 and (values[worst] != least or not inside[worst]):
            worst -= 1
        while best < values.shape[0] and (values[best] != most or inside[best]):
            best += 1
        if worst < 0 or best == values.shape[0] or (least == most and worst < best):
            return least, most
        inside[worst], inside[best] = False, True


@lean_kernel
def descending_order(values, order, scratch):
    """Write the positions of `values` to `order`, largest value first, ties in increasing order.

    This is a bottom-up merge sort, which begins with runs that are sorted by insertion.
    """
    m, width = values.shape[0], 16
    for start in range(0, m, width):
        for i in range(start, min(start + width, m)):
            value, place = values[i], i
            while place > start and values[order[place - 1]] < value:
                order[place] = order[place - 1]
                place -= 1
            order[place] = i
    while width < m:
        for start in range(0, m, 2 * width):
            middle, stop = min(start + width, m), min(start + 2 * width, m)
            left, right = start, middle
            for place in range(start, stop):
                from_left = left < middle and (right >= stop or values[order[left]] >= values[order[right]])
                if from_left:
                    scratch[place] = order[left]
                    left += 1
                else:
                    scratch[place] = order[right]
                    right += 1
        for i in range(m):
            order[i] = scratch[i]
        width *= 2


@kernel
def mark_best(values, k, marked):
    """Mark the `k` largest values; ties go to the lower index."""
    chosen = np.empty(k, np.int64)
    top_k(values, k, chosen)
    marked[:] = False
    for arm in chosen:
        marked[arm] = True


@lean_kernel
def mark_best_again(values, best, marked):
    """Mark the k largest values, starting from the k best arms of the last step in `best`.

    k is the length of `best`, which the function updates. The result is that of `mark_best`.
    """
    renew_top_k(values, best.shape[0], best)
    marked[:] = False
    for arm in best:
        marked[arm] = True


@solve_kernel
def solve_top_k(means, integers, reals, out):
    """Write the k arms with the largest means, or with the smallest means if `reals` is not empty.

    `integers` holds the k arms of the last call, where the search starts. ``TopK.kernel`` makes both arrays.
    """
    # `integers` is scratch space with the last answer. Its length is k.
    k, values = len(integers), means
    if reals.shape[0] > 0:
        values = reals
        # For costs, `reals` has room for the negated means, whose k largest entries have the least costs.
        for i in range(means.shape[0]):
            values[i] = -means[i]
    if k > 0:
        renew_top_k(values, k, integers)
    for j in range(k):
        out[j] = integers[j]
    return k


def largest_k(kernel: Kernel) -> int:
    """Return k if the compiled oracle selects the k largest means, otherwise 0."""
    return 0 if kernel.function is not solve_top_k or len(kernel.reals) else len(kernel.integers)


# A binary heap of entries with keys: the largest key comes first, and among equal keys the least entry.
# `keys` is in the order of the heap, not indexed by entry, so comparisons read adjacent memory.


@lean_kernel
def heap_rise(heap, keys, at):
    """Move the entry at place `at` up until the heap is in order."""
    entry, key = heap[at], keys[at]
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] > key or (keys[above] == key and heap[above] < entry):
            break
        heap[at], keys[at] = heap[above], keys[above]
        at = above
    heap[at], keys[at] = entry, key


@lean_kernel
def heap_sink(heap, keys, at, size):
    """Move the entry at place `at` down until the heap of `size` entries is in order."""
    entry, key = heap[at], keys[at]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size:
            one, other = keys[below], keys[below + 1]
            if other > one or (other == one and heap[below + 1] < heap[below]):
                below += 1
        if key > keys[below] or (key == keys[below] and entry < heap[below]):
            break
        heap[at], keys[at] = heap[below], keys[below]
        at = below
    heap[at], keys[at] = entry, key


@lean_kernel
def heap_drop(heap, keys, size):
    """Remove the first of `size` entries, and return the number of entries left."""
    size -= 1
    heap[0], keys[0] = heap[size], keys[size]
    heap_sink(heap, keys, 0, size)
    return size


@lean_kernel
def heap_up(heap, keys, size):
    """Turn the first `size` entries, in any order, into a heap."""
    for at in range(size // 2 - 1, -1, -1):
        heap_sink(heap, keys, at, size)


# Tournament trees hold the largest of many keys and take O(log n) time per change of a key. Several trees
# over the same arms share a table: ``keys[tree, node]`` is the largest key below a node, and
# ``winners[tree, node]`` is the arm with this key. Node 1 is the root, and arm i is the leaf ``size + i``.


@kernel
def tree_size(n):
    """Return the number of leaves, the least power of two that is at least `n`."""
    size = 1
    while size < n:
        size *= 2
    return size


@kernel
def plant(n_trees, size):
    """Return `n_trees` trees without arms, in which every key is minus infinity."""
    keys = np.full((n_trees, 2 * size), -np.inf)
    winners = np.empty((n_trees, 2 * size), np.int64)
    for tree in range(n_trees):
        # Leaves first. All keys are equal, so the left child wins, because ties go to the lower index.
        for node in range(2 * size - 1, 0, -1):
            winners[tree, node] = node - size if node >= size else winners[tree, 2 * node]
    return keys, winners


@lean_kernel
def put(keys, winners, tree, arm, key, last):
    """Give `arm` a new key; among equal keys the first arm wins, or the last one if `last`."""
    node = arm + (keys.shape[1] >> 1)
    keys[tree, node] = key
    while node > 1:
        left = node & ~1
        best, other = keys[tree, left], keys[tree, left + 1]
        winner = left
        if other > best or (last and other == best):
            best = other
            winner = left + 1
        node >>= 1
        arm = winners[tree, winner]
        # If this node does not change, the nodes above do not change either.
        if keys[tree, node] == best and winners[tree, node] == arm:
            return
        keys[tree, node] = best
        winners[tree, node] = arm


@lean_kernel
def are_finite(values):
    """Return whether no value is infinite or nan."""
    finite = True
    for value in values:
        finite &= math.isfinite(value)
    return finite
