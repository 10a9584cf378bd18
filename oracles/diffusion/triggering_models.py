"""User-defined models of diffusion, specified by live arcs."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from oracles.diffusion._triggering_sets import arcs_into
from oracles.diffusion.directed_graph import DirectedGraph


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
    ...     '''Independent cascades in which every other day nobody listens.'''
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
    ...     '''A node listens to one other, whoever it is, or to nobody.'''
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
