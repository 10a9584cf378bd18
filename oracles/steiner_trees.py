"""Steiner trees: the cheapest sets of edges that connect all terminals.

The first tree is Mehlhorn's. Few terminals are solved by subsets (Dreyfus and Wagner). Otherwise, dual
ascents give lower bounds, trees and excluded edges, and a linear program with directed cuts, then an integer
program, closes the gap. Arc 2 e leads from the tail of edge e to its head,
and arc 2 e + 1 back.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled import eager_kernel, kernel, lean_kernel
from cmab.guarantees import SolverCertificate
from cmab.parameters import described
from cmab.selection import heap_drop, heap_rise
from cmab.validation import listed, one_of, shown
from oracles._networks import edge_ends, network_of, node_number
from oracles.anytime import AnytimeOracle, Clock, OnLimit, SolverError, checked_limits
from oracles.cuts import Sufficing, minimum_cut
from oracles.programs import import_highs, scaled, silent_highs, value_of

if TYPE_CHECKING:
    import networkx as nx

    from oracles.paths import Roads


@lean_kernel
def arc_from(roads, node, i):
    """Return the arc that leaves `node` over entry i of its list."""
    edge = roads.edges[i]
    return int(2 * edge + (roads.tails[edge] != node))


@lean_kernel
def _settle(roads, lengths, distance, into, is_backward, heap, keys):
    """Lower the distances of nodes to those over other nodes; write the last edge of each lowered node.

    `lengths` are those of the arcs. If `is_backward` is 1, the arcs lead from the other nodes to this one.
    """
    size = 0
    for node in range(distance.shape[0]):
        if distance[node] < np.inf:
            heap[size], keys[size] = node, -distance[node]
            heap_rise(heap, keys, size)
            size += 1
    while size > 0:
        node, reached = heap[0], -keys[0]
        size = heap_drop(heap, keys, size)
        if reached > distance[node]:
            continue
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other, through = roads.ends[i], reached + lengths[arc_from(roads, node, i) ^ is_backward]
            if through < distance[other]:
                distance[other], into[other] = through, roads.edges[i]
                heap[size], keys[size] = other, -through
                heap_rise(heap, keys, size)
                size += 1


@eager_kernel
def nearly_cheapest(roads, weights, terminals, chosen):
    """Write the edges of a tree of at most 2 - 2 / t times the least cost; return whether one exists.

    Each node belongs to its nearest terminal. A minimum spanning tree over the edges between nodes of
    different terminals is a minimum spanning tree of the distances between terminals (Mehlhorn 1988), which
    has the ratio (Kou, Markowsky, Berman 1981).
    """
    n, m, t = roads.offsets.shape[0] - 1, weights.shape[0], terminals.shape[0]
    distance, into = np.full(n, np.inf), np.full(n, -1, np.int64)
    distance[terminals] = 0.0
    heap, keys = np.empty(n + 2 * m, np.int64), np.empty(n + 2 * m)
    _settle(roads, np.repeat(weights, 2), distance, into, 0, heap, keys)
    nearest = np.full(n, -1, np.int64)
    nearest[terminals] = np.arange(t)
    for node in np.argsort(distance, kind="mergesort"):
        if into[node] >= 0:
            # The order may not be correct for edges of weight 0, so walk to a node whose terminal is known.
            at = node
            while nearest[at] < 0:
                at = roads.tails[into[at]] + roads.heads[into[at]] - at
            nearest[node] = nearest[at]
    lengths = weights + distance[roads.tails] + distance[roads.heads]
    group, joined = np.arange(t), 1
    chosen[:] = False
    for edge in np.argsort(lengths, kind="mergesort"):
        if joined == t or lengths[edge] == np.inf:
            break
        one, other = group[nearest[roads.tails[edge]]], group[nearest[roads.heads[edge]]]
        if one == other:
            continue
        group[group == one] = other
        joined += 1
        chosen[edge] = True
        for node in (roads.tails[edge], roads.heads[edge]):
            while into[node] >= 0 and not chosen[into[node]]:
                chosen[into[node]] = True
                node = roads.tails[into[node]] + roads.heads[into[node]] - node
    return bool(joined == t)


@eager_kernel
def cheapest(roads, weights, terminals, chosen):
    """Write the edges of a cheapest tree; return whether one exists: Dreyfus and Wagner 1971.

    A tree for a set of terminals and a node either reaches the node by an edge, or consists of two trees for
    parts of the set that meet at the node.
    """
    n, m, t = roads.offsets.shape[0] - 1, weights.shape[0], terminals.shape[0]
    sets = 1 << (t - 1)
    cost, into = np.full((sets, n), np.inf), np.full((sets, n), -1, np.int64)
    part_of = np.zeros((sets, n), np.int64)
    heap, keys, lengths = np.empty(n + 2 * m, np.int64), np.empty(n + 2 * m), np.repeat(weights, 2)
    for i in range(t - 1):
        cost[1 << i, terminals[i]] = 0.0
    for whole in range(1, sets):
        one = (whole - 1) & whole
        while one > whole ^ one:
            for node in range(n):
                both = cost[one, node] + cost[whole ^ one, node]
                if both < cost[whole, node]:
                    cost[whole, node], part_of[whole, node] = both, one
            one = (one - 1) & whole
        _settle(roads, lengths, cost[whole], into[whole], 0, heap, keys)
    chosen[:] = False
    if cost[sets - 1, terminals[t - 1]] == np.inf:
        return False
    open_sets, open_nodes, size = np.empty(2 * t, np.int64), np.empty(2 * t, np.int64), 1
    open_sets[0], open_nodes[0] = sets - 1, terminals[t - 1]
    while size > 0:
        size -= 1
        whole, node = open_sets[size], open_nodes[size]
        while into[whole, node] >= 0:
            edge = into[whole, node]
            chosen[edge] = True
            node = roads.tails[edge] + roads.heads[edge] - node
        one = part_of[whole, node]
        if one > 0:
            open_sets[size], open_nodes[size] = one, node
            open_sets[size + 1], open_nodes[size + 1] = whole ^ one, node
            size += 2
    return True


# A cut is raised if it has at most this many times as many arcs as the next cut in the queue.
_SLACKNESS = 1.25


@eager_kernel
def dual_ascent(roads, slack, is_terminal, root, starts, cuts):
    """Return a lower bound on the cost of a tree, infinite if no tree exists: Wong 1984.

    `slack` has the cost of each arc, and afterwards its reduced cost. Each step takes a set of nodes that
    contains a terminal but not `root` and that only arcs of positive slack enter. One of these arcs must be
    paid for, so the least of their slacks is added to the bound and subtracted from all of them. Afterwards,
    arcs without slack connect `root` to all terminals.

    The arcs that enter set j are written to ``cuts[starts[j]:starts[j + 1]]``, as long as there is room. The
    number of these sets is written to ``starts[-1]``.
    """
    n, m = roads.offsets.shape[0] - 1, roads.tails.shape[0]
    is_active, seen, stamp = is_terminal.copy(), np.zeros(n, np.int64), 0
    is_active[root] = False
    heap, keys, size = np.empty(n + 1, np.int64), np.empty(n + 1), 0
    for node in range(n):
        if is_active[node]:
            heap[size], keys[size] = node, -float(roads.offsets[node + 1] - roads.offsets[node])
            heap_rise(heap, keys, size)
            size += 1
    inside, entering, bound, n_cuts = np.empty(n, np.int64), np.empty(2 * m, np.int64), 0.0, 0
    starts[0] = 0
    while size > 0:
        terminal = heap[0]
        size = heap_drop(heap, keys, size)
        stamp += 1
        inside[0], seen[terminal], first, last = terminal, stamp, 0, 1
        while True:
            first, last, met = _spread(
                roads, slack, is_active, root, terminal, inside, seen, stamp, first, last
            )
            if met:
                # Another terminal, or the root, reaches this one without further cost.
                is_active[terminal] = False
                break
            count, least = 0, np.inf
            for j in range(last):
                for i in range(roads.offsets[inside[j]], roads.offsets[inside[j] + 1]):
                    if seen[roads.ends[i]] != stamp:
                        arc = arc_from(roads, inside[j], i) ^ 1
                        entering[count] = arc
                        count += 1
                        least = min(least, slack[arc])
            if least == np.inf:
                return np.inf
            if size > 0 and count > -_SLACKNESS * keys[0]:
                heap[size], keys[size] = terminal, -float(count)
                heap_rise(heap, keys, size)
                size += 1
                break
            bound += least
            for j in range(count):
                slack[entering[j]] -= least
            if n_cuts + 2 < starts.shape[0] and starts[n_cuts] + count <= cuts.shape[0]:
                cuts[starts[n_cuts] : starts[n_cuts] + count] = entering[:count]
                starts[n_cuts + 1] = starts[n_cuts] + count
                n_cuts += 1
            # The nodes from which arcs now lead here without slack join the set.
            first = 0
    starts[-1] = n_cuts
    return bound


@lean_kernel
def _spread(roads, slack, is_active, root, terminal, inside, seen, stamp, first, last):
    """Add the nodes that reach the set without slack; stop at the root or at another active terminal."""
    while first < last:
        node = inside[first]
        first += 1
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other = roads.ends[i]
            if seen[other] == stamp or slack[arc_from(roads, node, i) ^ 1] > 0.0:
                continue
            if other == root or (is_active[other] and other != terminal):
                return first, last, True
            seen[other], inside[last] = stamp, other
            last += 1
    return first, last, False


@kernel
def exclude(roads, weights, slack, is_terminal, root, spare):
    """Exclude, at weight infinity, each edge that no tree within `spare` of the bound contains.

    A tree over an arc pays for the arc, for a path from the root to its tail, and for a path from its head to
    a terminal, all at reduced cost. Return the number of excluded edges.
    """
    n, m = roads.offsets.shape[0] - 1, weights.shape[0]
    heap, keys = np.empty(n + 2 * m, np.int64), np.empty(n + 2 * m)
    ahead, behind, into = np.full(n, np.inf), np.full(n, np.inf), np.empty(n, np.int64)
    ahead[root] = 0.0
    for node in range(n):
        if is_terminal[node] and node != root:
            behind[node] = 0.0
    _settle(roads, slack, ahead, into, 0, heap, keys)
    _settle(roads, slack, behind, into, 1, heap, keys)
    count = 0
    for edge in range(m):
        if weights[edge] < np.inf:
            tail, head = roads.tails[edge], roads.heads[edge]
            there = ahead[tail] + slack[2 * edge] + behind[head]
            back = ahead[head] + slack[2 * edge + 1] + behind[tail]
            if min(there, back) > spare:
                weights[edge] = np.inf
                count += 1
    return count


@kernel
def far_side(pipes, room, target, is_far):
    """Write which nodes reach `target` over entries that have room, as left by `minimum_cut`."""
    n = is_far.shape[0]
    stack, size = np.empty(n, np.int64), 1
    is_far[:] = False
    is_far[target], stack[0] = True, target
    while size > 0:
        size -= 1
        node = stack[size]
        for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
            # Entry 2 i leaves this node, so entry 2 i + 1 leads to it from the other end, and vice versa.
            other = pipes.tails[entry >> 1] if entry & 1 else pipes.heads[entry >> 1]
            if not is_far[other] and room[entry ^ 1] > 0.0:
                is_far[other], stack[size] = True, other
                size += 1


class Tables(NamedTuple):
    """Scratch arrays of the search, one entry for each node, except the heap and the order of edges."""

    distance: FloatArray
    into: IntArray
    degree: IntArray
    is_in: BoolArray
    heap: IntArray
    keys: FloatArray


def tables_for(n: int, m: int) -> Tables:
    """Return the arrays for n nodes and m edges."""
    size = n + 2 * m + 1
    return Tables(
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.bool_),
        np.empty(size, np.int64),
        np.empty(size),
    )


@lean_kernel
def _push(tables, size, node, key):
    tables.heap[size], tables.keys[size] = node, -key
    heap_rise(tables.heap, tables.keys, size)
    return size + 1


@lean_kernel
def _grow(roads, guide, is_terminal, start, is_node, tables):
    """Write the nodes of a tree: from `start`, join the nearest terminal again and again.

    Takahashi, Matsuyama 1980, for the weights `guide`. Return whether all terminals were reached.
    """
    distance, into = tables.distance, tables.into
    left = 0
    for node in range(distance.shape[0]):
        distance[node], into[node], is_node[node] = np.inf, -1, False
        left += is_terminal[node]
    distance[start], is_node[start] = 0.0, True
    left -= is_terminal[start]
    size = _push(tables, 0, start, 0.0)
    while size > 0 and left > 0:
        node, reached = tables.heap[0], -tables.keys[0]
        size = heap_drop(tables.heap, tables.keys, size)
        if reached > distance[node]:
            continue
        if is_terminal[node] and not is_node[node]:
            left -= 1
            at = node
            while not is_node[at]:
                is_node[at], distance[at] = True, 0.0
                size = _push(tables, size, at, 0.0)
                edge = into[at]
                at = roads.tails[edge] + roads.heads[edge] - at
            continue
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other, through = roads.ends[i], reached + guide[roads.edges[i]]
            if through < distance[other]:
                distance[other], into[other] = through, roads.edges[i]
                size = _push(tables, size, other, through)
    return left == 0


@lean_kernel
def _span(roads, weights, is_terminal, start, is_node, chosen, tables):
    """Write the cheapest tree on the nodes `is_node` without ends that are not terminals; return its cost.

    Prim's algorithm from `start`, a terminal. The cost is infinite if the nodes do not connect the terminals.
    """
    distance, into, degree = tables.distance, tables.into, tables.degree
    left = 0
    for node in range(distance.shape[0]):
        distance[node], into[node], degree[node], tables.is_in[node] = np.inf, -1, 0, False
        left += is_terminal[node]
    chosen[:] = False
    distance[start] = 0.0
    size, total = _push(tables, 0, start, 0.0), 0.0
    while size > 0:
        node = tables.heap[0]
        size = heap_drop(tables.heap, tables.keys, size)
        if tables.is_in[node]:
            continue
        tables.is_in[node] = True
        left -= is_terminal[node]
        if into[node] >= 0:
            edge = into[node]
            chosen[edge] = True
            degree[roads.tails[edge]] += 1
            degree[roads.heads[edge]] += 1
            total += weights[edge]
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other, edge = roads.ends[i], roads.edges[i]
            if is_node[other] and not tables.is_in[other] and weights[edge] < distance[other]:
                distance[other], into[other] = weights[edge], edge
                size = _push(tables, size, other, weights[edge])
    if left > 0:
        return np.inf
    for end in range(distance.shape[0]):
        is_node[end] = is_node[end] and tables.is_in[end]
        node = end
        while degree[node] == 1 and not is_terminal[node]:
            for i in range(roads.offsets[node], roads.offsets[node + 1]):
                if chosen[roads.edges[i]]:
                    edge = roads.edges[i]
            chosen[edge], is_node[node] = False, False
            total -= weights[edge]
            degree[node] = 0
            node = roads.tails[edge] + roads.heads[edge] - node
            degree[node] -= 1
    return total


@kernel
def grown_tree(roads, guide, weights, is_terminal, start, is_node, chosen, tables):
    """Write a tree grown from `start` by the weights `guide`; return its cost by `weights`."""
    if not _grow(roads, guide, is_terminal, start, is_node, tables):
        return np.inf
    return _span(roads, weights, is_terminal, int(np.argmax(is_terminal)), is_node, chosen, tables)


# The number of roots of dual ascents.
_ROOTS = 6
# The dynamic program comes first if it has at most so many steps; it comes before the integer program if it
# has at most so many steps (2 s) and so many entries, of 24 bytes each.
_FEW_STEPS, _MOST_STEPS, _MOST_ENTRIES = 3e5, 1e9, 4e7
_STEPS_PER_SECOND = 3e8
# Trees are grown from the values of the program in every so many rounds.
_EVERY = 5
# The rounds without progress of this share after which the integer program takes over.
_PATIENCE, _PROGRESS = 40, 1e-5


def best_tree(search: Search, known: BoolArray, is_exact: bool) -> None:
    """Search for a cheapest tree. Unless `is_exact`, use only one dual ascent."""
    search.keep(known)
    if is_exact and _steps(search) <= _FEW_STEPS:
        _by_subsets(search)
        return
    search.raise_by_ascent(int(search.terminals[0]))
    search.grow(search.costs, search.terminals[:STARTS])
    for root in _spread_out(search.terminals)[: None if is_exact else 1]:
        if search.is_over:
            return
        before = search.bound, search.value, search.n_left
        search.ascend(int(root))
        if search.bound <= before[0] and search.value >= before[1] and search.n_left > 0.98 * before[2]:
            break
    if is_exact and not search.is_over:
        _close(search)


def _close(search: Search) -> None:
    """Raise the bound and improve the tree until both agree within the gap, or until a limit.

    Each arc is a binary variable. A tree, directed away from the root, contains an arc into every set of
    nodes that contains a terminal but not the root (Wong 1984; Koch, Martin 1998). The program starts with
    the sets of the dual ascent, and violated sets are found as minimum cuts.
    """
    program = CutProgram(search)
    bounds = [search.bound]
    while True:
        if not program.relax() or search.is_over:
            return
        added = program.separate()
        if len(bounds) % _EVERY == 0 or not added:
            program.offer_trees()
        program.exclude()
        if search.is_over:
            return
        bounds.append(search.bound)
        is_slow = len(bounds) > _PATIENCE and bounds[-1] <= bounds[-_PATIENCE] + _PROGRESS * search.value
        if not added or is_slow:
            break
    if _by_few_subsets(search):
        return
    while program.solve_integers():
        program.offer_trees()
        if program.is_over or not program.separate():
            return


def _by_few_subsets(search: Search) -> bool:
    """Find the optimum by subsets of terminals, unless this takes too much time or memory."""
    if _steps(search) > min(_MOST_STEPS, search.clock.left * _STEPS_PER_SECOND):
        return False
    _by_subsets(search)
    return True


def _steps(search: Search) -> float:
    """Return the number of steps of the dynamic program, or infinity if it needs too much memory."""
    n, t = len(search.is_terminal), len(search.terminals)
    if n * 2.0 ** min(t - 1, 1_000) > _MOST_ENTRIES:
        return np.inf
    return float(n * 3.0 ** (t - 1) / 2 + 2.0 ** (t - 1) * 8 * (n + 2 * search.n_left))


def _by_subsets(search: Search) -> None:
    """Find the optimum by subsets of terminals."""
    chosen = np.empty(len(search.costs), bool)
    if cheapest(search.roads, search.weights, search.terminals, chosen):
        search.keep(chosen)
    search.bound = search.value


def _spread_out(terminals: IntArray) -> IntArray:
    return terminals[np.unique(np.linspace(0, len(terminals) - 1, _ROOTS).astype(np.int64))]


# A cut is violated if its arcs have less than 1 minus the first number; the second favours cuts of few arcs.
_VIOLATED, _CREEP = 1e-4, 1e-6
_INTEGRAL = 1e-6


class CutProgram:
    """A HiGHS program with a column for each arc of an edge that is not excluded."""

    def __init__(self, search: Search) -> None:
        from oracles.flows import pipes_of

        self.search, self._hi = search, import_highs()
        self.edges = np.flatnonzero(search.weights < np.inf)
        tails, heads = search.roads.tails[self.edges], search.roads.heads[self.edges]
        self.arcs = np.concatenate([2 * self.edges, 2 * self.edges + 1])
        self.tails, self.heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        self.column = np.full(2 * len(search.costs), -1, np.int64)
        self.column[self.arcs] = np.arange(len(self.arcs))
        costs, self._exponent = scaled(np.tile(search.costs[self.edges], 2))
        self.pipes = pipes_of(self.tails, self.heads, len(search.is_terminal))
        self.highs = silent_highs()()
        options = {"output_flag": False, "threads": 1, "mip_abs_gap": 0.0, "mip_rel_gap": search.gap / 2}
        if search.node_limit is not None:
            options["mip_max_nodes"] = search.node_limit
        for name, value in options.items():
            self.highs.setOptionValue(name, value)
        self.highs.cbMipInterrupt.subscribe(self._see)
        self.highs.cbSimplexInterrupt.subscribe(self._see)
        upper = np.where(self.heads == search.root, 0.0, 1.0)
        self.highs.addCols(len(costs), costs, np.zeros(len(costs)), upper, 0, [], [], [])
        self.y, self._prices = np.zeros(len(costs)), np.zeros(len(costs))
        self._objective, self.is_stopped = 0.0, False
        self._add_degrees()
        self._add_cuts(
            [
                search.cuts[first:last]
                for first, last in zip(search.starts[:-1], search.starts[1:], strict=True)
            ]
        )

    @property
    def is_over(self) -> bool:
        """Whether a limit ended HiGHS or the search, or the gap is closed."""
        return self.is_stopped or self.search.is_over

    def _add_degrees(self) -> None:
        """One arc enters a terminal; at most one arc, and no more than leave, enters another node."""
        search, nodes = self.search, np.unique(np.concatenate([self.tails, self.heads]))
        into = [np.flatnonzero(self.heads == node) for node in nodes]
        out = [np.flatnonzero(self.tails == node) for node in nodes]
        for node, arriving, leaving in zip(nodes, into, out, strict=True):
            if node == search.root:
                continue
            is_terminal = bool(search.is_terminal[node])
            self._row(arriving, np.ones(len(arriving)), float(is_terminal), 1.0)
            if not is_terminal:
                signs = np.concatenate([np.ones(len(leaving)), -np.ones(len(arriving))])
                self._row(np.concatenate([leaving, arriving]), signs, 0.0, np.inf)

    def _row(self, columns: IntArray, values: FloatArray, low: float, high: float) -> None:
        self.highs.addRow(low, high, len(columns), columns.astype(np.int32), values)

    def _add_cuts(self, cuts: list[IntArray]) -> None:
        for cut in cuts:
            columns = self.column[cut]
            columns = columns[columns >= 0]
            self._row(columns, np.ones(len(columns)), 1.0, np.inf)

    def relax(self) -> bool:
        """Solve the relaxation; return whether it has a solution, with its values in `y`."""
        # The simplex method compares the limit with the total time of all runs of the object.
        if not self._run(self.highs.getRunTime() + self.search.clock.left):
            return False
        solution = self.highs.getSolution()
        self.y = np.clip(np.array(solution.col_value), 0.0, 1.0)
        self._prices = np.array(solution.col_dual)
        self._objective = float(self.highs.getInfo().objective_function_value)
        self._raise_bound(self._objective)
        if self._is_integral():
            self._keep_tree()
        return True

    def _run(self, seconds: float) -> bool:
        """Run HiGHS; return whether it solved the program. If no better tree exists, close the gap."""
        highs, kinds = self.highs, self._hi.HighsModelStatus
        highs.setOptionValue("time_limit", seconds)
        highs.run()
        if highs.getModelStatus() == kinds.kNotset:
            # Other code started the scheduler of this thread with another number of threads: use that number.
            highs.setOptionValue("threads", 0)
            highs.run()
        status = highs.getModelStatus()
        if status == kinds.kInfeasible:
            # All trees that could be better were excluded.
            self.search.bound = self.search.value
        elif status in (kinds.kTimeLimit, kinds.kSolutionLimit, kinds.kInterrupt):
            self.is_stopped = True
        elif status != kinds.kOptimal:
            raise SolverError(
                f"HiGHS must solve the cut program, got status {highs.modelStatusToString(status)!r}"
            )
        return bool(status == kinds.kOptimal)

    def _see(self, event: Any) -> None:
        """Stop HiGHS after Ctrl-C or at the deadline."""
        if self.search.clock.is_over:
            event.interrupt()

    def _raise_bound(self, objective: float) -> None:
        bound = float(np.ldexp(objective, -self._exponent))
        self.search.raise_bound(bound)

    def _is_integral(self) -> bool:
        return bool((np.abs(self.y - np.rint(self.y)) <= _INTEGRAL).all())

    def _keep_tree(self) -> None:
        """Keep the selected edges, if they connect the terminals."""
        chosen = np.zeros(len(self.search.costs), bool)
        chosen[self.edges[self._shares() > 0.5]] = True
        if self.search.connects(chosen):
            self.search.keep(chosen)

    def _shares(self) -> FloatArray:
        """Return the larger value of the two arcs of each edge."""
        larger: FloatArray = self.y.reshape(2, -1).max(axis=0)
        return larger

    def offer_trees(self) -> None:
        """Grow trees by weights that are small where the program's values are large."""
        search = self.search
        guide = np.full(len(search.costs), np.inf)
        guide[self.edges] = search.weights[self.edges] * (1.0 + 1e-3 - self._shares())
        search.grow(guide, search.terminals[:4])

    def exclude(self) -> None:
        """Exclude arcs whose reduced cost exceeds the difference between the tree and the bound."""
        search = self.search
        spare = float(np.ldexp(search.value, self._exponent)) * (1.0 + 1e-9) - self._objective
        gone = (self._prices > spare).astype(bool)
        columns = np.flatnonzero(gone).astype(np.int32)
        if len(columns):
            self.highs.changeColsBounds(len(columns), columns, np.zeros(len(columns)), np.zeros(len(columns)))
            search.weights[self.edges[gone.reshape(2, -1).all(axis=0)]] = np.inf

    def separate(self) -> int:
        """Add the cuts that `y` violates; return their number."""
        search, n = self.search, len(self.search.is_terminal)
        seen: set[bytes] = set()
        free, is_near, is_far = self.y + _CREEP, np.empty(n, bool), np.empty(n, bool)
        for terminal in search.terminals:
            if terminal == search.root:
                continue
            # Arcs of cuts that were found in this round are free, so further cuts are different.
            room = np.column_stack([free, np.zeros(len(free))]).reshape(-1)
            minimum_cut(self.pipes, room, search.root, int(terminal), is_near)
            far_side(self.pipes, room, int(terminal), is_far)
            for inside in (is_far, ~is_near):
                cut = np.flatnonzero(inside[self.heads] & ~inside[self.tails])
                if self.y[cut].sum() >= 1.0 - _VIOLATED or cut.tobytes() in seen:
                    continue
                seen.add(cut.tobytes())
                self._row(cut, np.ones(len(cut)), 1.0, np.inf)
                free[cut] = 1.0
            if search.is_late:
                break
        return len(seen)

    def solve_integers(self) -> bool:
        """Solve the integer program with the present cuts; return whether it has a solution in `y`."""
        highs, search = self.highs, self.search
        whole = np.arange(len(self.y), dtype=np.int32)
        highs.changeColsIntegrality(len(whole), whole, [self._hi.HighsVarType.kInteger] * len(whole))
        is_solved = self._run(search.clock.left)
        if not is_solved and not self.is_stopped:
            return False
        info = highs.getInfo()
        if np.isfinite(info.mip_dual_bound):
            self._raise_bound(float(info.mip_dual_bound))
        if info.primal_solution_status != int(self._hi.SolutionStatus.kSolutionStatusFeasible):
            return False
        self.y = np.clip(np.rint(np.array(highs.getSolution().col_value)), 0.0, 1.0)
        self._keep_tree()
        return True


