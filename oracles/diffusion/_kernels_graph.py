"""Graph kernels of influence maximisation: counting sort, strong components, the reverse graph."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.kernels import kernel


class Arcs(NamedTuple):
    """The arcs of a graph by tail and head, and the numbers of the arcs out of and into each node.

    The arcs out of node v are ``out_arms[out_offsets[v]:out_offsets[v + 1]]``; arcs into v are stored
    likewise.
    """

    tails: AnyArray
    heads: AnyArray
    out_offsets: IntArray
    out_arms: AnyArray
    in_offsets: IntArray
    in_arms: AnyArray


# The first 31 bits of a probability are compared with 31 random bits; p = 1 (2^31) is above all of them.
SCALE = 2.0**31
CERTAIN = np.uint32(1 << 31)


@kernel
def group_offsets(keys, n):
    """Return where each of the groups 0..n-1 of `keys` begins after sorting, and the end."""
    offsets = np.zeros(n + 1, np.int64)
    for i in range(keys.shape[0]):
        offsets[keys[i] + 1] += 1
    for v in range(n):
        offsets[v + 1] += offsets[v]
    return offsets


@kernel
def order_by(keys, n):
    """Return the offsets of the groups 0..n-1 of `keys`, and the positions of a stable sort."""
    offsets = group_offsets(keys, n)
    # A counting sort is stable, and linear in keys and groups.
    place = offsets[:-1].copy()
    order = np.empty(keys.shape[0], np.int32)
    for i in range(keys.shape[0]):
        order[place[keys[i]]] = i
        place[keys[i]] += 1
    return offsets, order


@kernel
def count_extremes(chances):
    """Return how many probabilities are 1, and how many are 0."""
    certain, impossible = 0, 0
    for i in range(chances.shape[0]):
        certain += chances[i] == 1.0
        impossible += chances[i] == 0.0
    return certain, impossible


@kernel
def write_limits(chances, arms, first, last, limits):
    """Write to `limits` the first 31 bits of the probabilities of ``arms[first:last]``."""
    for i in range(first, last):
        # This is exact: a power of two moves the binary point. The cast drops the bits that `is_below`
        # compares.
        limits[i] = np.uint32(chances[arms[i]] * SCALE)


@kernel
def strong_components(offsets, arms, heads, chances):
    """Return the strong component of each node in the graph of certain arcs (Tarjan 1972, iterative).

    Components are numbered in the order of their lowest nodes.
    """
    n = offsets.shape[0] - 1
    number, low = np.zeros(n, np.int32), np.zeros(n, np.int32)
    component = np.full(n, -1, np.int32)
    # The position of the search at each node, which recursion would keep in local variables. `path` is the
    # recursion stack, and `stack` holds the nodes without a component.
    position = offsets[:-1].copy()
    path, stack = np.empty(n, np.int32), np.empty(n, np.int32)
    depth, held, clock, found = 0, 0, 0, 0
    for start in range(n):
        if number[start]:
            continue
        path[0], depth = start, 1
        while depth:
            v = path[depth - 1]
            if number[v] == 0:
                clock += 1
                number[v] = low[v] = clock
                stack[held] = v
                held += 1
            descended = False
            while position[v] < offsets[v + 1]:
                at = position[v]
                position[v] += 1
                if chances[arms[at]] != 1.0:
                    continue
                w = heads[arms[at]]
                if number[w] == 0:
                    path[depth] = w
                    depth += 1
                    descended = True
                    break
                # Nodes without a component are on the stack. Nodes with a component cannot reach v.
                if component[w] < 0:
                    low[v] = min(low[v], number[w])
            if descended:
                continue
            depth -= 1
            if depth:
                parent = path[depth - 1]
                low[parent] = min(low[parent], low[v])
            # v is the first visited node of its component, and the nodes above it on the stack are the
            # others.
            if low[v] == number[v]:
                while True:
                    held -= 1
                    component[stack[held]] = found
                    if stack[held] == v:
                        break
                found += 1
    return _renumbered(component, found)


@kernel
def _renumbered(component, found):
    names = np.full(found, -1, np.int32)
    fresh = 0
    for v in range(component.shape[0]):
        if names[component[v]] < 0:
            names[component[v]] = fresh
            fresh += 1
        component[v] = names[component[v]]
    return component


@kernel
def certain_owners(offsets, heads, arms, chances, component, chosen):
    """Return for each component one of the `chosen` that reaches it by certain arcs, or -1.

    `heads` are in the order of the tails of arcs, `chances` in the order of the arms.
    """
    n, found = component.shape[0], 0
    for v in range(n):
        found = max(found, component[v] + 1)
    owners = np.full(found, -1, np.int32)
    # The statement ``owners[chosen] = chosen`` takes three seconds to compile.
    for c in chosen:
        owners[c] = c
    queue, queued, end = np.empty(n, np.int32), np.zeros(n, np.bool_), 0
    # The search starts from all chosen components together, so every node is visited once.
    for v in range(n):
        if owners[component[v]] >= 0:
            queue[end], queued[v] = v, True
            end += 1
    at = 0
    while at < end:
        v = queue[at]
        at += 1
        for i in range(offsets[v], offsets[v + 1]):
            w = heads[i]
            if not queued[w] and chances[arms[i]] == 1.0:
                queue[end], queued[w] = w, True
                end += 1
                if owners[component[w]] < 0:
                    owners[component[w]] = owners[component[v]]
    return owners


@kernel
def reverse_arcs(tails, heads, means, component, n):
    """Return the possible arcs into each of `n` components as (offsets, tails, limits, arms)."""
    into = np.empty(tails.shape[0], np.int32)
    for i in range(tails.shape[0]):
        u, v = component[tails[i]], component[heads[i]]
        into[i] = v if means[i] > 0.0 and u != v else n  # the last group is dropped
    offsets, order = order_by(into, n + 1)
    arms = order[: offsets[n]]
    in_tails, in_limits = np.empty(arms.shape[0], np.int32), np.empty(arms.shape[0], np.uint32)
    write_limits(means, arms, 0, arms.shape[0], in_limits)
    for j in range(arms.shape[0]):
        in_tails[j] = component[tails[arms[j]]]
    return offsets[:-1], in_tails, in_limits, arms
