"""Reverse-reachable sets of user-defined triggering models.

The reverse graph for given probabilities, and growing collections of its reverse-reachable sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.compiled import call_kernel
from oracles.influence.graph import DirectedGraph, arcs_into, require_memory
from oracles.influence.sampling import (
    early_arcs,
    in_parts,
    inverted,
    limits_of,
    live_chances,
    plain,
    short_of,
    with_skips,
)

if TYPE_CHECKING:
    from oracles.influence.sampling import World

Model = Literal["ic", "lt"]
MODELS: tuple[Model, ...] = ("ic", "lt")
Sampler = Literal["auto", "coins", "skips", "pairs", "sentinels"]
SAMPLERS: tuple[Sampler, ...] = ("auto", "coins", "skips", "pairs", "sentinels")

_BYTES_OF_ARC, _BYTES_OF_NODE = 24, 100
# The number of certain arcs per node from which contraction is useful. With fewer, few arcs are in cycles.
_WORTH_CONTRACTING = 0.5
_WORTH_PAIRS = 0.2
# Set numbers have 32 bits.
_MOST_SETS = 2**31 - 2
# The share of arcs of probability 0 from which the graph is rebuilt without them.
_WORTH_DROPPING = 0.1


@dataclass(frozen=True, eq=False)
class ReverseGraph:
    """The arcs into each component for one vector of probabilities, and the sampling of sets.

    A component is a node, or a set of nodes that reach each other along arcs of probability 1. Its nodes are
    always active together, so a cascade on components is equivalent to a cascade on nodes. The spread of a
    set S of components is ``total_weight`` times the probability that S meets a sampled set, plus the sum of
    ``certain`` over S.

    Attributes
    ----------
    graph : DirectedGraph
        The original graph.
    n_certain : int
        The number of arcs with probability 1.
    component : AnyArray, shape (n_nodes,)
        The component of each node.
    masses : FloatArray, shape (n_components,)
        The total weight of the nodes of each component.
    world : World
        The input of the sampling kernels, without arcs within components. If there are many arcs of
        probability 0, these are also omitted.
    total_weight : float
        The total weight that the sampled sets represent.
    certain : FloatArray, shape (n_components,)
        If sets of one node are not sampled, the expected weight that a component adds by such sets; 0
        otherwise.
    model : {"ic", "lt"}
        Independent cascade or linear threshold (at most one live arc into each node).
    """

    graph: DirectedGraph
    n_certain: int
    component: AnyArray
    masses: FloatArray
    world: World
    total_weight: float
    certain: FloatArray
    model: Model = "ic"

    @classmethod
    def of(
        cls,
        graph: DirectedGraph,
        means: FloatArray,
        *,
        node_weights: FloatArray | None = None,
        sampler: Sampler = "auto",
        contract: bool | None = None,
        model: Model = "ic",
        threads: int = 1,
    ) -> ReverseGraph:
        """Return the reverse graph for `means`.

        By default, certain arcs are contracted if there are more than half as many as nodes, because finding
        the components takes a few passes over the graph. `contract` overrides this rule.
        """
        from oracles.influence import graph as kernels

        require_memory(
            _bytes_of_arc(graph) * graph.n_arcs + _BYTES_OF_NODE * graph.n_nodes,
            f"the reverse graph of {graph!r}",
        )
        if model == "lt":
            # By rounding, a sum can exceed 1. The interval of the last arc would then be too short.
            sums = np.bincount(graph.heads, means, graph.n_nodes)
            means = means / np.maximum(sums, 1.0)[graph.heads]
        chances = plain(means)
        n_certain, n_impossible = kernels.count_extremes(chances)
        if contract is None:
            contract = n_certain > _WORTH_CONTRACTING * graph.n_nodes
        component = (
            kernels.strong_components(*graph.out_arcs, graph.heads, chances)
            if contract
            else np.arange(graph.n_nodes, dtype=np.int32)
        )
        n = int(component.max()) + 1
        masses = np.bincount(component, node_weights, n).astype(np.float64, copy=False)
        if contract or n_impossible > _WORTH_DROPPING * graph.n_arcs:
            arcs = kernels.reverse_arcs(graph.tails, graph.heads, chances, component, n)
        else:
            offsets, arms = graph.in_arcs
            arcs = offsets, graph.in_tails, limits_of(chances, arms, threads), arms
        chosen = sampler if model == "ic" else "coins"
        drawn_from = _with_sampler(component, masses, arcs, chances, node_weights is None, chosen, threads)
        return cls(graph, n_certain, component, masses, *drawn_from, model)

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
        """Draw sets; see `draw_sets`."""
        if self.model == "ic":
            from oracles.influence.sampling import draw_sets as draw
        else:
            from oracles.influence.sampling import draw_walks as draw
        drawn: tuple[int, int, int] = draw(self.world, key, first, last, owners, ends, pool, stamps)
        return drawn

    @property
    def n_together(self) -> int:
        """The number of sets that are always drawn together, even if only some of them are requested."""
        return 1

    def step_from(self, at: int, last: int, examined: int, done: int) -> int:
        """Return the number of the set up to which `draw` is called next, at most `last`.

        The previous `done` sets took `examined` arcs. Ctrl-C takes effect only between steps, so steps are
        short.
        """
        upto = at + short_of(examined, done, self.graph.n_arcs)
        return min(last, -(-upto // self.n_together) * self.n_together)

    def owners(self, chosen: IntArray) -> AnyArray:
        """Return for each component one of the `chosen` that certainly reaches it, or -1.

        Every set that contains the component also contains its owner, so the set need not be drawn further.
        If few arcs are certain, each component owns itself only, because finding others reads the arcs out of
        all chosen components, and sets reach their owners soon.
        """
        from oracles.influence.graph import certain_owners

        if self.n_certain <= _WORTH_CONTRACTING * self.graph.n_nodes:
            owners = np.full(self.n_components, -1, np.int32)
            owners[chosen] = chosen
            return owners
        offsets, arms = self.graph.out_arcs
        out_heads, chances = self.graph.out_heads, self.world.chances
        owned: AnyArray = certain_owners(offsets, out_heads, arms, chances, self.component, chosen)
        return owned

    def with_single_nodes(self) -> ReverseGraph:
        """Return this graph with sets of one node among the sampled sets."""
        from oracles.influence.sampling import alias_table

        masses = self.masses
        cuts, aliases = call_kernel(alias_table, masses)
        roots = np.arange(len(masses), dtype=np.int32)
        world = self.world._replace(roots=roots, cuts=cuts, aliases=aliases, gammas=np.empty(0))
        return replace(self, world=world, total_weight=float(masses.sum()), certain=np.zeros(len(masses)))

    def with_early(self, nodes: IntArray) -> ReverseGraph:
        """Return this graph, but the arcs out of `nodes` are tried as soon as their heads are in a set.

        The distribution of the sets stays the same. A set that ends at these nodes then ends sooner, because
        it does not wait until its nodes are processed in turn. If components have several nodes, or are not
        sampled by `draw_sets`, return this graph unchanged.
        """
        n, world = self.n_components, self.world
        is_drawn = self.model == "ic" and type(self).draw is ReverseGraph.draw and len(world.gammas) == 0
        has_nodes = n == self.graph.n_nodes and np.array_equal(self.component, np.arange(n))
        if not (is_drawn and has_nodes and len(nodes)):
            return self
        return replace(self, world=world._replace(**early_arcs(self.graph, world.chances, nodes)))

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.masses)

    def representatives(self, candidates: BoolArray | None = None) -> IntArray:
        """Return the lowest candidate of each component, or -1."""
        nodes = np.arange(len(self.component)) if candidates is None else np.flatnonzero(candidates)
        lowest = np.full(self.n_components, -1)
        lowest[self.component[nodes[::-1]]] = nodes[::-1]
        return lowest


def _bytes_of_arc(graph: DirectedGraph) -> int:
    """Return the bytes per arc that the reverse graph takes, with the orders that `graph` lacks."""
    return _BYTES_OF_ARC - sum(
        4 for name in ("in_arcs", "in_tails", "out_arcs", "out_heads") if name in vars(graph)
    )


def _with_sampler(
    component: AnyArray,
    masses: FloatArray,
    arcs: tuple[IntArray, AnyArray, AnyArray, AnyArray],
    probabilities: FloatArray,
    uniform: bool,
    sampler: Sampler,
    threads: int,
) -> tuple[World, float, FloatArray]:
    """Return `world`, `total_weight` and `certain`; `uniform` means that every node has weight 1."""
    from oracles.influence.sampling import World, alias_table

    offsets, _, _, arms = arcs
    n = len(masses)
    gammas, total_weight = np.empty(0), float(masses.sum())
    if sampler in ("auto", "pairs"):
        most = np.inf if sampler == "pairs" else _WORTH_PAIRS * total_weight
        chances, mass = live_chances(offsets, arms, probabilities, masses, most, threads)
        if 0.0 < mass <= most:
            gammas, total_weight = chances, mass
    if sampler in ("auto", "skips", "sentinels"):
        arcs, rates, tops = with_skips(arcs, probabilities, threads)
    else:
        rates, tops = np.zeros(n), np.zeros(n)
    if uniform and len(gammas) == 0:
        roots, cuts = component, np.ones(len(component))
        aliases = component
    else:
        roots = np.arange(n, dtype=np.int32)
        cuts, aliases = call_kernel(alias_table, masses * gammas if len(gammas) else masses)
    certain = masses * (1.0 - gammas) if len(gammas) else np.zeros(n)
    none = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), np.empty(0, np.bool_)
    world = World(roots, cuts, aliases, *arcs, probabilities, rates, tops, gammas, *none)
    return world, total_weight, certain


class SetCollection:
    """The stored first sets of one key; the collection grows on request.

    Attributes
    ----------
    ends : IntArray, shape (n_sets + 1,)
        Set i is ``pool[ends[i]:ends[i + 1]]``.
    pool : AnyArray
        The components of all sets.
    edges_examined : int
        The number of arcs into the nodes of all sets.
    sentinels : IntArray
        The components at which sets end early; a set that contains a sentinel may be incomplete.
    """

    def __init__(self, graph: ReverseGraph, key: int, *, threads: int = 1) -> None:
        self.graph, self.key, self.threads = graph, key, threads
        self.ends, self.pool = np.zeros(1, np.int64), np.empty(0, np.int32)
        self.sentinels, self._owners = np.empty(0, np.int64), np.full(graph.n_components, -1, np.int32)
        # The sets before the sentinels, and the first set after them.
        self._n_whole = self._alike_from = 0
        self.edges_examined = 0

    @property
    def n_sets(self) -> int:
        """The number of stored sets."""
        return len(self.ends) - 1

    def stop_at(self, sentinels: IntArray) -> None:
        """End each set drawn from now on as soon as it certainly contains one of these components.

        The sentinels are chosen once for all sets of the collection.
        """
        self.sentinels, self._owners = sentinels, self.graph.owners(sentinels)
        self.graph = self.graph.with_early(sentinels)
        self._n_whole = self._alike_from = self.n_sets

    def complete(self) -> None:
        """Draw the sets after the choice of sentinels again, completely.

        A set that ended at a sentinel is then a part of the same set, so the two samples share their bounds.
        After a ``MemoryError`` the collection is unchanged.
        """
        whole, first = self.without_sentinels(), self._n_whole
        whole.ends, whole.pool = self.ends[: first + 1], self.pool[: self.ends[first]]
        whole.grow(self.n_sets)
        whole.edges_examined += self.edges_examined
        vars(self).update(vars(whole))

    def without_sentinels(self) -> SetCollection:
        """Return an empty collection of the same sets, without the sentinels."""
        return SetCollection(self.graph, self.key, threads=self.threads)

    def grow(self, n_sets: int, most_entries: int | None = None) -> None:
        """Draw sets until there are `n_sets`, or until the sets contain `most_entries` nodes in total.

        Raises
        ------
        MemoryError
            If the sets do not fit into memory. The collection is then unchanged.
        """
        done = self.n_sets
        if n_sets <= done:
            return
        if n_sets > _MOST_SETS:
            raise MemoryError(f"at most {_MOST_SETS} reverse-reachable sets can be drawn, got {n_sets}")
        room = None if most_entries is None else most_entries - int(self.ends[-1])
        threads = self.threads if room is None else 1  # in order, so that the first sets are stored
        parts = in_parts(threads, done, n_sets, lambda a, b: self._drawn(a, b, room))
        sizes = np.concatenate((np.diff(self.ends), *(np.diff(ends) for ends, _, _ in parts)))
        pool = np.concatenate((self.pool, *(pool[: ends[-1]] for ends, pool, _ in parts)))
        # Replace the arrays only at the end, so that an error leaves the collection unchanged.
        self.ends, self.pool = np.concatenate((self.ends[:1], np.cumsum(sizes))), pool
        self.edges_examined += sum(edges for _, _, edges in parts)

    def draw_range(self, first: int, last: int) -> tuple[IntArray, AnyArray, int]:
        """Return the sets ``first..last - 1`` without storing them: ends, pool, and the examined arcs."""
        return self._drawn(first, last, None)

    def _drawn(self, first: int, last: int, most: int | None) -> tuple[IntArray, AnyArray, int]:
        """Return ends and pool of the sets ``first..last - 1``, and the number of arcs examined for them."""
        n = self.graph.n_components
        ends, stamps = np.zeros(last - first + 1, np.int64), np.zeros(n, np.int32)
        entries = float(self.ends[-1] - self.ends[self._alike_from])
        known = entries / max(1, self.n_sets - self._alike_from)
        pool = self._room_for(int(1.1 * known * (last - first)) + 2 * n, last)
        done, edges = 0, 0
        while True:
            upto = self.graph.step_from(first + done, last, edges, done)
            drawn, _, examined = self.graph.draw(
                self.key, first + done, upto, self._owners, ends[done : upto - first + 1], pool, stamps
            )
            done, edges = done + drawn, edges + examined
            full = most is not None and len(pool) >= most + n and first + done < upto
            if done == last - first or full:
                return ends[: done + 1], pool, edges
            if first + done == upto:
                continue
            # Extrapolate the required size, and at least double the pool, so that large collections are
            # copied rarely.
            wanted = max(2 * len(pool), int(1.1 * ends[done] / max(done, 1) * (last - first)) + n)
            larger = self._room_for(wanted if most is None else min(wanted, most + n), last)
            larger[: ends[done]] = pool[: ends[done]]
            pool = larger

    def _room_for(self, entries: int, n_sets: int) -> AnyArray:
        # Entries are stored at most three times: here, in the collection and in its index.
        require_memory(12 * entries * self.threads, f"a sample of {n_sets} reverse-reachable sets")
        return np.empty(entries, np.int32)

    def index(self) -> tuple[IntArray, AnyArray]:
        """Return the sets that contain each component, as (offsets, sets)."""
        return inverted(self.ends, self.pool, self.graph.n_components, self.threads)


# The number of sets that grow together: enough to amortise a call of the model, with a bounded table of
# members.
_MOST_TOGETHER, _LEAST_TOGETHER, _MOST_MEMBERS = 256, 16, 2**24

Live = Callable[[np.random.Generator], BoolArray]
LiveInto = Callable[[AnyArray, IntArray, np.random.Generator], BoolArray]


def keyed_generator(key: int, number: int) -> np.random.Generator:
    """Return a stream for (key, number); Philox needs no seeding, which is slow for small graphs."""
    return np.random.Generator(np.random.Philox(key=np.array([key, number], np.uint64)))


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
        from oracles.influence.spread import InArcs, reach_back

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
        stamps: AnyArray,
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
        from oracles._networks import order_by
        from oracles.influence.spread import widen

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