# The number of trees that grow from different terminals at a time.
STARTS = 8
# Values within this share of each other are equal; sums of 10^5 numbers are rounded by less.
EQUAL = 1e-10


@dataclass
class Search:
    """The best tree so far, a lower bound, and the edges that a better tree may contain."""

    roads: Roads
    costs: FloatArray
    terminals: IntArray
    clock: Clock
    gap: float = 0.0
    node_limit: int | None = None

    def __post_init__(self) -> None:
        n, m = len(self.roads.offsets) - 1, len(self.costs)
        self.weights = self.costs.copy()
        self.is_terminal = np.zeros(n, bool)
        self.is_terminal[self.terminals] = True
        self.tables = tables_for(n, m)
        self.chosen, self.value = np.zeros(m, bool), np.inf
        self.bound, self.cuts = 0.0, np.empty(0, np.int64)
        kept = self.costs[self.costs < np.inf]
        self.is_whole = bool((kept == np.rint(kept)).all() and kept.sum() < 2.0**52)
        self.root = int(self.terminals[0])

    @property
    def is_late(self) -> bool:
        """Whether the search must end."""
        return self.clock.is_over

    @property
    def is_over(self) -> bool:
        """Whether the search must end, or its gap is closed."""
        return self.is_closed(self.gap) or self.is_late

    def is_closed(self, gap: float = 0.0) -> bool:
        """Return whether the tree is optimal within the relative `gap`."""
        return self.bound >= self.value * (1.0 - max(gap, EQUAL))

    @property
    def n_left(self) -> int:
        """The number of edges that are not excluded."""
        return int(np.count_nonzero(self.weights < np.inf))

    def raise_bound(self, bound: float) -> None:
        """Take over a lower bound on the trees that are not excluded. Integer costs have integer sums."""
        if self.is_whole:
            bound = float(np.ceil(bound * (1.0 - 1e-9) - 1e-6))
        # An excluded edge is in no tree that is better than the best one, so the least of both is a bound.
        self.bound = max(self.bound, min(bound, self.value))

    def connects(self, chosen: BoolArray) -> bool:
        """Return whether the chosen edges connect the terminals."""
        return connects(
            self.roads.tails[chosen], self.roads.heads[chosen], self.terminals, len(self.is_terminal)
        )

    def keep(self, chosen: BoolArray) -> None:
        value = float(self.costs[chosen].sum())
        if value < self.value:
            self.value, self.chosen = value, chosen.copy()

    def grow(self, guide: FloatArray, starts: IntArray) -> None:
        """Keep the best of the trees that grow from `starts` by the weights `guide`."""
        nodes, edges = np.empty(len(self.is_terminal), bool), np.empty(len(self.costs), bool)
        for start in starts:
            value = grown_tree(
                self.roads, guide, self.weights, self.is_terminal, start, nodes, edges, self.tables
            )
            if value < np.inf:
                self.keep(edges)
            if self.is_late:
                break

    def ascend(self, root: int) -> None:
        """Raise the bound by dual ascent from `root`, offer trees of its arcs, and exclude edges."""
        slack, bound = self.raise_by_ascent(root)
        if bound == np.inf or self.is_closed():
            return
        best = slack.reshape(-1, 2).min(axis=1)
        guide = np.where(self.weights < np.inf, best + 1e-3 * self.weights, np.inf)
        others = self.terminals[np.argsort(self.terminals != root, kind="stable")][:STARTS]
        self.grow(guide, others)
        self.exclude_by(slack, root, bound)

    def raise_by_ascent(self, root: int) -> tuple[FloatArray, float]:
        """Raise the bound by dual ascent from `root`; return the slacks of the arcs and the value."""
        slack, m = np.repeat(self.weights, 2), len(self.costs)
        starts, cuts = np.zeros(4 * m + 16, np.int64), np.empty(64 * m + 1024, np.int64)
        bound = dual_ascent(self.roads, slack, self.is_terminal, root, starts, cuts)
        if bound > self.bound or not len(self.cuts):
            self.root = root
            n_cuts = int(starts[-1])
            self.starts, self.cuts = starts[: n_cuts + 1].copy(), cuts[: starts[n_cuts]].copy()
        self.raise_bound(bound)
        return slack, float(bound)

    def exclude_by(self, slack: FloatArray, root: int, bound: float) -> None:
        """Exclude the edges of no tree that is better, by the slacks of a dual ascent from `root`."""
        spare = self.value * (1.0 + EQUAL) - bound
        exclude(self.roads, self.weights, slack, self.is_terminal, root, spare)


