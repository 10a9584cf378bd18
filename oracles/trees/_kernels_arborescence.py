"""Cheapest spanning arborescences by Edmonds' contractions, with mergeable heaps: O(m log n)."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import lean_kernel, solve_kernel
from oracles.paths._kernels_paths import shrink


class Heaps(NamedTuple):
    """Skew heaps of arcs, with the cheapest on top; `later` has pending reductions of the costs in a heap."""

    cost: FloatArray
    later: FloatArray
    left: IntArray
    right: IntArray


class Sets(NamedTuple):
    """Disjoint sets of nodes with joins that can be undone; the `up` of a root is -1."""

    up: IntArray
    members: IntArray
    joined: IntArray


@lean_kernel
def _settle(heaps, arc):
    """Apply the pending cost reduction of an arc, and pass it to both heaps below."""
    change = heaps.later[arc]
    heaps.cost[arc] += change
    for below in (heaps.left[arc], heaps.right[arc]):
        if below >= 0:
            heaps.later[below] += change
    heaps.later[arc] = 0.0


@lean_kernel
def _meld(heaps, one, other):
    """Return the top of two heaps merged: skew heaps from the top down, Sleator and Tarjan 1986."""
    top, above = -1, -1
    while one >= 0 and other >= 0:
        _settle(heaps, one)
        _settle(heaps, other)
        if heaps.cost[other] < heaps.cost[one] or (heaps.cost[other] == heaps.cost[one] and other < one):
            one, other = other, one
        if above < 0:
            top = one
        else:
            heaps.left[above] = one
        # Swap the children; the rest is merged into the new left child.
        rest = heaps.right[one]
        heaps.right[one] = heaps.left[one]
        above, one = one, rest
    rest = max(one, other)
    if above < 0:
        return rest
    heaps.left[above] = rest
    return top


@lean_kernel
def _find(up, node):
    """Return the root of a node's set; without path compression, because joins are undone."""
    while up[node] >= 0:
        node = up[node]
    return node


@lean_kernel
def _join(sets, size, one, other):
    """Join the smaller set of two roots into the larger one, as join number `size`; return the new root."""
    if sets.members[one] < sets.members[other]:
        one, other = other, one
    sets.joined[size], sets.up[other] = other, one
    sets.members[one] += sets.members[other]
    return one


@lean_kernel
def _undo(sets, size):
    """Undo join number `size`, the last remaining join."""
    other = sets.joined[size]
    sets.members[sets.up[other]] -= sets.members[other]
    sets.up[other] = -1


class Arcs(NamedTuple):
    """Arc i leads from ``tails[i]`` to ``heads[i]``; node numbers are below `n_nodes`."""

    tails: IntArray
    heads: IntArray
    n_nodes: int
    root: int


@lean_kernel
def arborescence(graph, integers, reals, into):
    """Write the arc into each node (-1 for the root) of a cheapest arborescence; return whether one exists.

    `reals` begins with the costs of the arcs, infinite for closed arcs. It also serves as scratch space, two
    numbers per arc. `integers` is scratch space, 2 numbers per arc and 12 per node. From each node, follow
    the cheapest arc into its component backward, until the tree of the root is reached. A cycle becomes one
    component; the cost of each other arc into it is reduced by the cost of the cycle's arc that it would
    replace (Edmonds 1967; Gabow et al. 1986, section 3, with skew heaps instead of Fibonacci heaps).
    """
    tails, heads, n, root = graph
    m = tails.shape[0]
    shrink(reals[:m], n)
    costs = reals[:m]
    heaps = Heaps(costs, reals[m : 2 * m], integers[:m], integers[m : 2 * m])
    rows = integers[2 * m : 2 * m + 12 * n].reshape((12, n))
    sets, size = Sets(rows[0], rows[1], rows[2]), 0
    top, seen = rows[3], rows[4]
    # The path backward: components and the arc into each. A contracted cycle has its component, the number of
    # joins before it, and the end of its arcs, which are stored cycle after cycle.
    way, arcs, wholes, befores, ends, n_cycles = rows[5], rows[6], rows[7], rows[8], rows[9], 0
    held, n_held = integers[2 * m + 10 * n : 2 * m + 12 * n], 0
    heaps.later[:], heaps.left[:], heaps.right[:] = 0.0, -1, -1
    sets.up[:], sets.members[:], top[:], seen[:], into[:] = -1, 1, -1, -1, -1
    seen[root] = root
    for arc in range(m):
        if costs[arc] < np.inf and tails[arc] != heads[arc] and heads[arc] != root:
            top[heads[arc]] = _meld(heaps, top[heads[arc]], arc)
    for start in range(n):
        node, length = _find(sets.up, start), 0
        while seen[node] < 0:
            # Drop arcs that are now within a contracted component.
            while top[node] >= 0 and _find(sets.up, tails[top[node]]) == node:
                _settle(heaps, top[node])
                top[node] = _meld(heaps, heaps.left[top[node]], heaps.right[top[node]])
            arc = top[node]
            if arc < 0:
                return False
            _settle(heaps, arc)
            price = heaps.cost[arc]
            top[node] = _meld(heaps, heaps.left[arc], heaps.right[arc])
            if top[node] >= 0:
                heaps.later[top[node]] -= price
            way[length], arcs[length], seen[node] = node, arc, start
            length += 1
            node = _find(sets.up, tails[arc])
            if seen[node] == start:
                before, whole, merged = size, node, -1
                # From the end of the path to the component where the cycle begins.
                while True:
                    length -= 1
                    other = way[length]
                    merged = _meld(heaps, merged, top[other])
                    held[n_held] = arcs[length]
                    n_held += 1
                    if other == node:
                        break
                    whole = _join(sets, size, whole, other)
                    size += 1
                top[whole], seen[whole] = merged, -1
                wholes[n_cycles], befores[n_cycles], ends[n_cycles] = whole, before, n_held
                n_cycles += 1
                node = whole
        for i in range(length):
            into[_find(sets.up, heads[arcs[i]])] = arcs[i]
    # Expand the cycles, last one first, at the node that the arc into the cycle enters.
    for cycle in range(n_cycles - 1, -1, -1):
        whole, before = wholes[cycle], befores[cycle]
        while size > before:
            size -= 1
            _undo(sets, size)
        entering = into[whole]
        for i in range(ends[cycle - 1] if cycle > 0 else 0, ends[cycle]):
            into[_find(sets.up, heads[held[i]])] = held[i]
        into[_find(sets.up, heads[entering])] = entering
    return True


@solve_kernel
def solve_arborescence(means, integers, reals, out):
    """Solve; `integers`: sign, nodes, root, arcs; their tails and heads; arcs into nodes; scratch.

    `reals` is scratch space. Arcs beyond the base arms are free.
    """
    m, n, arcs, size = means.shape[0], integers[1], integers[3], 0
    ends, rest = integers[4 : 4 + 2 * arcs], integers[4 + 2 * arcs :]
    for arm in range(arcs):
        reals[arm] = -integers[0] * means[arm] if arm < m else 0.0
    arborescence(Arcs(ends[:arcs], ends[arcs:], n, integers[2]), rest[n:], reals, rest[:n])
    taken = rest[n : n + m]  # now scratch space
    taken[:] = 0
    for arc in rest[:n]:
        if 0 <= arc < m:
            taken[arc] = 1
    for arm in range(m):
        if taken[arm]:
            out[size] = arm
            size += 1
    return size
