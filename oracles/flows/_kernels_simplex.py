"""Minimum-cost flows with capacities by the network simplex method."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.kernels import kernel, lean_kernel


class Tree(NamedTuple):
    """A spanning tree of the nodes and an additional root.

    Each node has its parent, the arc between them, its depth and its potential. The children of a node are a
    linked list.
    """

    parent: IntArray
    arc: IntArray
    depth: IntArray
    potential: IntArray
    child: IntArray
    after: IntArray
    before: IntArray


@lean_kernel
def _attach(tree, node, parent, arc):
    """Make `node` the first child of `parent`."""
    tree.parent[node], tree.arc[node] = parent, arc
    next_one = tree.child[parent]
    tree.after[node], tree.before[node] = next_one, -1
    if next_one >= 0:
        tree.before[next_one] = node
    tree.child[parent] = node


@lean_kernel
def _detach(tree, node):
    """Remove `node` from the children of its parent."""
    before, after = tree.before[node], tree.after[node]
    if before >= 0:
        tree.after[before] = after
    else:
        tree.child[tree.parent[node]] = after
    if after >= 0:
        tree.before[after] = before


@lean_kernel
def _settle(tree, tails, costs, top, stack):
    """Compute depths and potentials below `top`, so that the arcs of the tree have reduced cost 0."""
    stack[0], size = top, 1
    while size > 0:
        size -= 1
        node = stack[size]
        parent, arc = tree.parent[node], tree.arc[node]
        tree.depth[node] = tree.depth[parent] + 1
        cost = -costs[arc] if tails[arc] == node else costs[arc]
        tree.potential[node] = tree.potential[parent] + cost
        child = tree.child[node]
        while child >= 0:
            stack[size] = child
            size += 1
            child = tree.after[child]


@kernel
def capacitated_flow(tails, heads, costs, room, supply, flow):
    """Write the cheapest flow with ``0 <= flow <= room``; return whether a flow exists.

    All arrays are integer, so the method is exact. The trees are strongly feasible, so it ends (Cunningham
    1976; Ahuja, Magnanti, Orlin 1993, section 11.6). The last ``n`` arcs are artificial: the arc of a node
    leads to or from the root, and its cost exceeds that of every path.
    """
    n, m = supply.shape[0], flow.shape[0]
    total = m + n
    all_tails, all_heads = np.empty(total, np.int64), np.empty(total, np.int64)
    all_costs, cap, units = np.empty(total, np.int64), np.empty(total, np.int64), np.zeros(total, np.int64)
    state = np.ones(total, np.int64)
    all_tails[:m], all_heads[:m], all_costs[:m], cap[:m] = tails, heads, costs, room
    large = np.int64(1)
    for arc in range(m):
        large = max(large, abs(costs[arc]) + 1)
    large *= n + 1
    tree = Tree(
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
    )
    stack = np.empty(n + 1, np.int64)
    for node in range(n):
        arc = m + node
        all_costs[arc], cap[arc], units[arc], state[arc] = large, np.int64(2) ** 62, abs(supply[node]), 0
        all_tails[arc], all_heads[arc] = (node, n) if supply[node] >= 0 else (n, node)
        _attach(tree, node, n, arc)
        _settle(tree, all_tails, all_costs, node, stack)
    block, at = max(16, int(np.sqrt(m))), 0
    while True:
        entering, at = _entering(tree, all_tails, all_heads, all_costs, state, m, block, at)
        if entering < 0:
            break
        _pivot(tree, all_tails, all_heads, all_costs, cap, units, state, entering, stack)
    for arc in range(m, total):
        if units[arc] > 0:
            return False
    flow[:] = units[:m]
    return True


@lean_kernel
def _entering(tree, tails, heads, costs, state, m, block, at):
    """Return the arc of the worst reduced cost in the first block that has one, and where to continue."""
    best, worst, looked = -1, 0, 0
    for _ in range(m):
        arc = at
        at = at + 1 if at + 1 < m else 0
        looked += 1
        reduced = state[arc] * (costs[arc] + tree.potential[tails[arc]] - tree.potential[heads[arc]])
        if reduced < worst:
            best, worst = arc, reduced
        if looked >= block:
            if best >= 0:
                break
            looked = 0
    return best, at


@lean_kernel
def _pivot(tree, tails, heads, costs, cap, units, state, entering, stack):
    """Send as many units as possible around the cycle that an arc closes, and exchange it for a full arc."""
    is_up = state[entering] == 1
    first = tails[entering] if is_up else heads[entering]
    second = heads[entering] if is_up else tails[entering]
    one, other = first, second
    while one != other:
        if tree.depth[one] >= tree.depth[other]:
            one = tree.parent[one]
        else:
            other = tree.parent[other]
    top = one
    # The last full arc in the direction of the cycle, from its top, leaves the tree.
    most, leaving, is_first = cap[entering], -1, False
    node = first
    while node != top:
        arc = tree.arc[node]
        left = cap[arc] - units[arc] if heads[arc] == node else units[arc]
        if left < most:
            most, leaving, is_first = left, node, True
        node = tree.parent[node]
    node = second
    while node != top:
        arc = tree.arc[node]
        left = cap[arc] - units[arc] if tails[arc] == node else units[arc]
        if left <= most:
            most, leaving, is_first = left, node, False
        node = tree.parent[node]
    if most > 0:
        units[entering] += most if is_up else -most
        node = first
        while node != top:
            arc = tree.arc[node]
            units[arc] += most if heads[arc] == node else -most
            node = tree.parent[node]
        node = second
        while node != top:
            arc = tree.arc[node]
            units[arc] += most if tails[arc] == node else -most
            node = tree.parent[node]
    if leaving < 0:
        state[entering] = -state[entering]
        return
    gone = tree.arc[leaving]
    state[gone] = 1 if units[gone] == 0 else -1
    state[entering] = 0
    node, parent = (first, second) if is_first else (second, first)
    moved, arc = node, entering
    while True:
        old_parent, old_arc = tree.parent[node], tree.arc[node]
        _detach(tree, node)
        _attach(tree, node, parent, arc)
        if node == leaving:
            break
        parent, arc, node = node, old_arc, old_parent
    _settle(tree, tails, costs, moved, stack)