def connects(tails: IntArray, heads: IntArray, terminals: IntArray, n_nodes: int) -> bool:
    """Return whether edges connect the terminals."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    matrix = coo_array((np.ones(len(tails)), (tails, heads)), shape=(n_nodes, n_nodes))
    part = connected_components(matrix, directed=False)[1]
    return bool((part[terminals] == part[terminals[0]]).all())


class SteinerTree(AnytimeOracle, Sufficing):
    """The sets of edges that connect all terminals, at least cost.

    Base arm i is the i-th edge of ``graph.edges``; a super arm lists edges in increasing order. With positive
    costs, the answer is a tree, and its other nodes are on paths between terminals. In general, a super arm
    may contain more edges than necessary, and every exact answer contains all edges of negative cost.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        An undirected graph. Parallel edges are separate arms. Its weights are not used.
    terminals : sequence of nodes
        The nodes to be connected, at least two.
    method : {"exact", "approximate"}
        The algorithm. ``"approximate"`` grows trees by shortest paths from several terminals, also along the
        arcs of a dual ascent, which bounds the optimum. Its ``alpha`` is ``2 - 2 / t`` for t terminals and
        nonnegative costs; `solve_certified` returns the ratio of the call, which was 1 to 1.17 on four public
        instances (`tests/benchmarks/public_instances.py`).
        ``"exact"`` repeats this for several roots, excludes edges by their reduced costs, and then proves the
        optimum: by subsets of terminals (Dreyfus, Wagner 1971) if they are few, otherwise by cuts (HiGHS).
        Its values are exact up to a share of 1e-9.
    gap : float
        The relative gap, in [0, 1), at which an exact search may stop. If it is positive, ``alpha`` is
        ``1 / (1 - gap)``.
    time_limit : float, optional
        The time limit of a call in seconds. With 0, a call returns the tree of Mehlhorn 1988 without a
        search, in the time of one shortest-path search.
    node_limit : int, optional
        The largest number of nodes of branch and bound for each integer program of a call. Unlike
        `time_limit`, it does not depend on the speed of the machine.
    on_limit : {"raise", "best"}
        The behaviour of `solve` at a limit: raise an error, or return the best tree found. With the second
        option, ``alpha`` is ``2 - 2 / t``. `solve_certified` returns this tree with a bound.

    Raises
    ------
    ValueError
        If the graph is directed or has no edge, if a terminal is unknown or repeated, if the terminals are
        not connected, or if there are fewer than two. In `solve`, if a cost is negative and ``alpha`` is
        above 1.
    SolverError
        In a call, if a limit ends an exact search and `on_limit` is ``"raise"``.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import SteinerTree
    >>> graph = nx.Graph([("a", "b"), ("a", "hub"), ("b", "c"), ("b", "hub"), ("c", "hub")])
    >>> costs = np.array([0.875, 0.5, 0.875, 0.5, 0.5])
    >>> oracle = SteinerTree(graph, ["a", "b", "c"])
    >>> oracle.labels(oracle.solve(costs, np.random.default_rng(0)))
    [('a', 'hub'), ('b', 'hub'), ('hub', 'c')]

    A search with a limit, and the ratio that it proved:

    >>> oracle = SteinerTree(graph, ["a", "b", "c"], method="approximate", time_limit=1.0)
    >>> answer = oracle.solve_certified(costs, np.random.default_rng(0))
    >>> round(oracle.alpha, 2), answer.value, answer.bound, answer.ratio
    (1.33, 1.5, 1.5, 1.0)

    References
    ----------
    S. E. Dreyfus, R. A. Wagner: The Steiner Problem in Graphs, Networks 1 (1971). H. Takahashi, A. Matsuyama:
    An Approximate Solution for the Steiner Problem in Graphs, Mathematica Japonica 24 (1980). R. T. Wong: A
    Dual Ascent Approach for Steiner Tree Problems on a Directed Graph, Mathematical Programming 28 (1984).
    K. Mehlhorn: A Faster Approximation Algorithm for the Steiner Problem in Graphs, Information Processing
    Letters 27 (1988). T. Koch, A. Martin: Solving Steiner Tree Problems in Graphs to Optimality, Networks 32
    (1998).
    """

    has_membership = True
    is_undirected = True

    def __init__(
        self,
        graph: nx.Graph[Any],
        terminals: Iterable[Hashable],
        *,
        method: Literal["exact", "approximate"] = "exact",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        number, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        self._names = self.edges
        named = listed("terminals", terminals, "nodes")
        self._terminals = np.array([node_number("terminals", node, number) for node in named], np.int64)
        if len(named) < 2 or len(np.unique(self._terminals)) < len(named):
            raise ValueError(f"terminals must be at least two distinct nodes, got {shown(named)}")
        self.method = one_of("method", method, ("exact", "approximate"))
        # Takahashi, Matsuyama 1980, and Mehlhorn 1988; with two terminals, a shortest path.
        self._greedy_ratio = 2.0 - 2.0 / len(named)
        self._set_limits(checked_limits(time_limit, gap, on_limit, node_limit), self._greedy_ratio)
        if method == "approximate":
            self.alpha = self._greedy_ratio
        self.n_arms, self._n_nodes = len(self.edges), len(number)
        if not self.is_feasible(np.arange(self.n_arms)):
            raise ValueError(f"terminals must be connected in graph, got {shown(named)}")

    def __repr__(self) -> str:
        return described(self, n_nodes=self._n_nodes, terminals=len(self._terminals))

    @cached_property
    def _roads(self) -> Roads:
        from oracles.paths import Roads

        offsets, ends = edge_ends(self._tails, self._heads, self._n_nodes)
        others = np.concatenate([self._heads, self._tails])[ends]
        return Roads(offsets, others, ends % self.n_arms, self._tails, self._heads)

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return connects(self._tails[super_arm], self._heads[super_arm], self._terminals, self._n_nodes)

    @property
    def certifies_calls(self) -> bool:  # type: ignore[override]
        """Whether calls have their own approximation ratios: true unless every answer is exact."""
        return self._may_stop_early or self.method == "approximate" or self.gap > 0.0

    def _search(self, values: FloatArray) -> SolverCertificate:
        none = np.empty(0, np.int64)
        is_had, rest = self._split(values, none, none)
        found = self._searched(rest)
        assert found is not None, "the constructor checked that the terminals are connected"
        needed, share, is_closed = found
        chosen = np.flatnonzero(needed | is_had)
        value = value_of(values[chosen])
        if is_closed:
            return SolverCertificate(chosen, value, value, True)
        answer = self._certificate(chosen, value, share * value_of(rest[needed]) + value_of(values[is_had]))
        is_promised = self.method == "approximate" or answer.certified
        return SolverCertificate(chosen, value, answer.bound, is_promised)

    def _cheapest(self, costs: FloatArray) -> BoolArray | None:
        found = self._searched(costs)
        if found is None:
            return None
        chosen, share, is_closed = found
        is_late = not is_closed and self.method == "exact" and share < 1.0 - self.gap
        if is_late and not self._may_stop_early:
            raise SolverError(self._stopped())
        return chosen

    def _searched(self, costs: FloatArray) -> tuple[BoolArray, float, bool] | None:
        """Return a tree, a lower bound as a share of its cost, and whether it is optimal; or None."""
        from oracles.paths import shrink

        weights, chosen = costs.copy(), np.empty(self.n_arms, bool)
        shrink(weights, 4 * self._n_nodes)
        if not nearly_cheapest(self._roads, weights, self._terminals, chosen):
            return None
        if self.time_limit == 0.0:
            is_closed = not costs[chosen].any() or len(self._terminals) == 2
            return chosen, 1.0 / self._greedy_ratio, is_closed
        with Clock(self.time_limit) as clock:
            search = Search(self._roads, weights, self._terminals, clock, self.gap, self.node_limit)
            best_tree(search, chosen, is_exact=self.method == "exact")
        if search.is_closed():
            return search.chosen, 1.0, True
        return search.chosen, search.bound / search.value, False
