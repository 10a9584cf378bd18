"""A binary heap of entries with keys: the largest key comes first, and among equal keys the least entry."""

from cmab.compiled._kernels import lean_kernel

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
