"""The files of a graph store: a header in JSON, and one file for each array."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import AnyArray
from cmab.validation import shown

HEADER = "store.json"
FORMAT, VERSION = "cmab graph", 1
#: The type of each array. The arcs are in the order of the source. The arrays ``in_*`` and ``out_*`` have the
#: arcs into and out of each node.
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
_OPTIONAL = ("probabilities", "labels")
_CHUNK = 2**22


@dataclass(frozen=True)
class Header:
    """The content of a store.

    Attributes
    ----------
    n_nodes, n_arcs : int
        The numbers of nodes and arcs.
    hashes : mapping
        The SHA-256 of each array, by its name.
    source : mapping
        The file from which the store was made, and the options of the conversion.
    """

    n_nodes: int
    n_arcs: int
    hashes: Mapping[str, str]
    source: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The hash of the numbers of nodes and arcs and of all arrays."""
        text = json.dumps([self.n_nodes, self.n_arcs, sorted(self.hashes.items())])
        return hashlib.sha256(text.encode()).hexdigest()

    def length(self, name: str) -> int:
        """Return the number of entries of an array."""
        if name.endswith("offsets"):
            return self.n_nodes + 1
        return self.n_nodes if name == "labels" else self.n_arcs

    def write(self, folder: Path) -> None:
        """Write the header to a folder that has all arrays."""
        fields = {
            "format": FORMAT,
            "version": VERSION,
            "n_nodes": self.n_nodes,
            "n_arcs": self.n_arcs,
            "hashes": dict(self.hashes),
            "digest": self.digest,
            "source": dict(self.source),
        }
        (folder / HEADER).write_text(json.dumps(fields, indent=1), encoding="utf-8")


def array_file(folder: Path, name: str) -> Path:
    """Return the file of an array."""
    return folder / f"{name}.bin"


def read_header(folder: Path) -> Header:
    """Return the header of a store; raise ``ValueError`` if the folder is not a complete store."""
    remedy = "make the store again with `cmab graph convert`"
    if not (folder / HEADER).is_file():
        partial = folder.with_name(f"{folder.name}.partial")
        more = f"; {partial} is an unfinished store" if partial.is_dir() else ""
        raise ValueError(f"path must be a graph store (a folder with {HEADER}), got {folder}{more}; {remedy}")
    try:
        fields = json.loads((folder / HEADER).read_text(encoding="utf-8"))
        made_by, version = fields["format"], fields["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / HEADER} must be the header of a graph store, got {error!r}") from None
    if made_by != FORMAT or version != VERSION:
        raise ValueError(
            f"{folder} must be a graph store of version {VERSION}, got {shown(made_by)} of version"
            f" {shown(version)}; {remedy}, or use the version of cmab that made it"
        )
    try:
        header = Header(
            int(fields["n_nodes"]), int(fields["n_arcs"]), dict(fields["hashes"]), dict(fields["source"])
        )
        damaged = header.digest != fields["digest"] or not set(TYPES) - set(_OPTIONAL) <= set(header.hashes)
    except (ValueError, KeyError, TypeError):
        damaged = True
    if damaged:
        raise ValueError(f"{folder / HEADER} must agree with its own hash, got a changed header; {remedy}")
    for name in header.hashes:
        wanted = header.length(name) * np.dtype(TYPES[name]).itemsize
        file = array_file(folder, name)
        found = file.stat().st_size if file.is_file() else None
        if found != wanted:
            got = "no file" if found is None else f"{found} bytes"
            raise ValueError(f"{file} must have {wanted} bytes, got {got}; {remedy}")
    return header


def mapped(folder: Path, name: str, length: int) -> AnyArray:
    """Return an array of a store, mapped into memory.

    Pages are read from the disk when they are used, and the system may drop them again. Writing to the array
    changes a private copy of the page and never the file.
    """
    kind = np.dtype(TYPES[name])
    if length == 0:  # an empty file cannot be mapped
        return np.empty(0, kind)
    # A plain array, not `np.memmap`: kernels are compiled for plain writable arrays only.
    with array_file(folder, name).open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), kind, length)


def hash_of(file: Path, see: Callable[[int], None] = lambda _: None) -> str:
    """Return the SHA-256 of a file; `see` is called with the number of bytes of each chunk."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            see(len(chunk))
    return digest.hexdigest()


def check_hashes(folder: Path, header: Header) -> None:
    """Raise ``ValueError`` if an array of the store differs from its hash."""
    for name, wanted in header.hashes.items():
        if hash_of(array_file(folder, name)) != wanted:
            raise ValueError(
                f"{array_file(folder, name)} must agree with its SHA-256 in {HEADER}, got a changed file;"
                " make the store again with `cmab graph convert`"
            )
