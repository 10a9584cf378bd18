"""Influence maximisation under triggering models defined by the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from cmab.smoothness import Smoothness
from cmab.validation import integer, shown
from oracles.diffusion._triggering_sets import TriggeringSets, WholeWorlds, keyed_generator
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph
from oracles.diffusion.spread import KEY, MOST_CASCADES, node_worths, standard_error, summable
from oracles.diffusion.triggering_models import IndependentTriggering, TriggeringModel, checked
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.options import USUAL, Search

if TYPE_CHECKING:
    import networkx as nx

_CASCADES = 500


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
    delta : float, optional
        The probability that the guarantee of a call fails. The default is one over the number of arms, but at
        most 1/2.
    epsilon : float, optional
        The accuracy, in (0, 1 - (1 - 1/k)^k); 0.1 by default.
    node_weights, candidates, search
        As in `InfluenceMaximization`, except that `search` must not have a time limit or a sampler.

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

    #: The outcomes that a report of people determines depend on the triggering model, which is unknown.
    _people_tell_coins: ClassVar[bool] = False
    _fixed: ClassVar[Mapping[str, Any]] = {"sampler": "coins", "time_limit": None}

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        triggering: TriggeringModel,
        delta: float | None = None,
        epsilon: float | None = None,
        node_weights: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        search: Search = USUAL,
    ) -> None:
        super().__init__(
            graph,
            k,
            delta=delta,
            epsilon=epsilon,
            node_weights=node_weights,
            candidates=candidates,
            search=search,
        )
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
        from oracles.diffusion._kernels_cascade import reachable

        probabilities = self._probabilities(means)
        cascades = integer("cascades", cascades, 2, MOST_CASCADES)
        worth, unit = summable(node_worths(self.graph, self.node_weights))
        spreads = np.empty(cascades)
        for i in range(cascades):
            live = self._live(probabilities, keyed_generator(KEY, i))
            nodes, _ = call_kernel(reachable, *self.graph.out_arcs, self.graph.heads, live, super_arm)
            spreads[i] = worth[nodes].sum()
        mean = float(spreads.mean())
        error = standard_error(float(np.hypot.reduce(spreads - mean)), 0.0, cascades)
        return mean / unit, error / unit

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """Return None: worlds can be sampled, but not enumerated."""
        return None

    def smoothness(self) -> Smoothness | None:
        """Return None: the model may depend on the means in any way, also discontinuously."""
        return None

    def _reached(self, probabilities: FloatArray) -> float:  # noqa: ARG002
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
