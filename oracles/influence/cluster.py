"""Reverse-reachable sets that the workers of a Dask cluster draw and count.

A task is a function of its arguments only, so a task that a worker has lost runs again on another worker with
the same result. Each worker builds the reverse graph of a call once. The sets are sent to the client, which
chooses the seeds, so the answer is that of one machine. Validating sets are counted where they are drawn.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.validation import shown
from oracles.influence.graph import DirectedGraph
from oracles.influence.search import Plan, count_hits
from oracles.influence.sentinels import sampled_graph
from oracles.influence.sets import ReverseGraph, SetCollection

Result = TypeVar("Result")
_LOCK = threading.Lock()
# The reverse graph of the last call on this worker, by the name of the call.
_KEPT: dict[str, ReverseGraph] = {}
# The number of tasks for each thread of the cluster, and the smallest number of sets of a task.
_TASKS, _LEAST_SETS = 2, 256
# How often a call starts again after a loss of the graph, with all workers that had it.
_ATTEMPTS = 5


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


def reverse_graph(recipe: Recipe, graph: DirectedGraph, means: FloatArray) -> ReverseGraph:
    """Return the reverse graph of a call, which is built at the first task of the call."""
    with _LOCK:
        if recipe.call not in _KEPT:
            _KEPT.clear()
            _KEPT[recipe.call] = sampled_graph(graph, means, **recipe.options)
        return _KEPT[recipe.call]


def drawn_sets(
    recipe: Recipe,
    graph: DirectedGraph,
    means: FloatArray,
    key: int,
    first: int,
    last: int,
    sentinels: IntArray,
) -> tuple[IntArray, AnyArray, int]:
    """Return the sets ``first..last - 1`` of a key; they end at the `sentinels`."""
    sets = SetCollection(reverse_graph(recipe, graph, means), key)
    sets.stop_at(sentinels)
    return sets.drawn(first, last)


def hits(
    recipe: Recipe, graph: DirectedGraph, means: FloatArray, key: int, first: int, last: int, chosen: IntArray
) -> tuple[int, int]:
    """Return how many of the sets ``first..last - 1`` contain one of `chosen`, and the examined arcs."""
    reverse = reverse_graph(recipe, graph, means)
    return count_hits(reverse, key, first, last, reverse.owners(chosen))


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

    def until_done(self, attempt: Callable[[], Result]) -> Result:
        """Return the result of `attempt`; try again if it lost the graph or the means.

        Dask repeats the tasks of lost workers itself, but not what the client sent: every worker that had it
        may be lost, or a worker may end while it receives it, which raises ``OSError``. The answer does not
        depend on repetitions.
        """
        for left in range(_ATTEMPTS - 1, -1, -1):
            try:
                return attempt()
            except (CancelledError, OSError):
                if left == 0:
                    raise
                self._graphs = {}
                self.client.wait_for_workers(1)
        raise AssertionError("the last attempt returns or raises")


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


class Call:
    """One call of an oracle on a cluster: the reverse graph of its probabilities on the workers."""

    def __init__(
        self, cluster: Cluster, graph: DirectedGraph, means: FloatArray, options: dict[str, Any]
    ) -> None:
        self.client = cluster.client
        means = self.client.scatter(means, broadcast=True, hash=False)
        self._given = Recipe(uuid.uuid4().hex, options), cluster.graph(graph), means

    def results(self, task: Callable[..., Any], key: int, first: int, last: int, *given: Any) -> list[Any]:
        """Return the results of a task for consecutive ranges of sets, some for each thread."""
        threads = sum(self.client.nthreads().values())
        parts = max(1, min(_TASKS * max(1, threads), (last - first) // _LEAST_SETS))
        cuts = np.linspace(first, last, parts + 1).astype(np.int64).tolist()
        arguments = [(*self._given, key, *ends, *given) for ends in pairwise(cuts)]
        futures = [self.client.submit(task, *each, pure=False, retries=2) for each in arguments]
        found: list[Any] = self.client.gather(futures)
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class RemotePlan(Plan):
    """A plan whose sets are drawn and counted by the workers of a cluster."""

    call: Call

    def no_sets(self) -> SetCollection:
        return RemoteSets(self.reverse, self.keys[0], self.call)

    def count_hits(self, chosen: IntArray, first: int, last: int) -> tuple[int, int]:
        found = self.call.results(hits, self.keys[1], first, last, chosen)
        return sum(hits for hits, _ in found), sum(arcs for _, arcs in found)


class RemoteSets(SetCollection):
    """The stored sets of one key, which the workers of a cluster draw; a few sets are drawn here."""

    def __init__(self, graph: ReverseGraph, key: int, call: Call) -> None:
        super().__init__(graph, key)
        self.call = call

    def without_sentinels(self) -> RemoteSets:
        """Return an empty collection of the same sets, without the sentinels."""
        return RemoteSets(self.graph, self.key, self.call)

    def parts(self, first: int, last: int, most: int | None) -> list[tuple[IntArray, AnyArray, int]]:
        """Return the sets ``first..last - 1`` in consecutive parts."""
        if last - first < _LEAST_SETS or most is not None:
            return super().parts(first, last, most)
        return self.call.results(drawn_sets, self.key, first, last, self.sentinels)
