"""The reverse graph for given probabilities, and growing collections of its reverse-reachable sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from oracles._networks import grouped_sets
from oracles.influence.graph import (
    DirectedGraph,
    require_memory,
    reverse_arcs,
    strong_components,
)
from oracles.influence.sampling import (
    Ways,
    World,
    alias_table,
    draw_sets,
    draw_walks,
    in_parts,
    limits_and_tops,
    live_chances,
    short_of,
    skip_rates,
)

Model = Literal["ic", "lt"]
MODELS: tuple[Model, ...] = ("ic", "lt")
Sampler = Literal["auto", "coins", "skips", "pairs", "sentinels"]
SAMPLERS: tuple[Sampler, ...] = ("auto", "coins", "skips", "pairs", "sentinels")

_BYTES_OF_ARC, _BYTES_OF_NODE = 24, 100
# The number of certain arcs per node from which contraction is useful. With fewer, few arcs are in cycles.
_WORTH_CONTRACTING = 0.5
# Sets of one node are omitted if at most this share of the sets has several nodes.
_WORTH_PAIRS = 0.2
# With at most this many nodes, sets are not drawn in the form for coins alone, which would save 5 % of the
# time and takes 0.3 s to compile.
_SMALL = 10_000
# The share of arcs of probability 0 from which the graph is rebuilt without them.
_WORTH_DROPPING = 0.1
# Set numbers have 32 bits.
_MOST_SETS = 2**31 - 2
# `draw` is called for a multiple of this many sets, because user-defined models draw sets in blocks.
BLOCK = 256


class Index(NamedTuple):
    """The sets, and the sets that contain each node.

    Set i is ``pool[ends[i]:ends[i + 1]]``; node v is in the sets ``sets[offsets[v]:offsets[v + 1]]``.
    """

    ends: IntArray
    pool: AnyArray
    offsets: IntArray
    sets: AnyArray


class Room(NamedTuple):
    """The owners of the nodes, and the arrays that `ReverseGraph.draw` fills.

    The j-th drawn set is ``pool[ends[j]:ends[j + 1]]``; if `ends` is empty, no set is stored. A node is in
    set i if its stamp is ``i + 1``.
    """

    owners: AnyArray
    ends: IntArray
    pool: AnyArray
    stamps: AnyArray


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
    is_joined : bool
        Whether an arc from one component to another can be live.
    component : AnyArray, shape (n_nodes,)
        The component of each node.
    masses : FloatArray, shape (n_components,)
        The total weight of the nodes of each component.
    world : World
        The input of the sampling kernels, without arcs within components. If there are many arcs of
        probability 0, these are also omitted.
    ways : Ways or None
        The nodes with arcs that are not tried one by one.
    total_weight : float
        The total weight that the sampled sets represent.
    certain : FloatArray, shape (n_components,)
        If sets of one node are not sampled, the expected weight that a component adds by such sets; 0
        otherwise.
    model : {"ic", "lt"}
        Independent cascade or linear threshold (at most one live arc into each node).
    """

    graph: DirectedGraph
    is_joined: bool
    component: AnyArray
    masses: FloatArray
    world: World
    ways: Ways | None
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
    ) -> ReverseGraph:
        """Return the reverse graph for `means`.

        By default, certain arcs are contracted if there are more than half as many as nodes, because finding
        the components takes a few passes over the graph. `contract` overrides this rule.
        """
        require_memory(
            _BYTES_OF_ARC * graph.n_arcs + _BYTES_OF_NODE * graph.n_nodes, f"the reverse graph of {graph!r}"
        )
        if model == "lt":
            # By rounding, a sum can exceed 1. The interval of the last arc would then be too short.
            sums = np.bincount(graph.heads, means, graph.n_nodes)
            means, sampler = means / np.maximum(sums, 1.0)[graph.heads], "coins"
        # Kernels are compiled separately for read-only arrays, so these are copied.
        chances = np.require(means, np.float64, ("C", "W"))
        if contract is None:
            contract = int(np.count_nonzero(chances == 1.0)) > _WORTH_CONTRACTING * graph.n_nodes
        if contract:
            certain = chances == 1.0
            component = strong_components(graph.tails[certain], graph.heads[certain], graph.n_nodes)
        else:
            component = np.arange(graph.n_nodes, dtype=np.int32)
        n = int(component.max()) + 1
        masses = np.bincount(component, node_weights, n).astype(np.float64, copy=False)
        if contract or np.count_nonzero(chances == 0.0) > _WORTH_DROPPING * graph.n_arcs:
            offsets, tails, arms = reverse_arcs(graph.tails, graph.heads, chances, component, n)
        else:
            (offsets, arms), tails = graph.in_arcs, graph.in_tails
        limits, tops = limits_and_tops(offsets, arms, chances)
        gammas, total_weight = np.empty(0), float(masses.sum())
        if sampler in ("auto", "pairs"):
            most = np.inf if sampler == "pairs" else _WORTH_PAIRS * total_weight
            found, mass = live_chances(offsets, arms, chances, masses, most)
            if 0.0 < mass <= most:
                gammas, total_weight = found, mass
        rates = skip_rates(offsets, tops) if sampler in ("auto", "skips", "sentinels") else np.zeros(n)
        if node_weights is None and len(gammas) == 0:
            roots, cuts, aliases = component, np.ones(len(component)), component
        else:
            roots = np.arange(n, dtype=np.int32)
            cuts, aliases = alias_table(masses * gammas if len(gammas) else masses)
        certain = masses * (1.0 - gammas) if len(gammas) else np.zeros(n)
        world = World(roots, cuts, aliases, offsets, tails, limits, arms, chances)
        needs_ways = n <= _SMALL or rates.any() or len(gammas)
        ways = Ways(rates, tops, gammas) if needs_ways else None
        return cls(graph, bool(tops.any()), component, masses, world, ways, total_weight, certain, model)

    @property
    def omits_single_nodes(self) -> bool:
        """Whether sets of one node are not sampled."""
        return self.ways is not None and len(self.ways.gammas) > 0

    def draw(self, key: int, first: int, last: int, room: Room) -> tuple[int, int, int]:
        """Draw sets; see `draw_sets`."""
        if self.model == "ic":
            drawn: tuple[int, int, int] = draw_sets(self.world, self.ways, key, first, last, *room)
        else:
            drawn = draw_walks(self.world, key, first, last, *room)
        return drawn

    def step_from(self, at: int, last: int, examined: int, done: int) -> int:
        """Return the number of the set up to which `draw` is called next, at most `last`.

        The previous `done` sets took `examined` arcs. Ctrl-C takes effect only between steps, so steps are
        short.
        """
        upto = at + short_of(examined, done, self.graph.n_arcs)
        return min(last, -(-upto // BLOCK) * BLOCK)

    def owners(self, chosen: IntArray) -> AnyArray:
        """Return for each component its owner: itself if it is one of the `chosen`, otherwise -1.

        Every set that contains the component also contains its owner, so the set need not be drawn further.
        """
        owners = np.full(self.n_components, -1, np.int32)
        owners[chosen] = chosen
        return owners

    def with_single_nodes(self) -> ReverseGraph:
        """Return this graph with sets of one node among the sampled sets."""
        assert self.ways is not None
        cuts, aliases = alias_table(self.masses)
        world = self.world._replace(cuts=cuts, aliases=aliases)
        ways = self.ways._replace(gammas=np.empty(0))
        total, nothing = float(self.masses.sum()), np.zeros(self.n_components)
        return replace(self, world=world, ways=ways, total_weight=total, certain=nothing)

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
        # The number of sets before the sentinels.
        self._n_whole = 0
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
        self._n_whole = self.n_sets

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
        most = None if most_entries is None else most_entries - int(self.ends[-1])
        parts = self.parts(done, n_sets, most)
        sizes = np.concatenate((np.diff(self.ends), *(np.diff(ends) for ends, _, _ in parts)))
        # Replace the arrays only at the end, so that an error leaves the collection unchanged.
        self.pool = np.concatenate((self.pool, *(pool for _, pool, _ in parts)))
        self.ends = np.concatenate((self.ends[:1], np.cumsum(sizes)))
        self.edges_examined += sum(edges for _, _, edges in parts)

    def parts(self, first: int, last: int, most: int | None) -> list[tuple[IntArray, AnyArray, int]]:
        """Return the sets ``first..last - 1`` in consecutive parts, on several threads."""
        threads = self.threads if most is None else 1  # in order, so that the first sets are stored
        return in_parts(threads, first, last, lambda a, b: self.drawn(a, b, most))

    def drawn(self, first: int, last: int, most: int | None = None) -> tuple[IntArray, AnyArray, int]:
        """Return ends and pool of the sets ``first..last - 1``, and the number of arcs examined for them.

        The sets are not stored. If `most` is given, stop before the sets contain more nodes in total.
        """
        n = self.graph.n_components
        ends, stamps = np.zeros(last - first + 1, np.int64), np.zeros(n, np.int32)
        room = Room(self._owners, ends, self._pool(2 * n), stamps)
        done, edges = 0, 0
        while True:
            upto = self.graph.step_from(first + done, last, edges, done)
            part = room._replace(ends=room.ends[done : upto - first + 1])
            drawn, _, examined = self.graph.draw(self.key, first + done, upto, part)
            done, edges = done + drawn, edges + examined
            entries = int(room.ends[done])
            is_full = most is not None and len(room.pool) >= most + n and first + done < upto
            if done == last - first or is_full:
                return room.ends[: done + 1], room.pool[:entries], edges
            if first + done < upto:
                # Extrapolate the required size, and at least double the pool, so that large collections are
                # copied rarely.
                wanted = max(2 * len(room.pool), int(1.1 * entries / max(done, 1) * (last - first)) + n)
                larger = self._pool(wanted if most is None else min(wanted, most + n))
                larger[:entries] = room.pool[:entries]
                room = room._replace(pool=larger)

    def _pool(self, entries: int) -> AnyArray:
        # Entries are stored at most three times: here, in the collection and in its index.
        require_memory(12 * entries * self.threads, "a sample of reverse-reachable sets")
        return np.empty(entries, np.int32)

    def index(self) -> Index:
        """Return the sets, and the sets that contain each component."""
        return Index(self.ends, self.pool, *grouped_sets(self.ends, self.pool, self.graph.n_components))
