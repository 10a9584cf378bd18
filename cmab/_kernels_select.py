"""Selecting the largest entries."""

from cmab._kernels import kernel
from cmab.arrays import FloatArray, IntArray


@kernel
def _worse(values: FloatArray, i: int, j: int) -> bool:
    """Return whether arm `i` ranks behind arm `j`: smaller value, or equal value and higher index."""
    return bool(values[i] < values[j] or (values[i] == values[j] and i > j))


@kernel
def top_k(values: FloatArray, k: int, heap: IntArray) -> None:
    """Write the `k` best of `values` to `heap`, in increasing order of index; ties go to lower ones.

    A binary heap of the k best so far, its root the worst of them; a second pass then reads the answer off
    in order. Expected O(m + k log k log(m/k)) on shuffled input, nothing allocated, no slow case for ties.
    """
    for i in range(k):
        child = i
        heap[child] = i
        while child > 0:
            parent = (child - 1) >> 1
            if not _worse(values, heap[child], heap[parent]):
                break
            heap[child], heap[parent] = heap[parent], heap[child]
            child = parent
    for i in range(k, values.shape[0]):
        if k == 0 or not values[i] > values[heap[0]]:
            continue
        heap[0] = i
        parent = 0
        while True:
            child = 2 * parent + 1
            if child >= k:
                break
            if child + 1 < k and _worse(values, heap[child + 1], heap[child]):
                child += 1
            if not _worse(values, heap[child], heap[parent]):
                break
            heap[child], heap[parent] = heap[parent], heap[child]
            parent = child
    if k > 0:
        worst, position = heap[0], 0
        for i in range(values.shape[0]):
            if not _worse(values, i, worst):
                heap[position] = i
                position += 1
