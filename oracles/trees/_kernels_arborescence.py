"""Cheapest spanning arborescences by Edmonds' contractions, with mergeable heaps: O(m log n)."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import lean_kernel, solve_kernel
from oracles.paths._kernels_paths import shrink


class Heaps(NamedTuple):
    """Skew heaps of arcs, the cheapest on top; what a heap's arcs are to cost less waits in `later`."""

    cost: FloatArray
    later: FloatArray
    left: IntArray
    right: IntArray


class Sets(NamedTuple):
    """Disjoint sets of nodes, whose joins can be undone; the `up` of a root is -1."""

    up: IntArray
    members: IntArray
    joined: IntArray


@lean_kernel
def _settle(heaps, arc):
    """Pay what waits at an arc, and leave it with both heaps below."""
    change = heaps.later[arc]
    heaps.cost[arc] += change
    for below in (heaps.left[arc], heaps.right[arc]):
        if below >= 0:
            heaps.later[below] += change
    heaps.later[arc] = 0.0


@lean_kernel
def _meld(heaps, one, other):
    """Return the top of both heaps together: skew heaps from the top down, Sleator and Tarjan 1986."""
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
        # The sides change places, and what is left to meld goes to the new left one.
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
    """Return the root of a node's set; without shortcuts, for joins are undone."""
    while up[node] >= 0:
        node = up[node]
    return node


@lean_kernel
def _join(sets, size, one, other):
    """Join two roots' sets, the smaller into the larger, as join number `size`; return the root."""
    if sets.members[one] < sets.members[other]:
        one, other = other, one
    sets.joined[size], sets.up[other] = other, one
    sets.members[one] += sets.members[other]
    return one


@lean_kernel
def _undo(sets, size):
    """Undo join number `size`, the last one that is left."""
    other = sets.joined[size]
    sets.members[sets.up[other]] -= sets.members[other]
    sets.up[other] = -1


class Arcs(NamedTuple):
    """Arc i leads from ``tails[i]`` to ``heads[i]``; nodes are numbered below `n_nodes`."""

    tails: IntArray
    heads: IntArray
    n_nodes: int
    root: int


@lean_kernel
def arborescence(graph, integers, reals, into):
    """Write the arc into each node (-1 for the root) of the cheapest one; return whether there is any.

    `reals` begins with the costs of the arcs, infinite where one is closed, and is scratch, two numbers an
    arc; `integers` is scratch, 2 an arc and 12 a node. Arcs are followed backwards from each node, each the
    cheapest into its component, until the root's tree is met; a cycle becomes one component, into which
    all other arcs cost less by the arc of the cycle that they would replace (Edmonds 1967; Gabow et al. 1986,
    section 3, with skew heaps in place of Fibonacci's).
    """
    tails, heads, n, root = graph
    m = tails.shape[0]
    shrink(reals[:m], n)
    costs = reals[:m]
    heaps = Heaps(costs, reals[m : 2 * m], integers[:m], integers[m : 2 * m])
    rows = integers[2 * m : 2 * m + 12 * n].reshape((12, n))
    sets, size = Sets(rows[0], rows[1], rows[2]), 0
    top, seen = rows[3], rows[4]
    # The way back: components and the arc into each. A contracted cycle: its component, the joins before
    # it, and the end of its arcs, which stand one cycle after the other.
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
            # Arcs within a component that was contracted meanwhile are no ways in.
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
                # From the end of the way to where the cycle was entered.
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
    # Cycles are opened, the last first, each where the arc into it enters.
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
    """`integers`: sign, nodes, root and arcs; their tails and heads; the arcs into nodes; scratch.

    `reals` is scratch. Arcs beyond the base arms are free.
    """
    m, n, arcs, size = means.shape[0], integers[1], integers[3], 0
    ends, rest = integers[4 : 4 + 2 * arcs], integers[4 + 2 * arcs :]
    for arm in range(arcs):
        reals[arm] = -integers[0] * means[arm] if arm < m else 0.0
    arborescence(Arcs(ends[:arcs], ends[arcs:], n, integers[2]), rest[n:], reals, rest[:n])
    taken = rest[n : n + m]  # scratch by now
    taken[:] = 0
    for arc in rest[:n]:
        if 0 <= arc < m:
            taken[arc] = 1
    for arm in range(m):
        if taken[arm]:
            out[size] = arm
            size += 1
    return size
