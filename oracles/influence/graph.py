"""Directed graphs as arrays, as the influence classes use them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.validation import frozen, integer, shown, vector
from oracles._networks import ends_of, order_by

if TYPE_CHECKING:
    import networkx as nx


# The first 31 bits of a probability are compared with 31 random bits; p = 1 (2^31) is above all of them.
SCALE = 2.0**31


def strong_components(tails: AnyArray, heads: AnyArray, n_nodes: int) -> AnyArray:
    """Return the strong component of each node, numbered in the order of their lowest nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    matrix = coo_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(n_nodes, n_nodes))
    component = connected_components(matrix, directed=True, connection="strong")[1]
    lowest = np.empty(component.max() + 1, np.int64)
    lowest[component[::-1]] = np.arange(len(component))[::-1]
    numbers: AnyArray = np.empty(len(lowest), np.int32)
    numbers[np.argsort(lowest)] = np.arange(len(lowest))
    members: AnyArray = numbers[component]
    return members


def reverse_arcs(
    tails: AnyArray, heads: AnyArray, means: FloatArray, component: AnyArray, n: int
) -> tuple[IntArray, AnyArray, AnyArray]:
    """Return the possible arcs into each of `n` components as (offsets, tails, arms)."""
    ends = component[heads]
    kept = np.flatnonzero((means > 0.0) & (component[tails] != ends))
    offsets, order = order_by(ends[kept], n)
    arms = kept[order].astype(order.dtype)
    return offsets, component[tails[arms]], arms


_MOST = 2**31 - 2
_BYTES_OF_ARC = 20


