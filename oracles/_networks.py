"""Arrays of node numbers for the edges of a networkx graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import chain, compress
from operator import eq, itemgetter
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.compiled import lean_kernel
from cmab.validation import shown

#: A networkx graph, a `DirectedGraph`, an array with both ends of each edge, or a sparse matrix.
GraphInput = Any


class Network(NamedTuple):
    """The edges of a graph; ``edges[i]`` joins the nodes numbered ``tails[i]`` and ``heads[i]``."""

    number: dict[Hashable, int]
    edges: list[tuple[Hashable, ...]]
    tails: IntArray
    heads: IntArray


def network_of(graph: GraphInput, *, undirected: bool = False) -> Network:
    """Return the arrays of a graph; with `undirected`, reject directed graphs and empty ones."""
    kind = "networkx graph or a DirectedGraph"
    if undirected:
        kind = "networkx.Graph or networkx.MultiGraph, an array of edges or a sparse matrix"
        if (pairs := _edge_array(graph)) is not None:
            return _numbered(*pairs)
    if not (hasattr(graph, "is_directed") and (hasattr(graph, "edges") or hasattr(graph, "arc_labels"))):
        raise ValueError(f"graph must be a {kind}, got {shown(graph)}")
    if undirected and graph.is_directed():
        raise ValueError(f"graph must be undirected, got {graph}; pass graph.to_undirected()")
    given: Any = graph
    if not hasattr(graph, "edges"):
        ends = given.tails.astype(np.int64), given.heads.astype(np.int64)
        return Network(given.node_numbers, given.arc_labels, *ends)
    # Of the view itself, a list would ask for the length, which takes another pass over the edges.
    edges: list[tuple[Hashable, ...]] = list(iter(given.edges))
    if undirected and not edges:
        raise ValueError(f"graph must have an edge, got {graph}")
    number: dict[Hashable, int] = {node: i for i, node in enumerate(given)}
    columns = (_numbers(map(itemgetter(end), edges), number) for end in (0, 1))
    tails, heads = (np.fromiter(column, np.int64, len(edges)) for column in columns)
    return Network(number, edges, tails, heads)


def _numbers(nodes: Iterable[Any], number: dict[Hashable, int]) -> Iterable[int]:
    """Return the numbers of nodes; the search is omitted for nodes 0, 1, ..., because it takes long."""
    return nodes if all(map(eq, number, range(len(number)))) else map(number.__getitem__, nodes)


def ends_of(
    graph: Any, attribute: str | None = None
) -> tuple[dict[Hashable, int], IntArray, IntArray, list[Any], list[Hashable] | None]:
    """Return the number of each node of a networkx graph, and the ends and an attribute of its edges.

    Also return the keys of the edges of a multigraph, unless parallel edges have the keys 0, 1, ...
    """
    # The rows are in the order of ``graph.edges``, which takes longer than several passes over the rows.
    # With a list of them, the garbage collector would visit the whole graph.
    number = {node: i for i, node in enumerate(graph)}
    tails = np.repeat(np.arange(len(number)), [len(row) for _, row in graph.adjacency()])
    others = chain.from_iterable(row for _, row in graph.adjacency())
    heads = np.fromiter(_numbers(others, number), np.int64, len(tails))
    entries = chain.from_iterable(row.values() for _, row in graph.adjacency())
    keys: list[Hashable] | None = None
    if graph.is_multigraph():
        bundles = list(entries)
        sizes = np.fromiter(map(len, bundles), np.int64, len(bundles))
        places = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        tails, heads, keys = np.repeat(tails, sizes), np.repeat(heads, sizes), [*chain.from_iterable(bundles)]
        keys = None if all(map(eq, keys, places.tolist())) else keys
        entries = chain.from_iterable(bundle.values() for bundle in bundles)
    values = [] if attribute is None else [entry.get(attribute) for entry in entries]
    if graph.is_directed():
        return number, tails, heads, values, keys
    # An undirected edge is at both ends; ``graph.edges`` has it at the first.
    is_first = tails <= heads
    values, keys = list(compress(values, is_first)), None if keys is None else list(compress(keys, is_first))
    return number, tails[is_first], heads[is_first], values, keys


def _edge_array(graph: Any) -> tuple[int, IntArray, IntArray] | None:
    """Return the number of nodes and both ends of the edges of an array or a sparse matrix."""
    if isinstance(graph, np.ndarray):
        if (
            graph.ndim != 2
            or graph.shape[1] != 2
            or not np.issubdtype(graph.dtype, np.integer)
            or not len(graph)
        ):
            raise ValueError(f"graph must have a row of two node numbers for each edge, got {shown(graph)}")
        if graph.min() < 0:
            raise ValueError(f"graph must have node numbers of at least 0, got {graph.min()}")
        ends = np.ascontiguousarray(graph.T, np.int64)
        return int(ends.max()) + 1, ends[0], ends[1]
    if not (hasattr(graph, "tocsr") and hasattr(graph, "nnz")):
        return None
    n_rows, n_columns = graph.shape
    entries = graph.tocsr().tocoo()
    is_edge = entries.row <= entries.col
    if n_rows != n_columns or not is_edge.any() or (graph != graph.T).nnz:
        raise ValueError(f"graph must be a symmetric matrix with an entry for each edge, got {shown(graph)}")
    return n_rows, entries.row[is_edge].astype(np.int64), entries.col[is_edge].astype(np.int64)


def _numbered(n_nodes: int, tails: IntArray, heads: IntArray) -> Network:
    number: dict[Hashable, int] = {node: node for node in range(n_nodes)}
    return Network(number, list(zip(tails.tolist(), heads.tolist(), strict=True)), tails, heads)


# More numbers than this have 64 bits.
_LONG = 2**31


def numbers_below(n: int) -> type[np.integer[Any]]:
    """Return the type of numbers below `n`: 32 bits if they fit, otherwise 64."""
    return np.int32 if n <= _LONG else np.int64


@lean_kernel
def _group(ends, entries, offsets, sets):
    """Fill the arrays that `grouped_sets` returns; `offsets` has one more entry, all 0 at first."""
    n_sets = ends.shape[0] - 1
    # While the sets are written, ``offsets[v + 1]`` is the place of the next set that contains v.
    for at in range(ends[n_sets]):
        offsets[entries[at] + 2] += 1
    for v in range(2, offsets.shape[0]):
        offsets[v] += offsets[v - 1]
    for i in range(n_sets):
        for at in range(ends[i], ends[i + 1]):
            v = entries[at]
            sets[offsets[v + 1]] = i
            offsets[v + 1] += 1


def grouped_sets(ends: IntArray, entries: AnyArray, n: int) -> tuple[IntArray, AnyArray]:
    """Return the sets that contain each of the numbers below `n`, as (offsets, sets), in increasing order.

    Set i is ``entries[ends[i]:ends[i + 1]]``. This counting sort is stable, and linear in entries and sets.
    """
    offsets, sets = np.zeros(n + 2, np.int64), np.empty(ends[-1], numbers_below(len(ends) - 1))
    _group(ends, entries, offsets, sets)
    return offsets[:-1], sets


def order_by(keys: AnyArray, n: int) -> tuple[IntArray, AnyArray]:
    """Return the offsets of the groups 0..n-1 of `keys`, and the positions of a stable sort."""
    return grouped_sets(np.arange(len(keys) + 1), keys, n)


def edge_ends(tails: IntArray, heads: IntArray, n_nodes: int) -> tuple[IntArray, IntArray]:
    """Return the ends of edges by node: offsets, and the edge of each end, plus m at its head.

    With m edges, the numbers at node v are ``ends[offsets[v]:offsets[v + 1]]``. Number i < m is the tail of
    edge i, and number m + i is its head.
    """
    offsets, ends = order_by(np.concatenate([tails, heads]), n_nodes)
    return offsets, ends.astype(np.int64)


@lean_kernel
def _write_order(offsets, ends, waiting, order):
    """Write each node to `order` after all nodes with arcs into it; return the number of written nodes."""
    size = 0
    for node in range(waiting.shape[0]):
        if waiting[node] == 0:
            order[size] = node
            size += 1
    at = 0
    while at < size:
        node = order[at]
        at += 1
        for i in range(offsets[node], offsets[node + 1]):
            waiting[ends[i]] -= 1
            if waiting[ends[i]] == 0:
                order[size] = ends[i]
                size += 1
    return size


def topological_order(tails: IntArray, heads: IntArray, n_nodes: int) -> IntArray:
    """Return the nodes of a directed graph so that every arc leads forward; empty if the graph has a cycle.

    The order is that of networkx: by generations, and in each generation by the arcs that lead to a node.
    """
    waiting = np.bincount(heads, minlength=n_nodes)
    offsets, by_tail = order_by(tails, n_nodes)
    order = np.empty(n_nodes, np.int64)
    size = _write_order(offsets, heads[by_tail], waiting, order)
    return order if size == n_nodes else order[:0]


def node_number(name: str, node: Hashable, number: dict[Hashable, int]) -> int:
    """Return the number of `node`; raise ``ValueError`` for the argument `name` if the graph lacks it."""
    try:
        return number[node]
    except (KeyError, TypeError):  # an unhashable object, such as a list, is not a node
        raise ValueError(f"{name} must be a node of graph, got {shown(node)}") from None


def end_numbers(source: Hashable, target: Hashable, number: dict[Hashable, int]) -> tuple[int, int]:
    """Return the numbers of two different nodes; raise ``ValueError`` if they are equal."""
    start, end = node_number("source", source, number), node_number("target", target, number)
    if start == end:
        raise ValueError(f"source and target must differ, got {shown(source)} twice")
    return start, end
