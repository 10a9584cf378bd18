"""The tasks that the workers of a cluster run: they draw sets, count candidates, and count hits.

A task is a function of its arguments only, so a task that a worker has lost runs again on another worker with
the same result. Each worker builds the reverse graph of a call once.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph, SetCollection
from oracles.influence._sentinels import sampled_graph
from oracles.influence.search import count_hits

_LOCK = threading.Lock()
# The reverse graph of the last call on this worker, by the name of the call.
_KEPT: dict[str, ReverseGraph] = {}


class Recipe(NamedTuple):
    """How a worker builds the reverse graph of a call from the graph and the probabilities.

    Attributes
    ----------
    call : str
        The name of the call.
    options : dict
        The keywords of `sampled_graph`.
    """

    call: str
    options: dict[str, Any]


class Shard(NamedTuple):
    """Consecutive sets, in the form of `SetCollection`, and the number of arcs examined for them."""

    ends: IntArray
    pool: AnyArray
    edges_examined: int


def reverse_graph(recipe: Recipe, graph: DirectedGraph, means: FloatArray) -> ReverseGraph:
    """Return the reverse graph of a call, which is built at the first task of the call."""
    with _LOCK:
        if recipe.call not in _KEPT:
            _KEPT.clear()
            _KEPT[recipe.call] = sampled_graph(graph, means, **recipe.options)
        return _KEPT[recipe.call]


def draw_shard(
    recipe: Recipe,
    graph: DirectedGraph,
    means: FloatArray,
    key: int,
    first: int,
    last: int,
    sentinels: IntArray,
    ends_early: bool,
) -> Shard:
    """Return the sets ``first..last - 1`` of a key, which end at the sentinels unless they were dropped."""
    sets = SetCollection(reverse_graph(recipe, graph, means), key)
    if len(sentinels):
        sets.stop_at(sentinels)
    if not ends_early:
        sets = sets.without_sentinels()
    ends, pool, edges = sets.draw_range(first, last)
    return Shard(ends, pool[: ends[-1]].copy(), edges)


def examined(shard: Shard) -> int:
    """Return the number of arcs examined for a shard."""
    return shard.edges_examined


def top_counts(shard: Shard, n: int, allowed: BoolArray | None, size: int) -> tuple[AnyArray, int]:
    """Return the `size` allowed nodes in most sets of a shard, and the largest count of any other node."""
    counts = np.bincount(shard.pool, minlength=n)
    if allowed is not None:
        counts[~allowed] = 0
    if size >= n:
        return np.flatnonzero(counts).astype(np.int32), 0
    order = np.argpartition(counts, n - size - 1)
    best = order[n - size :]
    return best[counts[best] > 0].astype(np.int32), int(counts[order[n - size - 1]])


def restricted(shard: Shard, n: int, nodes: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the sets of a shard with the given nodes only: sizes and pool, without empty sets.

    A node is given by its position in `nodes`.
    """
    place = np.full(n, -1, np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    pool = place[shard.pool]
    kept = pool >= 0
    before = np.concatenate(([0], np.cumsum(kept)))
    sizes = np.diff(before[shard.ends])
    return sizes[sizes > 0].astype(np.int32), pool[kept]


def hits(
    recipe: Recipe,
    graph: DirectedGraph,
    means: FloatArray,
    key: int,
    first: int,
    last: int,
    chosen: IntArray,
) -> tuple[int, int]:
    """Return how many of the sets ``first..last - 1`` contain one of `chosen`, and the examined arcs."""
    reverse = reverse_graph(recipe, graph, means)
    return count_hits(reverse, key, first, last, reverse.owners(chosen))
