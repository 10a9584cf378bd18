"""Flows on arcs with capacities and lower bounds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.validation import as_array, integer, one_of, shown, vector
from oracles._graph_means import GraphOracle, KeptGraph
from oracles._networks import Network, network_of, node_number

if TYPE_CHECKING:
    import networkx as nx

    from oracles.diffusion.directed_graph import DirectedGraph

# The costs are rounded to integers of so many bits, less the bits of the number of nodes.
_BITS = 58
_MOST_UNITS = 2**53


class CapacitatedFlow(GraphOracle):
    """The integral flows that satisfy all demands on arcs with capacities and lower bounds. Exact.

    Base arm i is the i-th arc of ``graph.edges``; its mean is the cost (or reward) of one unit on it. An
    entry of a super arm is a pair of an arc and a number of units: entry ``offsets[i] + u - 1`` sends u units
    over arc i. A super arm has one entry for each arc with flow, in increasing order; `units` returns the
    units of each arc. The reward is the sum of the means times the units. `MinCostFlow` is the special case
    of capacity 1, whose super arms are sets of arcs.

    The means may have any sign. Costs are rounded to multiples of about ``2**-57 * n_nodes`` times the
    largest cost (in absolute value), and the rounded problem is solved exactly.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph or DirectedGraph
        The graph.
    demand : mapping or str
        The inflow minus the outflow of each node, as in networkx: negative for a source, 0 for nodes that are
        omitted. Either the name of a node attribute or a mapping from nodes to integers. The sum must be 0.
    capacity, lower : str, int or array_like of int, shape (n_arms,)
        The largest and the least number of units on each arc: the name of an edge attribute, one number, or a
        number for each arc. An arc without the attribute has no lower bound, and the total demand plus the
        lower bounds as its capacity. Only the attribute of the default name may be absent from all arcs.
    sense : {"min", "max"}
        Whether the means are costs or rewards.

    Attributes
    ----------
    capacity, lower : IntArray, shape (n_arms,)
        The bounds of each arc.
    offsets : IntArray, shape (n_arms + 1,)
        The first entry of each arc; the last number is `n_choices`.

    Raises
    ------
    ValueError
        If the graph is undirected or has no arc, if the demands are not integers or do not sum to 0, if a
        lower bound is negative or above the capacity, if no arc has the attribute that `capacity` or `lower`
        names, or if no flow satisfies the demands.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import CapacitatedFlow
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("plant", "shop", capacity=2)
    >>> graph.add_edge("plant", "depot", capacity=5)
    >>> graph.add_edge("depot", "shop", capacity=5)
    >>> oracle = CapacitatedFlow(graph, {"plant": -4, "shop": 4})
    >>> flow = oracle.solve(np.array([0.5, 0.25, 0.5]), np.random.default_rng(0))
    >>> oracle.labels(flow), oracle.expected_reward(flow, np.array([0.5, 0.25, 0.5]))
    ([(('plant', 'shop'), 2), (('plant', 'depot'), 2), (('depot', 'shop'), 2)], 2.5)

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin: Network Flows (1993), chapter 11; W. H. Cunningham: A Network
    Simplex Method, Mathematical Programming 11 (1976); both from memory.
    """

    has_membership = True

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        demand: Mapping[Hashable, int] | str = "demand",
        *,
        capacity: str | int | ArrayLike = "capacity",
        lower: str | int | ArrayLike = "lower",
        sense: Sense = "min",
    ) -> None:
        network = network_of(graph)
        number, self.edges, self._tails, self._heads = network
        self._source = KeptGraph(graph)
        if not graph.is_directed() or not self.edges:
            raise ValueError(f"graph must be directed and have an arc, got {graph}")
        self.sense, self.n_arms = one_of("sense", sense, ("min", "max")), len(self.edges)
        self._supply = -demands_of(graph, demand, number)
        total = int(self._supply[self._supply > 0].sum())
        self.lower = self._bound("lower", lower, network, 0)
        self.capacity = self._bound("capacity", capacity, network, total + int(self.lower.sum()))
        wrong = np.flatnonzero(self.lower > self.capacity)
        if len(wrong):
            arc = int(wrong[0])
            raise ValueError(
                f"lower must be at most capacity, got {self.lower[arc]} > {self.capacity[arc]} for arc"
                f" {self.edges[arc]!r}"
            )
        self.offsets = np.concatenate([[0], np.cumsum(self.capacity)])
        # With equal costs of 0, the method would need more steps.
        if self._flow(np.ones(self.n_arms)) is None:
            raise ValueError(f"demand must be satisfiable within the capacities, got {shown(demand)}")

    def _bound(self, name: str, given: str | int | ArrayLike, network: Network, missing: int) -> IntArray:
        """Return the bounds of all arcs."""
        if isinstance(given, str):
            graph: Any = self._source.graph
            edges = list(graph.edges(data=True)) if hasattr(graph, "edges") else []
            # The attribute of the default name is optional. Another name that no edge has is an error.
            if given != name and not any(given in edge[-1] for edge in edges):
                raise ValueError(f"{name} must be the name of an attribute of an edge, got {shown(given)}")
            given = [edge[-1].get(given, missing) for edge in edges] or [missing] * len(network.edges)
        elif as_array(name, given).ndim == 0:
            given = np.full(len(network.edges), integer(name, given, 0, _MOST_UNITS))
        values = vector(name, given, len(network.edges), 0.0, _MOST_UNITS)
        if (values != np.rint(values)).any():
            raise ValueError(f"{name} must contain integers, got {shown(values)}")
        if values.sum() > _MOST_UNITS:
            raise ValueError(f"{name} must sum to at most 2^53 units, got {values.sum():.3g}")
        return values.astype(np.int64)

    def __repr__(self) -> str:
        units = int(self._supply[self._supply > 0].sum())
        return described(self, n_nodes=len(self._supply), units=units)

    @property
    def n_choices(self) -> int:
        return int(self.offsets[-1])

    @property
    def max_size(self) -> int:
        """The number of arcs."""
        return self.n_arms

    def units(self, super_arm: IntArray) -> IntArray:
        """Return the number of units on each arc, shape (n_arms,).

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            A super arm of the family.
        """
        entries = self.check_super_arm(super_arm)
        arcs = self._arcs(entries)
        units = np.zeros(self.n_arms, np.int64)
        units[arcs] = entries - self.offsets[arcs] + 1
        return units

    def super_arm_of(self, units: ArrayLike) -> IntArray:
        """Return the super arm that sends `units` over the arcs, the inverse of `units`.

        Parameters
        ----------
        units : array_like of int, shape (n_arms,)
            The number of units on each arc, at most its capacity.
        """
        numbers = vector("units", units, self.n_arms, 0.0)
        if (numbers > self.capacity).any():
            raise ValueError(f"units must be at most the capacities, got {shown(numbers.tolist())}")
        if (numbers != np.rint(numbers)).any():
            raise ValueError(f"units must contain integers, got {shown(numbers.tolist())}")
        given = numbers.astype(np.int64)
        used = np.flatnonzero(given)
        entries: IntArray = self.offsets[used] + given[used] - 1
        return entries

    def _arcs(self, entries: IntArray) -> IntArray:
        return np.searchsorted(self.offsets, entries, side="right") - 1

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return the arc and the number of units of each entry."""
        super_arm = self._check_entries(super_arm)
        arcs = self._arcs(super_arm)
        counts = (super_arm - self.offsets[arcs] + 1).tolist()
        return [(self.edges[arc], count) for arc, count in zip(arcs, counts, strict=True)]

    def arm_labels(self) -> list[Hashable]:
        """Return the arcs."""
        return list(self.edges)

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the sum of the means of the arcs times their units; infinite beyond the largest float."""
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        arcs = self._arcs(super_arm)
        with np.errstate(over="ignore"):
            return float((means[arcs] * (super_arm - self.offsets[arcs] + 1)).sum())

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the arcs with flow."""
        super_arm = self._check_entries(super_arm)
        return np.unique(self._arcs(super_arm))

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether the entries are a flow that satisfies the demands and the bounds."""
        super_arm = self._check_entries(super_arm)
        arcs = self._arcs(super_arm)
        if len(np.unique(arcs)) < len(arcs):
            return False
        units = np.zeros(self.n_arms, np.int64)
        units[arcs] = super_arm - self.offsets[arcs] + 1
        balance = self._supply.copy()
        np.subtract.at(balance, self._tails, units)
        np.add.at(balance, self._heads, units)
        return bool((units >= self.lower).all() and (balance == 0).all())

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the best flow, its entries in increasing order."""
        units = self._flow(-self.sign * self._check_means(means))
        assert units is not None, "the constructor checked that a flow exists"
        return self.super_arm_of(units)

    def _flow(self, costs: FloatArray) -> IntArray | None:
        """Return the units on each arc of a cheapest flow; None if there is no flow."""
        from oracles.flows._kernels_simplex import capacitated_flow

        n = len(self._supply)
        exponent = _BITS - n.bit_length() - int(np.frexp(np.abs(costs).max(initial=0.0))[1])
        whole = np.rint(np.ldexp(costs, exponent)).astype(np.int64)
        supply, units = self._supply.copy(), np.empty(self.n_arms, np.int64)
        np.subtract.at(supply, self._tails, self.lower)
        np.add.at(supply, self._heads, self.lower)
        room = self.capacity - self.lower
        if not capacitated_flow(self._tails, self._heads, whole, room, supply, units):
            return None
        return units + self.lower


def demands_of(
    graph: nx.Graph[Any] | DirectedGraph, demand: Mapping[Hashable, int] | str, number: dict[Hashable, int]
) -> IntArray:
    """Return the demand of each node; raise ``ValueError`` unless they are integers that sum to 0."""
    nodes: Any = getattr(graph, "nodes", None)
    named = dict(nodes(data=demand, default=0)) if nodes and isinstance(demand, str) else demand
    if not isinstance(named, Mapping):
        raise ValueError(f"demand must be a mapping or the name of a node attribute, got {shown(demand)}")
    demands = np.zeros(len(number), np.int64)
    for node, units in named.items():
        place = node_number("demand", node, number)
        demands[place] = integer(f"demand of {node!r}", units, -_MOST_UNITS, _MOST_UNITS)
    if demands.sum() != 0:
        raise ValueError(f"demand must sum to 0, got {shown(named)}")
    return demands
