"""Directed graphs as arrays, the representation that the influence classes use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from cmab.validation import frozen, integer, shown, vector
from oracles._networks import network_of
from oracles.diffusion._memory import require_memory

if TYPE_CHECKING:
    import networkx as nx

_MOST = 2**31 - 2
_BYTES_OF_ARC = 20


class DirectedGraph:
    """A directed graph as arrays of 32-bit integers; arc i is base arm i.

    The influence classes accept it in place of a networkx graph, and convert networkx graphs to it. It takes
    8 bytes per arc, and another 8 bytes per arc for forward traversal (cascades, contraction). If a graph
    does not fit into the free memory of the machine, the constructor raises ``MemoryError`` before it
    allocates memory.

    Parallel arcs are separate base arms with independent outcomes. Self-loops are rejected, because a cascade
    never uses them.

    `from_edges` does not require the number of nodes.

    Parameters
    ----------
    tails, heads : array_like of int, shape (n_arcs,)
        The ends of each arc, in ``range(n_nodes)``; copied.
    n_nodes : int
        The number of nodes.
    labels : sequence, optional
        The name of each node; by default its number.
    probabilities : array_like, optional, shape (n_arcs,)
        The activation probabilities, if the source of the graph contains them.

    Attributes
    ----------
    n_arcs : int
        The number of arcs.

    Examples
    --------
    >>> from oracles import DirectedGraph
    >>> graph = DirectedGraph.from_edges([0, 0, 1], [1, 2, 2], n_nodes=3)
    >>> graph
    DirectedGraph(n_nodes=3, n_arcs=3)
    >>> graph.in_degrees
    array([0, 1, 2])
    """

    # The networkx keys of the arcs of a multigraph, if they are not numbers in order.
    _keys: list[Hashable] | None = None

    def __init__(
        self,
        tails: ArrayLike,
        heads: ArrayLike,
        *,
        n_nodes: int,
        labels: Sequence[Hashable] | None = None,
        probabilities: ArrayLike | None = None,
    ) -> None:
        self._set_up((_ends("tails", tails), _ends("heads", heads)), n_nodes, labels, probabilities)

    @classmethod
    def from_edges(
        cls,
        sources: ArrayLike,
        targets: ArrayLike,
        *,
        n_nodes: int | None = None,
        labels: Sequence[Hashable] | None = None,
        probabilities: ArrayLike | None = None,
    ) -> DirectedGraph:
        """Return the graph with an arc from each of `sources` to the target at the same position.

        Parameters
        ----------
        sources, targets : array_like of int, shape (n_arcs,)
            The node numbers, in ``range(n_nodes)``.
        n_nodes : int, optional
            The number of nodes; by default one more than the largest node number.
        labels : sequence, optional
            The name of each node; by default its number.
        probabilities : array_like, optional
            The activation probability of each arc.
        """
        ends = _ends("sources", sources), _ends("targets", targets)
        largest = int(max(ends[0].max(initial=-1), ends[1].max(initial=-1)))
        graph = cls.__new__(cls)
        graph._set_up(
            ends, largest + 1 if n_nodes is None else n_nodes, labels, probabilities, ("sources", "targets")
        )
        return graph

    def _set_up(
        self,
        ends: tuple[AnyArray, AnyArray],
        n_nodes: int,
        labels: Sequence[Hashable] | None,
        probabilities: ArrayLike | None,
        names: tuple[str, str] = ("tails", "heads"),
    ) -> None:
        """Check and store the ends of the arcs; `names` are the caller's argument names for errors."""
        tails, heads = ends
        require_memory(_BYTES_OF_ARC * len(tails), f"a graph of {len(tails)} arcs")
        if len(tails) != len(heads):
            raise ValueError(
                f"{names[0]} and {names[1]} must be equally long, got {len(tails)} and {len(heads)}"
            )
        n = integer("n_nodes", n_nodes, 1, _MOST)
        largest = int(max(tails.max(initial=-1), heads.max(initial=-1)))
        if largest >= n:
            raise ValueError(f"node numbers must lie in range(n_nodes), n_nodes = {n}, got {largest}")
        if len(tails) > _MOST:
            raise ValueError(f"a graph must have at most {_MOST} arcs, got {len(tails)}")
        if isinstance(labels, str | bytes):
            raise ValueError(
                f"labels must be a list of names, got {shown(labels)}; pass list(labels) for its letters"
            )
        if labels is not None and len(labels) != n:
            raise ValueError(f"labels must name each of {n} nodes, got {len(labels)} names")
        loops = np.flatnonzero(tails == heads)
        if len(loops):
            node = tails[loops[0]] if labels is None else labels[int(tails[loops[0]])]
            raise ValueError(f"self-loops must be left out, got {len(loops)}, the first at node {node!r}")
        self.tails, self.heads = tails.astype(np.int32), heads.astype(np.int32)
        self.n_nodes, self.n_arcs = n, len(tails)
        self.probabilities = (
            None
            if probabilities is None
            else frozen(vector("probabilities", probabilities, len(tails), 0, 1))
        )
        self._labels = None if labels is None else list(labels)

    def __repr__(self) -> str:
        return f"DirectedGraph(n_nodes={self.n_nodes}, n_arcs={self.n_arcs})"

    def is_directed(self) -> bool:
        """Return True: like a directed graph of networkx."""
        return True

    def label(self, node: int) -> Hashable:
        """Return the name of a node, given its number in ``range(n_nodes)``."""
        is_plain = type(node) is int and 0 <= node < self.n_nodes
        number = node if is_plain else integer("node", node, 0, self.n_nodes - 1)
        return number if self._labels is None else self._labels[number]

    def _all_labels(self) -> Sequence[Hashable] | None:
        """Return the names of all nodes, or None if they are the numbers."""
        return self._labels

    @cached_property
    def node_numbers(self) -> dict[Hashable, int]:
        """The number of the node with each name."""
        labels = self._all_labels()
        return dict(zip(range(self.n_nodes) if labels is None else labels, range(self.n_nodes), strict=True))

    @cached_property
    def arc_labels(self) -> list[Hashable]:
        """The name of each arc: the names of its ends, and for a parallel arc also its key or its number."""
        ends: tuple[Iterable[Hashable], ...] = self.tails.tolist(), self.heads.tolist()
        if (labels := self._all_labels()) is not None:
            ends = tuple(map(labels.__getitem__, part) for part in ends)  # type: ignore[arg-type]
        pairs = list(zip(*ends, strict=True))
        if len(set(pairs)) == len(pairs):
            return list[Hashable](pairs)
        times = Counter(pairs)
        seen: Counter[Hashable] = Counter()
        names: list[Hashable] = []
        for arc, pair in enumerate(pairs):
            which = seen[pair] if self._keys is None else self._keys[arc]
            names.append((*pair, which) if times[pair] > 1 else pair)
            seen[pair] += 1
        return names

    @cached_property
    def arc_numbers(self) -> dict[Hashable, int]:
        """The number of the arc with each name."""
        return {name: arc for arc, name in enumerate(self.arc_labels)}

    @cached_property
    def in_degrees(self) -> IntArray:
        """The number of arcs into each node, including parallel arcs."""
        return np.bincount(self.heads, minlength=self.n_nodes)

    @cached_property
    def out_degrees(self) -> IntArray:
        """The number of arcs out of each node, including parallel arcs."""
        return np.bincount(self.tails, minlength=self.n_nodes)

    @cached_property
    def out_arcs(self) -> tuple[IntArray, AnyArray]:
        """The arcs out of each node, ``(offsets, arcs)``; node v has ``arcs[offsets[v]:offsets[v + 1]]``."""
        from oracles.diffusion._kernels_graph import order_by

        arcs: tuple[IntArray, AnyArray] = call_kernel(order_by, self.tails, self.n_nodes)
        return arcs

    @cached_property
    def out_heads(self) -> AnyArray:
        """The heads of the arcs, in the order of `out_arcs`."""
        return self.heads[self.out_arcs[1]]

    @cached_property
    def in_arcs(self) -> tuple[IntArray, AnyArray]:
        """The arcs into each node, in the form of `out_arcs`."""
        from oracles.diffusion._kernels_graph import order_by

        arcs: tuple[IntArray, AnyArray] = call_kernel(order_by, self.heads, self.n_nodes)
        return arcs

    @cached_property
    def in_tails(self) -> AnyArray:
        """The tails of the arcs, in the order of `in_arcs`."""
        return self.tails[self.in_arcs[1]]

    def __getstate__(self) -> dict[str, Any]:
        # Do not send arrays to worker processes that can be computed again.
        degrees_and_arcs = {"in_degrees", "out_degrees", "out_arcs", "out_heads", "in_arcs", "in_tails"}
        derived = degrees_and_arcs | {"node_numbers", "arc_labels", "arc_numbers"}
        return {name: value for name, value in self.__dict__.items() if name not in derived}


