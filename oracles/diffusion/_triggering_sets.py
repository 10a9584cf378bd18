"""Reverse-reachable sets of user-defined triggering models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph

# The number of sets that grow together: enough to amortise a call of the model, with a bounded table of
# members.
_MOST_TOGETHER, _LEAST_TOGETHER, _MOST_MEMBERS = 256, 16, 2**24

Live = Callable[[np.random.Generator], BoolArray]
LiveInto = Callable[[AnyArray, IntArray, np.random.Generator], BoolArray]


def keyed_generator(key: int, number: int) -> np.random.Generator:
    """Return a stream for (key, number); Philox needs no seeding, which is slow for small graphs."""
    return np.random.Generator(np.random.Philox(key=np.array([key, number], np.uint64)))


def arcs_into(graph: DirectedGraph, nodes: IntArray) -> tuple[AnyArray, IntArray]:
    """Return the arcs into `nodes` in order, and for each arc the position of its node in `nodes`."""
    offsets, arcs = graph.in_arcs
    starts, degrees = offsets[nodes], graph.in_degrees[nodes]
    # Concatenate ranges of different lengths without a loop: repeat each start by its length, and add a count
    # that restarts with each range.
    places = np.arange(degrees.sum()) + np.repeat(starts - np.cumsum(degrees) + degrees, degrees)
    return arcs[places], np.repeat(np.arange(len(nodes)), degrees)


@dataclass(frozen=True, eq=False)
class WholeWorlds(ReverseGraph):
    """Sets drawn in worlds of a user-defined model; set i of a key uses world (key, i)."""

    live: Live | None = None

    def draw(
        self,
        key: int,
        first: int,
        last: int,
        owners: AnyArray,
        ends: IntArray,
        pool: AnyArray,
        stamps: AnyArray,
    ) -> tuple[int, int, int]:
        from oracles.diffusion._kernels_live_edges import InArcs, reach_back

        assert self.live is not None
        hits, examined, start, n = 0, 0, int(ends[0]) if len(ends) else 0, self.n_components
        shares, arcs_in = _shares(self.masses), InArcs(*self.graph.in_arcs, self.graph.tails)
        for j in range(last - first):
            if start + n > len(pool):
                return j, hits, examined
            rng = keyed_generator(key, first + j)
            pool[start] = _roots(shares, 1, rng)[0]
            end, hit, arcs = reach_back(
                arcs_in,
                self.live(rng),
                owners,
                pool,
                start,
                stamps,
                first + j + 1,
            )
            hits, examined = hits + hit, examined + arcs
            if len(ends):
                ends[j + 1] = start = end
        return last - first, hits, examined


class _Block(NamedTuple):
    """Sets that were drawn together."""

    ends: IntArray
    pool: AnyArray
    is_hit: BoolArray
    examined: IntArray


@dataclass(frozen=True, eq=False)
class TriggeringSets(ReverseGraph):
    """Sets for which only the nodes that they reach draw their triggering sets.

    Sets grow together in blocks of equal size. Block b of a key has the stream (key, b). A request for a part
    of a block draws the whole block, so the sets do not depend on the request.
    """

    live_into: LiveInto | None = None

    @property
    def n_together(self) -> int:
        """The number of sets in a block."""
        return min(_MOST_TOGETHER, max(_LEAST_TOGETHER, _MOST_MEMBERS // self.n_components))

    def draw(
        self,
        key: int,
        first: int,
        last: int,
        owners: AnyArray,
        ends: IntArray,
        pool: AnyArray,
        stamps: AnyArray,  # noqa: ARG002
    ) -> tuple[int, int, int]:
        hits, examined, at = 0, 0, first
        while at < last:
            number, a = divmod(at, self.n_together)
            block, b = self._block(key, number, owners), min(self.n_together, a + last - at)
            if len(ends):
                start = ends[at - first]
                # Take only the sets for which there is room.
                room = block.ends[a] + len(pool) - start
                b = min(b, int(np.searchsorted(block.ends, room, side="right")) - 1)
                if b == a:
                    break
                size = block.ends[b] - block.ends[a]
                pool[start : start + size] = block.pool[block.ends[a] : block.ends[b]]
                ends[at - first + 1 : at - first + b - a + 1] = (
                    start + block.ends[a + 1 : b + 1] - block.ends[a]
                )
            hits, examined = hits + int(block.is_hit[a:b].sum()), examined + int(block.examined[a:b].sum())
            at += b - a
        return at - first, hits, examined

    def _block(self, key: int, number: int, owners: AnyArray) -> _Block:
        from oracles.diffusion._kernels_graph import order_by
        from oracles.diffusion._kernels_live_edges import widen

        assert self.live_into is not None
        graph, rng, n_sets = self.graph, keyed_generator(key, number), self.n_together
        sets, nodes = np.arange(n_sets), _roots(_shares(self.masses), n_sets, rng)
        members, examined = np.zeros((n_sets, self.n_components), np.bool_), np.zeros(n_sets, np.int64)
        members[sets, nodes] = True
        is_open = owners[nodes] < 0
        steps = [(sets, nodes)]
        while len(nodes):
            asked = is_open[sets] & (graph.in_degrees[nodes] > 0)
            sets, nodes = sets[asked], nodes[asked]
            arcs, askers = arcs_into(graph, nodes)
            examined += np.bincount(sets[askers], minlength=n_sets)
            live = self.live_into(arcs, askers, rng)
            sets, nodes = call_kernel(
                widen, graph.in_arcs[0], graph.in_tails, live, owners, sets, nodes, members, is_open
            )
            steps.append((sets, nodes))
        sets, nodes = (np.concatenate(parts) for parts in zip(*steps, strict=True))
        ends, order = call_kernel(order_by, sets, n_sets)
        return _Block(ends, nodes[order].astype(np.int32), ~is_open, examined)


def _shares(masses: FloatArray) -> FloatArray:
    shares: FloatArray = np.cumsum(masses) / masses.sum()
    return shares


def _roots(shares: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return nodes with probabilities proportional to the increments of the cumulative `shares`."""
    return np.minimum(np.searchsorted(shares, rng.random(count), side="right"), len(shares) - 1)
