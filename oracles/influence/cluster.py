"""The tasks that the workers of a cluster run: they draw sets, count candidates, and count hits.

A task is a function of its arguments only, so a task that a worker has lost runs again on another worker with
the same result. Each worker builds the reverse graph of a call once.

Greedy choices from sets on a cluster, from the counts of candidates; exact by bounds.

The workers send the nodes with the largest counts. Every other node is in at most as many sets as the sum of
the largest counts that the workers did not send. If this bound is below all gains that matter, the choice and
the bound on the optimum from the candidates are those from all nodes. Otherwise, more candidates are sent.

The search for seeds on a Dask cluster: sets are drawn and counted on the workers, and stay there.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.compiled import call_kernel
from cmab.validation import shown
from oracles.influence.certificate import upper_bound
from oracles.influence.cover import (
    NEAR,
    Index,
    bound_with_certain,
    cover,
    cover_and_gain,
    fill_up,
    hold_back,
    invert,
    is_greedy,
    near_cut,
    tangent,
)
from oracles.influence.graph import DirectedGraph
from oracles.influence.search import Plan, count_hits
from oracles.influence.sentinels import sampled_graph
from oracles.influence.sets import ReverseGraph, SetCollection

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


# The first number of candidates for each seed, the least number, and the factor by which it grows.
_PER_SEED, _LEAST, _GROWTH = 4 * NEAR, 4096, 8


def choose_remotely(
    sets: RemoteSets,
    k: int,
    allowed: BoolArray,
    log_term: float,
    is_last: bool = False,
    least_share: float = 0.0,
) -> tuple[IntArray, int, float]:
    """Return what `choose_some` returns for the same sets on one machine."""
    reverse = sets.graph
    per_set = reverse.total_weight / sets.n_sets
    pairs = len(reverse.world.gammas) > 0
    for nodes, most in _candidates(sets, k, allowed):
        ends, pool = sets.restricted(nodes)
        index = Index(ends, pool, *call_kernel(invert, ends, pool, len(nodes)))
        certain, numbers = reverse.certain[nodes], np.arange(len(nodes))
        outside = _largest_outside(reverse.certain, nodes, allowed) if most >= 0 else -1.0
        if pairs:
            picked, covered = call_kernel(cover_and_gain, index, k, numbers, certain, per_set)
            if outside >= 0.0 and not _is_above(index, picked, k, certain, per_set, outside + per_set * most):
                continue
            _, slope = tangent(reverse, index, covered, log_term)
            if outside >= 0.0 and not _is_near(index, picked, k, certain, slope, outside + slope * most):
                continue
            optimum = bound_with_certain(reverse, index, k, numbers, certain, picked, covered, log_term)
        else:
            given = np.searchsorted(nodes, sets.sentinels)
            is_open = allowed[nodes]
            picked, covered, bound, gain = call_kernel(cover, index, k, is_open, given)
            if most > 0 and _kth_gain(index, picked, k, is_open) <= most:
                continue
            if len(given) and hold_back(len(given), covered, bound, gain, least_share):
                sets.complete()
                return choose_remotely(sets, k, allowed, log_term, is_last)
            optimum = upper_bound(bound, sets.n_sets, reverse.total_weight, log_term)
        if is_last:
            assert is_greedy(index, numbers[allowed[nodes]], certain, per_set, picked), "greedy"
        return fill_up(nodes[picked], k, allowed, reverse), covered, optimum
    raise AssertionError("all nodes are candidates in the last round")


def _candidates(sets: RemoteSets, k: int, allowed: BoolArray) -> Iterator[tuple[IntArray, int]]:
    """Yield more and more candidates with a bound on the count of other nodes; -1 if there are no others."""
    size = max(_LEAST, _PER_SEED * k)
    while size < len(allowed):
        nodes, most = sets.top(size, allowed)
        yield np.union1d(nodes, sets.sentinels), most
        size *= _GROWTH
    yield np.flatnonzero(allowed | np.isin(np.arange(len(allowed)), sets.sentinels)), -1


def _largest_outside(certain: AnyArray, nodes: IntArray, allowed: BoolArray) -> float:
    """Return the largest certain value of an allowed node that is no candidate, or -1 if there is none."""
    others = allowed.copy()
    others[nodes] = False
    return float(certain[others].max(initial=-1.0))


def _gains(index: Index, picked: IntArray) -> IntArray:
    """Return the number of sets that each node would cover besides those of `picked`."""
    covered = np.zeros(len(index.ends) - 1, np.bool_)
    for v in picked:
        covered[index.sets[index.offsets[v] : index.offsets[v + 1]]] = True
    is_free = np.repeat(~covered, np.diff(index.ends))
    return np.bincount(index.pool[is_free], minlength=len(index.offsets) - 1)


def _kth_gain(index: Index, picked: IntArray, k: int, is_open: BoolArray) -> int:
    """Return the k-th largest gain after the choice; gains only decrease, so no earlier one is smaller."""
    gains = np.where(is_open, _gains(index, picked), 0)
    return int(np.partition(gains, -k)[-k]) if len(gains) >= k else 0


def _is_above(index: Index, picked: IntArray, k: int, certain: AnyArray, per_set: float, bar: float) -> bool:
    """Return whether `k` nodes were picked, and each of them gained more than `bar` when it was picked."""
    if len(picked) < k:
        return False
    # The gain of the last node is the smallest.
    last = picked[-1]
    return bool(certain[last] + per_set * _gains(index, picked[:-1])[last] > bar)


def _is_near(index: Index, picked: IntArray, k: int, certain: AnyArray, slope: float, bar: float) -> bool:
    """Return whether the nodes that `bound_after` examines first are candidates, and suffice to the end."""
    n = len(certain)
    if n < NEAR * k:
        return False
    cut = near_cut(index, k, np.arange(n), certain, slope)
    left = certain.copy()
    left[picked] = 0.0
    # Values only decrease, so the k-th largest value is smallest after the choice.
    values = left + slope * _gains(index, picked)
    return bool(cut > bar and np.partition(values, -k)[-k] >= cut)


Result = TypeVar("Result")
# The number of shards for each thread of the cluster, and the smallest shard.
_SHARDS, _LEAST_SETS = 2, 256
#: How often a call starts again after a loss of the graph, with all workers that had it.
_ATTEMPTS = 5


class Cluster:
    """A Dask client, which copies for other processes do not carry."""

    def __init__(self, client: Any = None) -> None:
        self.client = client
        self._graphs: dict[int, Any] = {}

    def __reduce__(self) -> tuple[type[Cluster], tuple[()]]:
        return Cluster, ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Cluster:
        return self

    def graph(self, graph: DirectedGraph) -> Any:
        """Return the graph on all workers, to which it is sent once; of a store, only the path is sent."""
        if id(graph) not in self._graphs:
            self._graphs = {id(graph): self.client.scatter(graph, broadcast=True, hash=False)}
        return self._graphs[id(graph)]

    def forget(self) -> None:
        """Send the graph again in the next call."""
        self._graphs = {}


def check_client(backend: object) -> None:
    """Raise ``ValueError`` unless `backend` is a connected client of Dask."""
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("backend needs Dask; install it with `pip install cmab[dask]`") from None
    if not isinstance(backend, Client) or backend.asynchronous:
        raise ValueError(
            f"backend must be a synchronous client of Dask, distributed.Client(...), got {shown(backend)}"
        )
    if backend.status != "running":
        raise ValueError(f"backend must be connected to a cluster, got a client that is {backend.status}")


def until_done(cluster: Cluster, attempt: Callable[[], Result]) -> Result:
    """Return the result of `attempt`; try again if it lost the graph or the means.

    Dask repeats the tasks of lost workers itself, but not what the client sent: every worker that had it may
    be lost, or a worker may end while it receives it, which raises ``OSError``. The answer does not depend on
    repetitions.
    """
    for left in range(_ATTEMPTS - 1, -1, -1):
        try:
            return attempt()
        except (CancelledError, OSError):
            if left == 0:
                raise
            cluster.forget()
            cluster.client.wait_for_workers(1)
    raise AssertionError("the last attempt returns or raises")


class Call:
    """One call of an oracle on a cluster: the reverse graph of its probabilities on the workers."""

    def __init__(
        self,
        cluster: Cluster,
        graph: DirectedGraph,
        means: FloatArray,
        options: dict[str, Any],
        allowed: BoolArray,
    ) -> None:
        self.client = cluster.client
        self._recipe = Recipe(uuid.uuid4().hex, options)
        self._graph = cluster.graph(graph)
        self._means = self.client.scatter(means, broadcast=True, hash=False)
        self.allowed = None if allowed.all() else self.client.scatter(allowed, broadcast=True, hash=False)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function of the call on a worker; of its recipe, the graph and the means first."""
        return self.client.submit(
            function, self._recipe, self._graph, self._means, *arguments, pure=False, retries=2
        )

    def on(self, function: Callable[..., Any], shard: Any, *arguments: Any) -> Any:
        """Run a function of a shard on the worker that has the shard."""
        return self.client.submit(function, shard, *arguments, pure=False, retries=2)

    def ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return ranges of sets, some for each thread of the cluster as it is now."""
        threads = sum(self.client.nthreads().values())
        parts = max(1, min(_SHARDS * max(1, threads), (last - first) // _LEAST_SETS))
        cuts = np.linspace(first, last, parts + 1).astype(np.int64).tolist()
        return list(pairwise(cuts))

    def count_hits(self, key: int, chosen: IntArray, first: int, last: int) -> tuple[int, int]:
        """Return the number of sets with one of `chosen`, counted where they are drawn, and examined arcs."""
        tasks = [self.submit(hits, key, *ends, chosen) for ends in self.ranges(first, last)]
        found = self.client.gather(tasks)
        return sum(hits for hits, _ in found), sum(arcs for _, arcs in found)


@dataclass(frozen=True, eq=False)
class RemotePlan(Plan):
    """A plan whose sets are on the workers of a cluster."""

    call: Call | None = None

    def no_sets(self) -> SetCollection:
        assert self.call is not None
        return RemoteSets(self.reverse, self.keys[0], self.call)

    def counter(self, chosen: IntArray) -> Callable[[int, int], tuple[int, int]]:
        assert self.call is not None
        return partial(self.call.count_hits, self.keys[1], chosen)


class RemoteSets(SetCollection):
    """The stored sets of one key, on the workers of a cluster; the first sets may be on this machine.

    Attributes
    ----------
    shards : list
        The futures of the sets on the workers, in order.
    """

    def __init__(self, graph: ReverseGraph, key: int, call: Call) -> None:
        super().__init__(graph, key)
        self.call, self.shards, self._n_remote = call, list[Any](), 0
        self.is_local = False
        # The nodes whose arcs are tried early: the sentinels, also after the sets are complete.
        self._early = self.sentinels

    @property
    def n_sets(self) -> int:
        """The number of stored sets."""
        return len(self.ends) - 1 + self._n_remote

    def grow(self, n_sets: int, most_entries: int | None = None) -> None:
        """Draw sets until there are `n_sets`; on this machine if `is_local` is true."""
        if self.is_local:
            super().grow(n_sets, most_entries)
            return
        done = self.n_sets
        if n_sets <= done:
            return
        fresh = [
            self.call.submit(draw_shard, self.key, *ends, self._early, len(self.sentinels) > 0)
            for ends in self.call.ranges(done, n_sets)
        ]
        counts = self.call.client.gather([self.call.on(examined, shard) for shard in fresh])
        self.shards, self._n_remote = self.shards + fresh, self._n_remote + n_sets - done
        self.edges_examined += sum(counts)

    def stop_at(self, sentinels: IntArray) -> None:
        """End each set drawn from now on as soon as it certainly contains one of these components."""
        super().stop_at(sentinels)
        self._early = sentinels

    def without_sentinels(self) -> RemoteSets:
        """Return an empty collection of the same sets, without the sentinels."""
        empty = RemoteSets(self.graph, self.key, self.call)
        empty._early = self._early
        return empty

    def placed(self, place: Callable[[SetCollection, int], None], n_sets: int) -> None:
        """Choose sentinels from the first sets, which are drawn and stay on this machine."""
        self.is_local = True
        try:
            place(self, n_sets)
        finally:
            self.is_local = False

    def top(self, size: int, allowed: BoolArray) -> tuple[IntArray, int]:
        """Return nodes with large counts, and an upper bound on the count of every other allowed node."""
        n = self.graph.n_components
        found = [self.call.on(top_counts, shard, n, self.call.allowed, size) for shard in self.shards]
        here = top_counts(self._here(), n, None if allowed.all() else allowed, size)
        parts = [here, *self.call.client.gather(found)]
        nodes = np.unique(np.concatenate([nodes for nodes, _ in parts])).astype(np.int64)
        return nodes, sum(most for _, most in parts)

    def restricted(self, nodes: IntArray) -> tuple[IntArray, Any]:
        """Return ends and pool of all sets with the given nodes only; empty sets come last."""
        n, sent = self.graph.n_components, nodes.astype(np.int32)
        found = [self.call.on(restricted, shard, n, sent) for shard in self.shards]
        parts = [restricted(self._here(), n, sent), *self.call.client.gather(found)]
        sizes = np.concatenate([sizes for sizes, _ in parts])
        ends = np.zeros(self.n_sets + 1, np.int64)
        np.cumsum(sizes, out=ends[1 : len(sizes) + 1])
        ends[len(sizes) + 1 :] = ends[len(sizes)]
        return ends, np.concatenate([pool for _, pool in parts])

    def _here(self) -> Shard:
        return Shard(self.ends, self.pool[: self.ends[-1]], 0)
