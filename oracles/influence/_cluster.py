"""The search for seeds on a Dask cluster: sets are drawn and counted on the workers, and stay there."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.validation import shown
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph, SetCollection
from oracles.influence import _remote_work as work
from oracles.influence.search import Plan

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
        self._recipe = work.Recipe(uuid.uuid4().hex, options)
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
        tasks = [self.submit(work.hits, key, *ends, chosen) for ends in self.ranges(first, last)]
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
            self.call.submit(work.draw_shard, self.key, *ends, self._early, len(self.sentinels) > 0)
            for ends in self.call.ranges(done, n_sets)
        ]
        counts = self.call.client.gather([self.call.on(work.examined, shard) for shard in fresh])
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
        found = [self.call.on(work.top_counts, shard, n, self.call.allowed, size) for shard in self.shards]
        here = work.top_counts(self._here(), n, None if allowed.all() else allowed, size)
        parts = [here, *self.call.client.gather(found)]
        nodes = np.unique(np.concatenate([nodes for nodes, _ in parts])).astype(np.int64)
        return nodes, sum(most for _, most in parts)

    def restricted(self, nodes: IntArray) -> tuple[IntArray, Any]:
        """Return ends and pool of all sets with the given nodes only; empty sets come last."""
        n, sent = self.graph.n_components, nodes.astype(np.int32)
        found = [self.call.on(work.restricted, shard, n, sent) for shard in self.shards]
        parts = [work.restricted(self._here(), n, sent), *self.call.client.gather(found)]
        sizes = np.concatenate([sizes for sizes, _ in parts])
        ends = np.zeros(self.n_sets + 1, np.int64)
        np.cumsum(sizes, out=ends[1 : len(sizes) + 1])
        ends[len(sizes) + 1 :] = ends[len(sizes)]
        return ends, np.concatenate([pool for _, pool in parts])

    def _here(self) -> work.Shard:
        return work.Shard(self.ends, self.pool[: self.ends[-1]], 0)
