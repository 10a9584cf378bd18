"""Means of base arms from the attributes of the edges or nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.oracle import Oracle
from cmab.validation import real, shown

Weight = str | Mapping[Any, float] | Callable[..., float]


class KeptGraph:
    """A reference to the graph of an oracle, which copies for worker processes do not carry."""

    def __init__(self, graph: Any = None) -> None:
        # Arrays and matrices have no names of edges.
        self.graph = graph if hasattr(graph, "is_directed") else None

    def __reduce__(self) -> tuple[type[KeptGraph], tuple[()]]:
        return KeptGraph, ()

    def __deepcopy__(self, memo: dict[int, Any]) -> KeptGraph:
        return self


class GraphOracle(Oracle):
    """An oracle whose base arms are the edges or the nodes of a graph."""

    _source = KeptGraph()
    _arms_are_nodes = False

    def means_of(self, weight: Weight) -> FloatArray:
        """Return the means of the base arms from weights of the graph, in the order of the base arms.

        networkx may report the ends of an undirected edge in either order. Both orders are recognised here.
        The weights are those that the graph has when this method is called.

        Parameters
        ----------
        weight : str, callable or mapping
            The name of an attribute of each edge (of each node, if the base arms are nodes). Or a function
            ``weight(u, v, data)``, as in networkx, of the ends of an edge and the dictionary of its
            attributes (``weight(node, data)`` for nodes). Or a mapping from the names of edges (nodes) to
            numbers. For a `DirectedGraph`, which has no attributes, the name ``"probability"`` stands for its
            probabilities.

        Returns
        -------
        FloatArray, shape (n_arms,)

        Raises
        ------
        ValueError
            If an edge has no weight, or one that is not a finite number, if a mapping has different weights
            for the two orders of an undirected edge, if the graph no longer has an edge, or if this oracle is
            a copy, because copies from other processes do not have the graph.

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from oracles import Matching
        >>> graph = nx.Graph()
        >>> graph.add_weighted_edges_from([("b", "a", 0.25), ("c", "b", 0.75), ("d", "c", 0.5)])
        >>> oracle = Matching(graph)
        >>> oracle.means_of("weight")
        array([0.25, 0.75, 0.5 ])
        >>> oracle.means_of({("a", "b"): 1, ("b", "c"): 2, ("c", "d"): 3})
        array([1., 2., 3.])
        """
        graph = self._source.graph
        if graph is None:
            raise ValueError(f"weight must be read by an oracle that has its graph, got a copy: {self!r}")
        if weight == "probability" and not hasattr(graph, "edges") and graph.probabilities is not None:
            return np.array(graph.probabilities)
        if not callable(weight) and not isinstance(weight, Mapping | Hashable):
            raise ValueError(f"weight must be a name, a mapping or a function, got {shown(weight)}")
        labels = self._arm_labels()
        is_node = self._arms_are_nodes
        values = np.empty(len(labels))
        if isinstance(weight, Mapping) and not is_node and not graph.is_directed():
            _check_orders(labels, weight)
        for arm, label in enumerate(labels):
            value = _weight_of(graph, label, weight, is_node)
            try:
                values[arm] = real("weight", value)
            except ValueError:
                kind = "node" if is_node else "edge"
                got = "none" if value is None else shown(value)
                raise ValueError(
                    f"weight must give a finite number for {kind} {label!r}, got {got}"
                ) from None
        return values


def _turned(label: Any) -> Any:
    """Return an edge with its ends in the other order."""
    return (label[1], label[0], *label[2:])


def _check_orders(labels: list[Any], weight: Mapping[Any, float]) -> None:
    """Raise ``ValueError`` if the two orders of one base arm have different weights."""
    # The two directions of an undirected edge may be separate base arms.
    names = set(labels)
    for label in labels:
        turned = _turned(label)
        if turned in names or turned not in weight or label not in weight:
            continue
        if weight[label] != weight[turned]:
            both = {label: weight[label], turned: weight[turned]}
            raise ValueError(f"weight must be equal for both orders of an edge, got {shown(both)}")


def _weight_of(graph: Any, label: Any, weight: Weight, is_node: bool) -> Any:
    """Return the weight of one edge or node; None if it has none."""
    if isinstance(weight, Mapping):
        if is_node or graph.is_directed():
            return weight.get(label)
        return weight.get(label, weight.get(_turned(label)))
    try:
        data = _data_of(graph, label, is_node)
    except (KeyError, StopIteration):
        kind = "node" if is_node else "edge"
        raise ValueError(
            f"weight must be read from the graph of the oracle, which lost its {kind} {label!r}"
        ) from None
    if callable(weight):
        return weight(label, data) if is_node else weight(label[0], label[1], data)
    return data.get(weight)


def _data_of(graph: Any, label: Any, is_node: bool) -> Mapping[str, Any]:
    """Return the attributes of an edge or a node."""
    if not hasattr(graph, "edges"):
        return {}
    if is_node:
        return dict(graph.nodes[label])
    if not graph.is_multigraph():
        return dict(graph.edges[label[:2]])
    u, v, *keys = label
    key: Hashable = keys[0] if keys else next(iter(graph[u][v]))
    return dict(graph.edges[u, v, key])
