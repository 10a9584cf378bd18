"""Influence maximisation under triggering models that the user defines by live arcs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Unpack

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.compiled import call_kernel, eager_kernel, kernel
from cmab.guarantees import Smoothness
from cmab.validation import integer, shown
from oracles._networks import order_by
from oracles.influence.graph import DirectedGraph, arcs_into
from oracles.influence.maximization import InfluenceMaximization, Options
from oracles.influence.sets import BLOCK, ReverseGraph, Room
from oracles.influence.spread import KEY, MOST_CASCADES, node_worths, reachable

if TYPE_CHECKING:
    import networkx as nx


class InArcs(NamedTuple):
    """The arcs into node v are ``arms[offsets[v]:offsets[v + 1]]``; arc i comes from ``tails[i]``."""

    offsets: IntArray
    arms: AnyArray
    tails: AnyArray


@kernel
def reach_back(arcs, live, owners, pool, start, stamps, stamp):
    """Fill the pool with the nodes that reach ``pool[start]`` by live arcs, until a node has an owner.

    Return the end in the pool, whether a node with an owner was found, and the number of examined arcs.
    """
    offsets, arms, tails = arcs
    at, end, examined = start, start + 1, 0
    stamps[pool[start]] = stamp
    # If the root has an owner, no arc needs to be examined.
    if owners[pool[start]] >= 0:
        return end, True, 0
    # The pool is both the queue and the result of a breadth-first search against the direction of the arcs.
    while at < end:
        v = pool[at]
        at += 1
        examined += offsets[v + 1] - offsets[v]
        for j in range(offsets[v], offsets[v + 1]):
            u = tails[arms[j]]
            # Stamps mark the members, so a new set does not need a pass over all nodes.
            if live[arms[j]] and stamps[u] != stamp:
                stamps[u] = stamp
                pool[end] = u
                end += 1
                if owners[u] >= 0:
                    return end, True, examined
    return end, False, examined


@eager_kernel
def widen(offsets, tails, live, owners, sets, nodes, members, is_open):
    """Add the tails of live arcs into ``nodes[i]`` to set ``sets[i]`` for each i; return the new members.

    `tails` are in the order of the heads of arcs. `live` has the arcs into `nodes` in order. `members` gives
    the nodes of each set. A set ends at its first node with an owner.
    """
    new_sets, new_nodes = np.empty(live.shape[0], np.int64), np.empty(live.shape[0], np.int64)
    end, at = 0, 0
    for i in range(sets.shape[0]):
        s = sets[i]
        for j in range(offsets[nodes[i]], offsets[nodes[i] + 1]):
            u = tails[j]
            # Also pass over the arcs of a closed set, because `at` must stay in step with `live`.
            if live[at] and is_open[s] and not members[s, u]:
                members[s, u] = True
                new_sets[end], new_nodes[end] = s, u
                end += 1
                # A node with an owner ends the set, as in `draw_sets`.
                is_open[s] = owners[u] < 0
            at += 1
    return new_sets[:end], new_nodes[:end]


class TriggeringModel(ABC):
    """A diffusion model specified by live arcs: live arcs from active nodes activate their heads.

    In Kempe et al. 2003, each node draws a set of in-neighbours, its triggering set. The arcs into the node
    from its triggering set are live. Independent cascades and linear thresholds are examples. The guarantee
    of `TriggeringInfluence` holds for **any** distribution of live arcs, even if the choices of different
    nodes are dependent, because coverage is submodular in every single world.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, TriggeringInfluence, TriggeringModel
    >>> class Moods(TriggeringModel):
    ...     '''Independent cascades in which no node listens every other day.'''
    ...     def live_arcs(self, graph, means, rng):
    ...         return (rng.random(graph.n_arcs) < means) & (rng.random() < 0.5)
    >>> graph = DirectedGraph.from_edges([0, 0, 1], [1, 2, 2])
    >>> oracle = TriggeringInfluence(graph, triggering=Moods(), k=1)
    >>> oracle.solve(np.ones(3), np.random.default_rng(0))
    array([0])
    """

    @abstractmethod
    def live_arcs(self, graph: DirectedGraph, means: FloatArray, rng: np.random.Generator) -> BoolArray:
        """Return one world: whether each arc of `graph` is live, shape (n_arcs,).

        Parameters
        ----------
        graph : DirectedGraph
            The graph.
        means : FloatArray, shape (n_arcs,)
            The parameter of each arc in [0, 1], as passed to the oracle.
        rng : numpy.random.Generator
            The source of all randomness of this world.
        """


class IndependentTriggering(TriggeringModel):
    """A triggering model as in Kempe et al. 2003: each node draws its triggering set independently.

    Then only the nodes that a reverse-reachable set reaches draw triggering sets, whereas other models draw
    whole worlds. A subclass defines `triggering_set`. If it can answer for many nodes at once, it can also
    override `triggering_sets`, which is faster. If the oracle uses several threads, it calls these methods
    from several threads.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, IndependentTriggering, TriggeringInfluence
    >>> class Habit(IndependentTriggering):
    ...     '''A node listens to one other node or to no node.'''
    ...     def triggering_set(self, graph, arcs, means, rng):
    ...         listens = rng.random() < means[arcs].max()
    ...         return (np.arange(len(arcs)) == rng.integers(len(arcs))) & listens
    >>> graph = DirectedGraph.from_edges([0, 0, 1], [1, 2, 2])
    >>> oracle = TriggeringInfluence(graph, triggering=Habit(), k=1)
    >>> oracle.solve(np.ones(3), np.random.default_rng(0))
    array([0])
    """

    @abstractmethod
    def triggering_set(
        self, graph: DirectedGraph, arcs: AnyArray, means: FloatArray, rng: np.random.Generator
    ) -> BoolArray:
        """Return whether each arc into one node is live, shape (len(arcs),).

        Parameters
        ----------
        graph : DirectedGraph
            The graph.
        arcs : AnyArray of int, shape (d,)
            All arcs into the node, at least one.
        means : FloatArray, shape (n_arcs,)
            The parameter of each arc of the graph in [0, 1], as passed to the oracle.
        rng : numpy.random.Generator
            The source of all randomness of this answer.
        """

    def triggering_sets(
        self,
        graph: DirectedGraph,
        arcs: AnyArray,
        askers: IntArray,
        means: FloatArray,
        rng: np.random.Generator,
    ) -> BoolArray:
        """Return `triggering_set` of several nodes in order; by default by one call for each node.

        Parameters
        ----------
        graph, means, rng
            As in `triggering_set`.
        arcs : AnyArray of int
            All arcs into the first node, then all arcs into the second node, and so on. A node that is
            requested twice draws twice.
        askers : IntArray, same shape
            0 for the arcs into the first node, 1 for the second, and so on.
        """
        cuts = np.flatnonzero(np.diff(askers)) + 1
        each = [self.triggering_set(graph, own, means, rng) for own in np.split(arcs, cuts)]
        return np.concatenate(each)

    def live_arcs(self, graph: DirectedGraph, means: FloatArray, rng: np.random.Generator) -> BoolArray:
        """Return one world, in which every node has drawn its triggering set."""
        arcs, askers = arcs_into(graph, np.flatnonzero(graph.in_degrees))
        live = np.zeros(graph.n_arcs, np.bool_)
        live[arcs] = checked(
            "triggering_sets", self.triggering_sets(graph, arcs, askers, means, rng), len(arcs)
        )
        return live


def checked(method: str, answer: object, n_arcs: int) -> BoolArray:
    """Return the answer of `method`; raise ``ValueError`` unless it is one bool for each arc."""
    live = np.asarray(answer)
    if live.dtype != np.bool_ or live.shape != (n_arcs,):
        raise ValueError(f"{method} must return {n_arcs} bools, got dtype {live.dtype}, shape {live.shape}")
    return live


Live = Callable[[np.random.Generator], BoolArray]
LiveInto = Callable[[AnyArray, IntArray, np.random.Generator], BoolArray]

_CASCADES = 500
# Sets grow together in blocks, of fewer sets on large graphs, because a block has a table of its members.
_FEW, _LARGE = 16, 2**16


def keyed_generator(key: int, number: int) -> np.random.Generator:
    """Return a stream for (key, number); Philox needs no seeding, which is slow for small graphs."""
    return np.random.Generator(np.random.Philox(key=np.array([key, number], np.uint64)))


def _roots(masses: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return nodes with probabilities proportional to `masses`."""
    shares = np.cumsum(masses) / masses.sum()
    return np.minimum(np.searchsorted(shares, rng.random(count), side="right"), len(masses) - 1)