def _ends(name: str, values: ArrayLike) -> AnyArray:
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise ValueError(f"{name} must be a 1-D integer array, got masked entries")
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a 1-D integer array, got {shown(values)}") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a 1-D integer array, got dtype {array.dtype}, shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() > _MOST):
        raise ValueError(f"{name} must lie in [0, {_MOST}], got {array.min()} to {array.max()}")
    return array


def as_directed_graph(graph: nx.Graph[Any] | DirectedGraph, probability: str | None = None) -> DirectedGraph:
    """Return a networkx graph as a `DirectedGraph`; return a `DirectedGraph` unchanged.

    Arc i is the i-th edge of ``graph.edges``. Edge i of an undirected graph becomes two arcs with the same
    probability: arc 2i in the direction in which networkx reports its ends, and arc 2i + 1 in the other
    direction.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        A networkx graph of any kind.
    probability : str, optional
        The edge attribute that contains the activation probabilities.
    """
    if isinstance(graph, DirectedGraph):
        return graph
    if not (hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise ValueError(f"graph must be a networkx graph or a DirectedGraph, got {shown(graph)}")
    number, _, *both = network_of(graph)
    labels, ends = list(number), np.stack(both, axis=1)
    chances = None if probability is None else _attribute(graph, probability)
    if not graph.is_directed():
        # Place both directions of an edge next to each other.
        ends = np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2)
        chances = None if chances is None else np.repeat(chances, 2)
    if not labels:
        raise ValueError("graph must have at least one node, got none")
    made = DirectedGraph.from_edges(
        ends[:, 0], ends[:, 1], n_nodes=len(labels), labels=labels, probabilities=chances
    )
    if graph.is_multigraph():
        # Parallel edges keep the keys that networkx gives them, in whatever order they are read.
        seen: Counter[Hashable] = Counter()
        keys, numbered = [], True
        for u, v, key in graph.edges(keys=True):  # type: ignore[call-overload]
            numbered = numbered and key == seen[u, v]
            seen[u, v] += 1
            keys += [key] if graph.is_directed() else [key, key]
        if not numbered:
            made._keys = keys
    return made


def _attribute(graph: nx.Graph[Any], name: str) -> FloatArray:
    edges: Any = graph.edges(data=name)
    values = []
    for u, v, value in edges:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if not 0.0 <= number <= 1.0:
            raise ValueError(
                f"edge ({u!r}, {v!r}) must have a probability in [0, 1] as {name!r}, got {value!r}"
            )
        values.append(number)
    return np.array(values)
