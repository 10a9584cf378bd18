"""Influence maximisation where the user says which arcs are live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from cmab.former_arguments import formerly
from cmab.smoothness import Smoothness
from cmab.validation import integer, shown
from oracles.diffusion._triggering_sets import TriggeringSets, WholeWorlds, keyed_generator
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph
from oracles.diffusion.spread import KEY, MOST_CASCADES, node_worths, standard_error, summable
from oracles.diffusion.triggering_models import IndependentTriggering, TriggeringModel, checked
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.options import FORMERLY, USUAL, Search

if TYPE_CHECKING:
    import networkx as nx

_CASCADES = 500


class TriggeringInfluence(InfluenceMaximization):
    """The k nodes that activate the most nodes under any triggering model, with OPIM-C's guarantee.

    Arms, super arms, ``alpha`` and ``beta`` are those of `InfluenceMaximization`. Of an
    `IndependentTriggering` model, a reverse-reachable set asks for the nodes that it reaches. Any other
    `TriggeringModel` is asked for the live arcs of a whole world for every set, so that a call costs time in
    proportion to sets times arcs. What a model makes of its means is not known: `smoothness` and
    `triggering_probabilities` are None.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can activate whom.
    k : int
        Number of seeds, in ``[1, number of candidates]``.
    triggering : TriggeringModel
        Draws live arcs for the means of a call.
    delta : float, optional
        Probability of failure of a call; one over the number of arms if left out, at most 1/2.
    epsilon : float, optional
        Accuracy, in (0, 1 - (1 - 1/k)^k); 0.1 if left out.
    node_weights, candidates, search
        As in `InfluenceMaximization`, but for a time limit and a sampler.

    Raises
    ------
    ValueError
        If a number is out of its range, the graph cannot be used or `triggering` is no `TriggeringModel`;
        at a call, if the model does not return one bool for each arc asked for, or no candidate is worth
        anything itself.

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

    #: Which coins people tell is not known of any triggering model.
    _people_tell_coins: ClassVar[bool] = False
    _fixed: ClassVar[Mapping[str, Any]] = {"sampler": "coins", "time_limit": None}

    @formerly(**FORMERLY)
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
        # Nothing is known about which arcs are seen together.
        self.clusters = None

    def spread(
        self, super_arm: IntArray, means: FloatArray, *, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the mean number (or weight) of active nodes over `cascades` worlds, and its standard error.

        Worlds are the same in every call.
        """
        from oracles.diffusion._kernels_cascade import reachable

        probabilities = self._probabilities(means)
        cascades = integer("cascades", cascades, 2, MOST_CASCADES)
        worth, unit = summable(node_worths(self.graph, self.node_weights))
        spreads = np.empty(cascades)
        for i in range(cascades):
            live = self._live(probabilities, keyed_generator(KEY, i))
            nodes, _ = reachable(*self.graph.out_arcs, self.graph.heads, live, super_arm)
            spreads[i] = worth[nodes].sum()
        mean = float(spreads.mean())
        error = standard_error(float(np.hypot.reduce(spreads - mean)), 0.0, cascades)
        return mean / unit, error / unit

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """Return None: worlds can be drawn, not listed."""
        return None

    def smoothness(self) -> Smoothness | None:
        """Return None: what live arcs owe to the means is the model's, and it may jump with them."""
        return None

    def _reached(self, probabilities: FloatArray) -> float:  # noqa: ARG002
        # Which arcs are live together is not known.
        raise ValueError("node_weights must be positive for a candidate if any triggering may be, got none")

    def _live(self, probabilities: FloatArray, rng: np.random.Generator) -> BoolArray:
        return checked("live_arcs", self.triggering.live_arcs(self.graph, probabilities, rng), self.n_arms)

    def _reverse_graph(self, probabilities: FloatArray) -> ReverseGraph:
        # Neither certain nor impossible, as far as anybody knows: nothing is contracted or left out.
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