@dataclass(frozen=True, eq=False)
class WholeWorlds(ReverseGraph):
    """Sets drawn in worlds of a user-defined model; set i of a key uses world (key, i)."""

    live: Live | None = None

    def draw(self, key: int, first: int, last: int, room: Room) -> tuple[int, int, int]:
        assert self.live is not None
        owners, ends, pool, stamps = room
        hits, examined, start = 0, 0, int(ends[0]) if len(ends) else 0
        arcs_in = InArcs(*self.graph.in_arcs, self.graph.tails)
        for j in range(last - first):
            if start + self.n_components > len(pool):
                return j, hits, examined
            rng = keyed_generator(key, first + j)
            pool[start] = _roots(self.masses, 1, rng)[0]
            found = reach_back(arcs_in, self.live(rng), owners, pool, start, stamps, first + j + 1)
            hits, examined = hits + found[1], examined + found[2]
            if len(ends):
                ends[j + 1] = start = found[0]
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

    def draw(self, key: int, first: int, last: int, room: Room) -> tuple[int, int, int]:
        owners, ends, pool, _ = room
        size = BLOCK if self.n_components <= _LARGE else _FEW
        hits, examined, at = 0, 0, first
        while at < last:
            number, a = divmod(at, size)
            block, b = self._block(key, number, size, owners), min(size, a + last - at)
            if len(ends):
                # Take only the sets for which there is room.
                shift = ends[at - first] - block.ends[a]
                b = min(b, int(np.searchsorted(block.ends, len(pool) - shift, side="right")) - 1)
                if b == a:
                    break
                pool[ends[at - first] : block.ends[b] + shift] = block.pool[block.ends[a] : block.ends[b]]
                ends[at - first + 1 : at - first + b - a + 1] = block.ends[a + 1 : b + 1] + shift
            hits, examined = hits + int(block.is_hit[a:b].sum()), examined + int(block.examined[a:b].sum())
            at += b - a
        return at - first, hits, examined

    def _block(self, key: int, number: int, n_sets: int, owners: AnyArray) -> _Block:
        assert self.live_into is not None
        graph, rng = self.graph, keyed_generator(key, number)
        sets, nodes = np.arange(n_sets), _roots(self.masses, n_sets, rng)
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
        ends, order = order_by(sets, n_sets)
        return _Block(ends, nodes[order].astype(np.int32), ~is_open, examined)


