"""Influence maximisation under triggering models that the user defines by live arcs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled import kernel
from cmab.guarantees import Smoothness
from cmab.validation import integer, shown
from oracles.influence.graph import DirectedGraph
from oracles.influence.maximization import InfluenceMaximization, Options
from oracles.influence.sets import ReverseGraph, Room
from oracles.influence.spread import KEY, MOST_CASCADES, node_worths, reachable

if TYPE_CHECKING:
    import networkx as nx


@kernel
def reach_back(arcs, live, owners, pool, start, stamps, stamp):
    """Fill the pool with the nodes that reach ``pool[start]`` by live arcs, until a node has an owner.

    `arcs` has the offsets and the arms of the arcs into each node, and the tail of each arm.
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


Live = Callable[[np.random.Generator], BoolArray]

_CASCADES = 500


def keyed_generator(key: int, number: int) -> np.random.Generator:
    """Return a stream for (key, number); Philox needs no seeding, which is slow for small graphs."""
    return np.random.Generator(np.random.Philox(key=np.array([key, number], np.uint64)))


def _roots(masses: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Return nodes with probabilities proportional to `masses`."""
    shares = np.cumsum(masses) / masses.sum()
    return np.minimum(np.searchsorted(shares, rng.random(count), side="right"), len(masses) - 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class WholeWorlds(ReverseGraph):
    """Sets drawn in worlds of a user-defined model; set i of a key uses world (key, i)."""

    live: Live

    def draw(self, key: int, first: int, last: int, room: Room) -> tuple[int, int, int]:
        owners, ends, pool, stamps = room
        hits, examined, start = 0, 0, int(ends[0]) if len(ends) else 0
        arcs_in = (*self.graph.in_arcs, self.graph.tails)
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


class TriggeringInfluence(InfluenceMaximization):
    """The `k` nodes with the largest expected spread under any triggering model, with OPIM-C's guarantee.

    Arms, super arms, ``alpha`` and ``beta`` are those of `InfluenceMaximization`. Each
    reverse-reachable set requests the live arcs of the whole graph, so a call takes time in proportion to
    sets times arcs. The effect of the means on the model is unknown, so
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
        call, if the model does not return one bool for each arc, or if all candidates have weight
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
            nodes, _ = reachable(*self.graph.out_arcs, self.graph.heads, live, super_arm)
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
        live = np.asarray(self.triggering.live_arcs(self.graph, probabilities, rng))
        if live.dtype != np.bool_ or live.shape != (self.n_arms,):
            raise ValueError(
                f"live_arcs must return {self.n_arms} bools, got dtype {live.dtype}, shape {live.shape}"
            )
        return live

    def _reverse_graph(self, probabilities: FloatArray) -> ReverseGraph:
        # Any arc may be live or not, whatever its mean: contract and omit nothing.
        unknown = ReverseGraph.of(
            self.graph,
            np.full(self.n_arms, 0.5),
            node_weights=self.node_weights,
            sampler="coins",
            contract=False,
        )
        return WholeWorlds(**vars(unknown), live=lambda rng: self._live(probabilities, rng))
