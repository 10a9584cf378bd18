"""Greedy algorithms and exchanges for the matroids of `oracles`."""

import numpy as np

from cmab.kernels import kernel, lean_kernel


@lean_kernel
def laminar_greedy(order, innermost, parent, room, left, taken):
    """Write 1 to `taken` for the chosen arms and 0 otherwise; `left` is scratch of the length of `room`.

    Each chosen arm reduces the room of its innermost set and of all sets that contain it.
    """
    taken[:] = 0
    for s in range(room.shape[0]):  # copying a slice takes seconds to compile
        left[s] = room[s]
    for arm in order:
        s = innermost[arm]
        # An arm fits if all sets that contain it have room. They are nested, so one walk outward checks them
        # all.
        while s >= 0 and left[s] > 0:
            s = parent[s]
        # The walk ends outside the outermost set (s = -1) if no set was full.
        if s >= 0:
            continue
        taken[arm] = 1
        s = innermost[arm]
        while s >= 0:
            left[s] -= 1
            s = parent[s]


@lean_kernel
def _find(root, node):
    """Return the representative of the component of `node`, with path halving."""
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return node


@lean_kernel
def kruskal(order, tails, heads, root, size, taken):
    """Write 1 to `taken` for each edge that joins two components when added in this order, otherwise 0.

    `root` and `size` are scratch arrays with one entry per node.
    """
    taken[:] = 0
    for node in range(root.shape[0]):
        root[node], size[node] = node, 1
    for edge in order:
        u, v = _find(root, tails[edge]), _find(root, heads[edge])
        if u == v:
            continue
        # Attach the smaller tree to the larger one: with path halving, a search takes nearly constant time.
        if size[u] < size[v]:
            u, v = v, u
        root[v] = u
        size[u] += size[v]
        taken[edge] = 1


@kernel
def root_forest(forest, tails, heads, n_nodes):
    """Return the rows (parent, edge to the parent, depth) of the nodes; roots have depth 0."""
    first = np.full(n_nodes, -1, np.int64)
    following = np.empty(2 * forest.shape[0], np.int64)  # linked lists of half-edges
    for i in range(forest.shape[0]):
        u, v = tails[forest[i]], heads[forest[i]]
        following[2 * i], first[u] = first[u], 2 * i
        following[2 * i + 1], first[v] = first[v], 2 * i + 1
    # Half-edge 2i starts at the tail of edge i, half-edge 2i + 1 at its head.
    rooted = np.full((3, n_nodes), -1, np.int64)
    queue = np.empty(n_nodes, np.int64)
    for root in range(n_nodes):
        if rooted[2, root] >= 0:
            continue
        rooted[2, root] = 0
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            half = first[node]
            while half >= 0:
                edge = forest[half >> 1]
                other = heads[edge] if half & 1 == 0 else tails[edge]
                if rooted[2, other] < 0:
                    rooted[0, other], rooted[1, other] = node, edge
                    rooted[2, other] = rooted[2, node] + 1
                    queue[tail] = other
                    tail += 1
                half = following[half]
    return rooted


@kernel
def forest_path(u, v, rooted):
    """Return the edges of the path between two nodes of the same tree."""
    path = np.empty(rooted[2, u] + rooted[2, v], np.int64)
    size = 0
    while u != v:
        # The deeper end moves up, so the two ends meet at their lowest common ancestor.
        if rooted[2, u] < rooted[2, v]:
            u, v = v, u
        path[size] = rooted[1, u]
        size += 1
        u = rooted[0, u]
    return path[:size]


@kernel
def search(start, offsets, sets, holder, reached_by, seen, queue):
    """Search alternating paths from an arm to a set without a holder, through sets not yet in `seen`.

    Return that set (-1 if no set is reached) and the number of arms reached; these arms are in `queue`.
    """
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        arm = queue[head]
        head += 1
        for i in range(offsets[arm], offsets[arm + 1]):
            s = sets[i]
            if seen[s]:
                continue
            seen[s] = True
            reached_by[s] = arm
            # A free set: the path to it alternates between sets not held and sets held.
            if holder[s] < 0:
                return s, tail
            queue[tail] = holder[s]
            tail += 1
    return -1, tail


@kernel
def transversal_greedy(order, offsets, sets, holder):
    """Return which arms are chosen, and write the representative of each set to `holder` (-1 at first).

    Sets seen by a failed search are not searched again. Their holders reach no other set, and later exchanges
    do not change this. So all failed searches together take one pass over the sets of all arms.
    """
    n_arms, n_sets = offsets.shape[0] - 1, holder.shape[0]
    taken = np.zeros(n_arms, np.bool_)
    held = np.full(n_arms, -1, np.int64)
    reached_by = np.empty(n_sets, np.int64)
    queue = np.empty(n_sets + 1, np.int64)
    closed = np.zeros(n_sets, np.bool_)
    for start in order:
        seen = closed.copy()
        s, _ = search(start, offsets, sets, holder, reached_by, seen, queue)
        if s < 0:
            closed = seen
            continue
        taken[start] = True
        while s >= 0:  # pass the sets along the path to the start, which held none
            arm = reached_by[s]
            holder[s] = arm
            held[arm], s = s, held[arm]
    return taken


@kernel
def linear_greedy(order, vectors, tolerance):
    """Return which vectors (rows of length 1 or 0) have distance above `tolerance` from earlier ones."""
    n_arms, dimension = vectors.shape
    taken = np.zeros(n_arms, np.bool_)
    basis = np.empty((min(n_arms, dimension), dimension))
    size = 0
    for arm in order:
        # A full basis spans the space, so no further vector can join.
        if size == basis.shape[0]:
            break
        rest = basis[size]
        rest[:] = vectors[arm]
        for i in range(size):  # modified Gram-Schmidt, as accurate here as Householder
            product = 0.0
            for j in range(dimension):
                product += basis[i, j] * rest[j]
            for j in range(dimension):
                rest[j] -= product * basis[i, j]
        distance = 0.0
        for j in range(dimension):
            distance += rest[j] * rest[j]
        distance = np.sqrt(distance)
        if distance > tolerance:
            rest /= distance
            taken[arm] = True
            size += 1
    return taken
