"""Graph stores: a folder with a header in JSON and one file for each array, which a graph maps."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.validation import integer, shown
from oracles._networks import numbers_below
from oracles.influence.graph import DirectedGraph

HEADER = "store.json"
VERSION = 1
#: The type of each array. The arcs are in the order of the source. The arrays ``in_*`` and ``out_*`` have the
#: arcs into and out of each node. The numbers of arcs have 64 bits if there are more than 2^31 arcs.
TYPES = {
    "tails": "<i4",
    "heads": "<i4",
    "probabilities": "<f8",
    "labels": "<i8",
    "in_offsets": "<i8",
    "in_arms": "<i4",
    "in_tails": "<i4",
    "out_offsets": "<i8",
    "out_arms": "<i4",
    "out_heads": "<i4",
}


def type_of(name: str, length: int) -> np.dtype[Any]:
    """Return the type of an array of a store, given the number of arcs for ``in_arms`` and ``out_arms``."""
    return np.dtype(numbers_below(length) if name.endswith("_arms") else TYPES[name])


def array_file(folder: Path, name: str) -> Path:
    """Return the file of an array."""
    return folder / f"{name}.bin"


def write_header(folder: Path, n_nodes: int, n_arcs: int, arrays: list[str], source: dict[str, Any]) -> None:
    """Write the header to a folder that has all arrays."""
    fields = {"version": VERSION, "n_nodes": n_nodes, "n_arcs": n_arcs, "arrays": arrays, "source": source}
    (folder / HEADER).write_text(json.dumps(fields, indent=1), encoding="utf-8")


def read_header(folder: Path) -> tuple[int, int, dict[str, int]]:
    """Return the numbers of nodes and arcs, and the length of each array; reject incomplete stores."""
    remedy = "make the store again with `cmab graph convert`"
    try:
        fields = json.loads((folder / HEADER).read_text(encoding="utf-8"))
        n, m, version = fields["n_nodes"], fields["n_arcs"], fields["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"path must be a graph store (a folder with {HEADER}), got {folder}: {error!r}; {remedy}"
        ) from None
    if version != VERSION:
        raise ValueError(f"path must be a graph store of version {VERSION}, got version {version}; {remedy}")
    special = {"in_offsets": n + 1, "out_offsets": n + 1, "labels": n}
    lengths = {name: special.get(name, m) for name in fields["arrays"]}
    for name, length in lengths.items():
        wanted, file = length * type_of(name, length).itemsize, array_file(folder, name)
        found = file.stat().st_size if file.is_file() else 0
        if found != wanted:
            raise ValueError(f"{file} must have {wanted} bytes, got {found}; {remedy}")
    return n, m, lengths


def mapped(folder: Path, name: str, length: int) -> AnyArray:
    """Return an array of a store, mapped into memory.

    Pages are read from the disk when they are used, and the system may drop them again. Writing to the array
    changes a private copy of the page and never the file.
    """
    kind = type_of(name, length)
    if length == 0:  # an empty file cannot be mapped
        return np.empty(0, kind)
    # A plain array, not `np.memmap`: kernels are compiled for plain writable arrays only.
    with array_file(folder, name).open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), kind, length)


class StoredGraph(DirectedGraph):
    """A directed graph whose arrays are mapped from a store; every class that takes a graph takes it.

    Opening a store reads only its header. The operating system reads the pages of the arrays when they are
    used, and drops them when memory is short. A copy in another process, for example in a worker, opens the
    same store again, so only the path is sent.

    Parameters
    ----------
    path : path-like
        The folder that `convert_graph` or ``cmab graph convert`` made.

    Attributes
    ----------
    path : Path
        The folder of the store.

    Raises
    ------
    ValueError
        If the folder is not a complete store of this version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracles.stores import StoredGraph, convert_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.txt"
    ...     _ = file.write_text("0 1" + chr(10) + "0 2" + chr(10) + "1 2" + chr(10))
    ...     graph = StoredGraph(convert_graph(file, Path(folder) / "graph"))
    >>> graph, graph.in_degrees
    (StoredGraph(n_nodes=3, n_arcs=3), array([0, 1, 2]))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"path must be the folder of a graph store, got {shown(path)}")
        self.path = Path(path).resolve()
        self.n_nodes, self.n_arcs, lengths = read_header(self.path)
        arrays = {name: mapped(self.path, name, length) for name, length in lengths.items()}
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
        return {"path": self.path, "size": (self.n_nodes, self.n_arcs)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        StoredGraph.__init__(self, state["path"])
        if (self.n_nodes, self.n_arcs) != state["size"]:
            raise ValueError(f"{self.path} must be the store that was sent, got {self!r}")