class TriggeringInfluence(InfluenceMaximization):
    """The `k` nodes with the largest expected spread under any triggering model, with OPIM-C's guarantee.

    Arms, super arms, ``alpha`` and ``beta`` are those of `InfluenceMaximization`. With an
    `IndependentTriggering` model, a reverse-reachable set requests live arcs only for the nodes that it
    reaches. With any other `TriggeringModel`, each set requests the live arcs of the whole graph, so a call
    takes time in proportion to sets times arcs. The effect of the means on the model is unknown, so
    `smoothness` and `triggering_probabilities` return None.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds, in ``[1, number of candidates]``.
    triggering : TriggeringModel
        The model, which draws live arcs for the means of a call.
    **options
        `delta`, `epsilon`, `node_weights`, `candidates` and `search` as in `InfluenceMaximization`, except
        that `search` must not have a sampler.

    Raises
    ------
    ValueError
        If a number is out of range, the graph is invalid or `triggering` is not a `TriggeringModel`. In a
        call, if the model does not return one bool for each requested arc, or if all candidates have weight
        0.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, TriggeringInfluence, TriggeringModel
    >>> class AllOrNone(TriggeringModel):
    ...     '''A node that listens at all listens to everybody whose mean is large enough.'''
    ...     def live_arcs(self, graph, means, rng):
    ...         return rng.random(graph.n_nodes)[graph.heads] < means
    >>> graph = DirectedGraph.from_edges([0, 1, 1], [2, 2, 3])
    >>> oracle = TriggeringInfluence(graph, k=1, triggering=AllOrNone())
    >>> oracle.solve(np.full(3, 0.9), np.random.default_rng(0))
    array([1])

    References
    ----------
    D. Kempe, J. Kleinberg, E. Tardos: Maximizing the Spread of Influence through a Social Network, KDD 2003,
    section 4.
    """

    triggers_surely = False
    #: The outcomes that a report of people determines depend on the triggering model, which is unknown.
    _people_tell_coins: ClassVar[bool] = False
    _fixed: ClassVar[Mapping[str, Any]] = {"sampler": "coins"}

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        triggering: TriggeringModel,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(graph, k, model="ic", backend=None, **options)
        if not isinstance(triggering, TriggeringModel):
            raise ValueError(f"triggering must be a TriggeringModel, got {shown(triggering)}")
        self.triggering = triggering
        # It is unknown which arcs are seen together.
        self.clusters = None

    def spread(
        self, super_arm: IntArray, means: FloatArray, *, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the mean number (or weight) of active nodes over `cascades` worlds, and its standard error.

        The random numbers of the worlds are the same in every call.
        """
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        probabilities = self._probabilities(means)
        cascades = integer("cascades", cascades, 2, MOST_CASCADES)
        worth = node_worths(self.graph, self.node_weights)
        unit = float(worth.max())  # squares of scaled weights do not overflow
        spreads = np.empty(cascades)
        for i in range(cascades):
            live = self._live(probabilities, keyed_generator(KEY, i))
            nodes, _ = call_kernel(reachable, *self.graph.out_arcs, self.graph.heads, live, super_arm)
            spreads[i] = (worth[nodes] / unit).sum()
        return unit * float(spreads.mean()), unit * float(spreads.std(ddof=1)) / math.sqrt(cascades)

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:
        """Return None: worlds can be sampled, but not enumerated."""
        return None

    def smoothness(self) -> Smoothness | None:
        """Return None: the model may depend on the means in any way, also discontinuously."""
        return None

    def _reached(self, probabilities: FloatArray) -> float:
        # The joint distribution of live arcs is unknown, so no lower bound on the spread of such candidates
        # exists.
        raise ValueError("node_weights must be positive for at least one candidate, got only zeros")

    def _live(self, probabilities: FloatArray, rng: np.random.Generator) -> BoolArray:
        return checked("live_arcs", self.triggering.live_arcs(self.graph, probabilities, rng), self.n_arms)

    def _reverse_graph(self, probabilities: FloatArray) -> ReverseGraph:
        # Any arc may be live or not, whatever its mean: contract and omit nothing.
        unknown = ReverseGraph.of(
            self.graph,
            np.full(self.n_arms, 0.5),
            node_weights=self.node_weights,
            sampler="coins",
            contract=False,
        )
        model = self.triggering
        if not isinstance(model, IndependentTriggering):
            return WholeWorlds(**vars(unknown), live=lambda rng: self._live(probabilities, rng))

        def live_into(arcs: AnyArray, askers: IntArray, rng: np.random.Generator) -> BoolArray:
            if len(arcs) == 0:
                return np.empty(0, np.bool_)
            return checked(
                "triggering_sets",
                model.triggering_sets(self.graph, arcs, askers, probabilities, rng),
                len(arcs),
            )

        return TriggeringSets(**vars(unknown), live_into=live_into)
