"""Graphs with arrays that are mapped from a store."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.validation import check_flag, integer, shown
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.stores.layout import check_hashes, mapped, read_header


class StoredGraph(DirectedGraph):
    """A directed graph whose arrays are mapped from a store; every class that takes a graph takes it.

    Opening a store reads only its header. The operating system reads the pages of the arrays when they are
    used, and drops them when memory is short. A copy in another process, for example in a worker, opens the
    same store again, so only the path is sent. The copy raises ``ValueError`` if the store has changed.

    Parameters
    ----------
    path : path-like
        The folder that `convert_graph` or ``cmab graph convert`` made.
    check : bool
        Whether to read all arrays once and compare them with their hashes.

    Attributes
    ----------
    path : Path
        The folder of the store.
    digest : str
        The hash of all arrays.

    Raises
    ------
    ValueError
        If the folder is not a complete store of this version, or if `check` finds a changed array.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracles.stores import StoredGraph, convert_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.txt"
    ...     _ = file.write_text("0 1" + chr(10) + "0 2" + chr(10) + "1 2" + chr(10))
    ...     graph = StoredGraph(convert_graph(file, Path(folder) / "graph"), check=True)
    >>> graph, graph.in_degrees
    (StoredGraph(n_nodes=3, n_arcs=3), array([0, 1, 2]))
    """

    def __init__(self, path: str | os.PathLike[str], *, check: bool = False) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"path must be the folder of a graph store, got {shown(path)}")
        check_flag("check", check)
        self.path = Path(path).resolve()
        header = read_header(self.path)
        if check:
            check_hashes(self.path, header)
        self.digest, self.n_nodes, self.n_arcs = header.digest, header.n_nodes, header.n_arcs
        arrays = {name: mapped(self.path, name, header.length(name)) for name in header.hashes}
        self.tails, self.heads = arrays["tails"], arrays["heads"]
        self._names, self._labels = arrays.get("labels"), None
        self.probabilities = None
        if "probabilities" in arrays:
            self.probabilities = arrays["probabilities"].view()
            self.probabilities.setflags(write=False)
        # These are cached properties of the base class, which would compute them in memory.
        known = {
            "in_arcs": (arrays["in_offsets"], arrays["in_arms"]),
            "in_tails": arrays["in_tails"],
            "out_arcs": (arrays["out_offsets"], arrays["out_arms"]),
            "out_heads": arrays["out_heads"],
        }
        self.__dict__.update(known)

    def __repr__(self) -> str:
        return f"StoredGraph(n_nodes={self.n_nodes}, n_arcs={self.n_arcs})"

    def label(self, node: int) -> Hashable:
        """Return the name of a node, given its number in ``range(n_nodes)``: its id in the source."""
        number = integer("node", node, 0, self.n_nodes - 1)
        return number if self._names is None else int(self._names[number])

    def _all_labels(self) -> Sequence[Hashable] | None:
        return None if self._names is None else self._names.tolist()

    @property
    def in_degrees(self) -> IntArray:
        """The number of arcs into each node, including parallel arcs."""
        return np.diff(self.in_arcs[0])

    @property
    def out_degrees(self) -> IntArray:
        """The number of arcs out of each node, including parallel arcs."""
        return np.diff(self.out_arcs[0])

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "digest": self.digest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        StoredGraph.__init__(self, state["path"])
        if self.digest != state["digest"]:
            raise ValueError(f"{self.path} must be the store that was sent, got a store with other arrays")


def open_graph(path: str | os.PathLike[str], *, check: bool = False) -> StoredGraph:
    """Return the graph of a store; every class that takes a graph takes it.

    Parameters
    ----------
    path : path-like
        The folder that `convert_graph` or ``cmab graph convert`` made.
    check : bool
        Whether to read all arrays once and compare them with their hashes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracles.stores import convert_graph, open_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.txt"
    ...     _ = file.write_text("0 1" + chr(10))
    ...     open_graph(convert_graph(file, Path(folder) / "graph"))
    StoredGraph(n_nodes=2, n_arcs=1)
    """
    return StoredGraph(path, check=check)
