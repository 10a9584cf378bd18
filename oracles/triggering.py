"""Influence maximisation where the user says which arcs are live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab._validation import integer, shown
from cmab.arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from cmab.theory import Smoothness
from oracles._reverse_sets import ReverseGraph
from oracles.directed_graph import DirectedGraph
from oracles.influence import InfluenceMaximization

if TYPE_CHECKING:
    import networkx as nx

_CASCADES = 500
_KEY = 0x5EED


class TriggeringModel(ABC):
    """How influence spreads, said by live arcs: a node becomes active when a live arc from an active one is.

    Kempe et al. 2003 have every node draw a set of in-neighbours, its triggering set; independent cascades
    and linear thresholds are examples. The arcs into a node from its triggering set are the live ones.
    What `TriggeringInfluence` guarantees holds for **any** distribution of live arcs, also where the choices
    of different nodes depend on each other: coverage is submodular in every single world.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, TriggeringInfluence, TriggeringModel
    >>> class Moods(TriggeringModel):
    ...     '''Independent cascades in which every other day nobody listens.'''
    ...     def live_arcs(self, graph, means, rng):
    ...         return (rng.random(graph.n_arcs) < means) & (rng.random() < 0.5)
    >>> graph = DirectedGraph.from_edges([0, 0, 1], [1, 2, 2])
    >>> oracle = TriggeringInfluence(graph, Moods(), k=1)
    >>> oracle.solve(np.ones(3), np.random.default_rng(0))
    array([0])
    """

    @abstractmethod
    def live_arcs(self, graph: DirectedGraph, means: FloatArray, rng: np.random.Generator) -> BoolArray:
        """Return one world: for each arc of `graph`, whether it is live, shape (n_arcs,).

        Parameters
        ----------
        graph : DirectedGraph
            The graph.
        means : FloatArray, shape (n_arcs,)
            Parameter of each arc in [0, 1], as the oracle was given it.
        rng : numpy.random.Generator
            Source of all randomness of this world.
        """


@dataclass(frozen=True, eq=False)
class _LiveEdges(ReverseGraph):
    """Sets drawn in worlds of the user; set i of a key belongs to world (key, i)."""

    live: Callable[[np.random.Generator], BoolArray] | None = None

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
        from oracles._kernels_live_edges import reach_back

        assert self.live is not None
        shares = np.cumsum(self.masses) / self.masses.sum()
        hits, examined, start, n = 0, 0, int(ends[0]) if len(ends) else 0, self.n_components
        for j in range(last - first):
            if start + n > len(pool):
                return j, hits, examined
            rng = _world(key, first + j)
            pool[start] = min(int(np.searchsorted(shares, rng.random(), side="right")), n - 1)
            end, hit, arcs = reach_back(
                *self.graph.in_arcs,
                self.graph.tails,
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


def _world(key: int, number: int) -> np.random.Generator:
    """Return the stream of a world; Philox needs no seeding, which would take longest on small graphs."""
    return np.random.Generator(np.random.Philox(key=np.array([key, number], np.uint64)))


class TriggeringInfluence(InfluenceMaximization):
    """The k nodes that activate the most nodes under any triggering model, with OPIM-C's guarantee.

    Arms, super arms, ``alpha`` and ``beta`` are those of `InfluenceMaximization`. A model has no shared
    structure to exploit: every reverse-reachable set asks for the live arcs of a whole world, so that a call
    costs time in proportion to sets times arcs.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can activate whom.
    triggering : TriggeringModel
        Draws live arcs for the means of a call.
    k : int
        Number of seeds, in ``[1, number of candidates]``.
    epsilon : float
        Accuracy, in (0, 1 - 1/e).
    delta : float, optional
        Probability of failure of a call; one over the number of arms if left out, at most 1/2.
    weights, candidates, max_samples, first_samples, threads
        As in `InfluenceMaximization`.

    Raises
    ------
    ValueError
        If a number is out of its range, the graph cannot be used or `triggering` is no `TriggeringModel`;
        at a call, if the model does not return one bool for each arc.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, TriggeringInfluence, TriggeringModel
    >>> class AllOrNone(TriggeringModel):
    ...     '''A node that listens at all listens to everybody whose mean is large enough.'''
    ...     def live_arcs(self, graph, means, rng):
    ...         return rng.random(graph.n_nodes)[graph.heads] < means
    >>> graph = DirectedGraph.from_edges([0, 1, 1], [2, 2, 3])
    >>> TriggeringInfluence(graph, AllOrNone(), k=1).solve(np.full(3, 0.9), np.random.default_rng(0))
    array([1])

    References
    ----------
    D. Kempe, J. Kleinberg, E. Tardos: Maximizing the Spread of Influence through a Social Network, KDD 2003,
    section 4.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        triggering: TriggeringModel,
        k: int,
        epsilon: float = 0.1,
        delta: float | None = None,
        *,
        weights: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        max_samples: int | None = None,
        first_samples: int | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(
            graph,
            k,
            epsilon,
            delta,
            weights=weights,
            candidates=candidates,
            max_samples=max_samples,
            first_samples=first_samples,
            sampler="coins",
            threads=threads,
        )
        if not isinstance(triggering, TriggeringModel):
            raise ValueError(f"triggering must be a TriggeringModel, got {shown(triggering)}")
        self.triggering = triggering
        # Nothing is known about which arcs are seen together.
        self.clusters = None

    def __repr__(self) -> str:
        return f"TriggeringInfluence({self.graph!r}, k={self.k}, epsilon={self.epsilon:g})"

    def spread(
        self, super_arm: IntArray, means: FloatArray, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the mean number (or weight) of active nodes over `cascades` worlds, and its standard error.

        Worlds are the same in every call.
        """
        from oracles._kernels_cascade import reachable

        probabilities = self._probabilities(means)
        cascades, seeds = integer("cascades", cascades, 2), np.asarray(super_arm, np.int64)
        worth = np.ones(self.graph.n_nodes) if self.weights is None else self.weights
        spreads = np.empty(cascades)
        for i in range(cascades):
            live = self._live(probabilities, _world(_KEY, i))
            nodes, _ = reachable(*self.graph.out_arcs, self.graph.heads, live, seeds)
            spreads[i] = worth[nodes].sum()
        return float(spreads.mean()), float(spreads.std(ddof=1) / np.sqrt(cascades))

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """Return None: worlds can be drawn, not listed."""
        return None

    def smoothness(self) -> Smoothness | None:
        """Return None: what live arcs owe to the means is the model's, and it may jump with them."""
        return None

    def _live(self, probabilities: FloatArray, rng: np.random.Generator) -> BoolArray:
        live = np.asarray(self.triggering.live_arcs(self.graph, probabilities, rng))
        if live.dtype != np.bool_ or live.shape != (self.n_arms,):
            raise ValueError(
                f"live_arcs must return {self.n_arms} bools, got dtype {live.dtype}, shape {live.shape}"
            )
        return live

    def _reverse_graph(self, probabilities: FloatArray) -> ReverseGraph:
        # Neither certain nor impossible, as far as anybody knows: nothing is contracted or left out.
        unknown = ReverseGraph.of(self.graph, np.full(self.n_arms, 0.5), self.weights, "coins", False)
        return _LiveEdges(**vars(unknown), live=lambda rng: self._live(probabilities, rng))