class DirectedGraph:
    """A directed graph as arrays of integers; arc i is base arm i.

    The influence classes accept it in place of a networkx graph, and convert networkx graphs to it. It takes
    8 bytes per arc, and another 8 bytes per arc for each direction of traversal, 12 bytes if there are more
    than 2^31 arcs. If a graph
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
        start, end = _ends("tails", tails), _ends("heads", heads)
        require_memory(_BYTES_OF_ARC * len(start), f"a graph of {len(start)} arcs")
        if len(start) != len(end):
            raise ValueError(f"tails and heads must be equally long, got {len(start)} and {len(end)}")
        n = integer("n_nodes", n_nodes, 1, _MOST)
        largest = int(max(start.max(initial=-1), end.max(initial=-1)))
        if largest >= n:
            raise ValueError(f"node numbers must lie in range(n_nodes), n_nodes = {n}, got {largest}")
        if isinstance(labels, str | bytes):
            raise ValueError(
                f"labels must be a list of names, got {shown(labels)}; pass list(labels) for its letters"
            )
        if labels is not None and len(labels) != n:
            raise ValueError(f"labels must name each of {n} nodes, got {len(labels)} names")
        loops = np.flatnonzero(start == end)
        if len(loops):
            node = start[loops[0]] if labels is None else labels[int(start[loops[0]])]
            raise ValueError(f"self-loops must be left out, got {len(loops)}, the first at node {node!r}")
        self.tails, self.heads = start.astype(np.int32), end.astype(np.int32)
        self.n_nodes, self.n_arcs = n, len(start)
        self.probabilities = (
            None
            if probabilities is None
            else frozen(vector("probabilities", probabilities, len(start), 0, 1))
        )
        self._labels = None if labels is None else list(labels)

    @classmethod
    def from_edges(
        cls,
        tails: ArrayLike,
        heads: ArrayLike,
        *,
        n_nodes: int | None = None,
        labels: Sequence[Hashable] | None = None,
        probabilities: ArrayLike | None = None,
    ) -> DirectedGraph:
        """Return the graph of these arcs, with a default for the number of nodes.

        Parameters
        ----------
        tails, heads : array_like of int, shape (n_arcs,)
            The ends of each arc, in ``range(n_nodes)``.
        n_nodes : int, optional
            The number of nodes; by default one more than the largest node number.
        labels : sequence, optional
            The name of each node; by default its number.
        probabilities : array_like, optional
            The activation probability of each arc.
        """
        if n_nodes is None:
            n_nodes = 1 + max(
                int(_ends(name, ends).max(initial=-1)) for name, ends in (("tails", tails), ("heads", heads))
            )
        return cls(tails, heads, n_nodes=n_nodes, labels=labels, probabilities=probabilities)

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
        return order_by(self.tails, self.n_nodes)

    @cached_property
    def out_heads(self) -> AnyArray:
        """The heads of the arcs, in the order of `out_arcs`."""
        return self.heads[self.out_arcs[1]]

    @cached_property
    def in_arcs(self) -> tuple[IntArray, AnyArray]:
        """The arcs into each node, in the form of `out_arcs`."""
        return order_by(self.heads, self.n_nodes)

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
    number, *both, values, keys = ends_of(graph, probability)
    labels, ends = list(number), np.stack(both, axis=1)
    chances = None if probability is None else _probabilities(graph, probability, values)
    if not graph.is_directed():
        # Place both directions of an edge next to each other.
        ends = np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2)
        chances = None if chances is None else np.repeat(chances, 2)
    if not labels:
        raise ValueError("graph must have at least one node, got none")
    made = DirectedGraph.from_edges(
        ends[:, 0], ends[:, 1], n_nodes=len(labels), labels=labels, probabilities=chances
    )
    if keys is not None:
        made._keys = keys if graph.is_directed() else [key for key in keys for _ in range(2)]
    return made


def _probabilities(graph: Any, name: str, values: list[Any]) -> FloatArray:
    """Return the values of an attribute of all edges, or name the first one that is no probability."""
    try:
        chances = np.array(values, np.float64)
        if ((chances >= 0.0) & (chances <= 1.0)).all():
            return chances
    except (TypeError, ValueError):
        pass
    for u, v, value in graph.edges(data=name):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if not 0.0 <= number <= 1.0:
            raise ValueError(
                f"edge ({u!r}, {v!r}) must have a probability in [0, 1] as {name!r}, got {value!r}"
            )
    raise AssertionError("one of the values is not a probability")


def in_degree_groups(graph: nx.Graph[Any] | DirectedGraph) -> IntArray:
    """Return the group of each arc: the base-2 logarithm of the in-degree of its head, rounded down.

    An arc into a node of high in-degree is rarely successful. With these groups, `cmab.HierarchicalCTS`
    learns separate priors for arcs into nodes of high and of low in-degree.

    Parameters
    ----------
    graph : networkx.Graph or DirectedGraph
        The network. An undirected edge counts as two arcs.

    Returns
    -------
    IntArray, shape (n_arcs,)
        The groups, in the order of the base arms of influence oracles on this graph.

    Examples
    --------
    >>> from oracles import DirectedGraph, in_degree_groups
    >>> in_degree_groups(DirectedGraph.from_edges([0, 1, 2, 0, 3], [3, 3, 3, 1, 0]))
    array([1, 1, 1, 0, 0])
    """
    arcs = as_directed_graph(graph)
    degrees = np.asarray(arcs.in_degrees, np.int64)[arcs.heads]
    # frexp is exact, whereas a logarithm could round up to the next integer.
    groups: IntArray = np.frexp(degrees.astype(np.float64))[1].astype(np.int64) - 1
    return groups


# Sums up to the first number are rounding errors of floats; sums up to the second, of written decimals.
_EXACT, _WRITTEN = 1.0 + 1e-9, 1.0 + 1e-3


def threshold_weights(name: str, weights: FloatArray, graph: DirectedGraph) -> FloatArray:
    """Return the weights of the edges, scaled at nodes where rounding makes them sum to more than 1.

    Parameters
    ----------
    name : str
        The name of the argument, for errors.
    weights : FloatArray, shape (n_arcs,)
        The weight of each edge, in [0, 1].
    graph : DirectedGraph
        The graph.

    Raises
    ------
    ValueError
        If the weights of the edges into a node sum to more than 1.001.

    Warns
    -----
    RuntimeWarning
        If the weights into a node sum to more than 1, by at most 0.001. They are divided by their sum.
    """
    sums = np.bincount(graph.heads, weights, graph.n_nodes)
    largest = float(sums.max(initial=0.0))
    if largest <= _EXACT:
        return weights
    where = f"at node {graph.label(int(sums.argmax()))!r}"
    if largest > _WRITTEN:
        raise ValueError(
            f"{name} must sum to at most 1 over the edges into a node for linear thresholds, got {largest}"
            f" {where}"
        )
    warnings.warn(
        f"{name} sum to more than 1 over the edges into {np.count_nonzero(sums > _EXACT)} nodes, by rounding,"
        f" at most {largest} {where}; they are divided by their sum",
        RuntimeWarning,
        stacklevel=4,
    )
    over = np.maximum(sums, 1.0)
    scaled: FloatArray = weights / over[graph.heads]
    return scaled


_SMALL = 2**26
_MEMINFO = Path("/proc/meminfo")


def require_memory(n_bytes: int, purpose: str) -> None:
    """Raise ``MemoryError`` if `n_bytes` exceed the free memory of the machine, if that is known.

    Linux grants more memory than it has and later kills the process. This error comes first and states the
    purpose.
    """
    if n_bytes < _SMALL:
        return
    free = _free()
    if free is not None and n_bytes > free:
        raise MemoryError(f"{purpose} needs about {n_bytes / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free")


def _free() -> int | None:
    """Return the bytes that are available without swapping, or None if the system does not report them."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)
