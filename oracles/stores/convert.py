"""The conversion of a file of edges to a graph store."""

from __future__ import annotations

import errno
import functools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cmab.arrays import AnyArray
from cmab.validation import shown
from oracles.stores._checks import Rules, check_block, check_gaps
from oracles.stores._finish import finish
from oracles.stores._readers import source_of
from oracles.stores.layout import TYPES, array_file
from oracles.stores.sources import Block, Source, identity

Duplicates = Literal["error", "keep", "first"]
Loops = Literal["error", "drop"]
See = Callable[[str, float], None]
_PROGRESS = "progress.json"


def convert_graph(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    directed: bool = True,
    relabel: bool = False,
    duplicates: Duplicates = "error",
    self_loops: Loops = "error",
    progress: See | None = None,
) -> Path:
    """Convert a file of edges to a graph store, and return the folder of the store.

    The source is a text file (a tab, comma, semicolon, vertical bar or blanks between the columns; plain or
    compressed by gzip, bzip2 or zstd) or a Parquet file. Each line or row has the ids of the tail and the
    head of an arc, and optionally its probability. pyarrow reads the source in blocks, so the source may be
    larger than the memory. The conversion then needs about 16 bytes of memory per arc, most of which the
    system can take back, and 32 bytes of disk per arc (40 with probabilities).

    Until the store is complete, its files are in the folder ``OUT.partial``. If the conversion is
    interrupted, or if the disk is full, the same call continues it. Any other call with the same `out`
    starts again. After an error in the source, the partial store is removed.

    Parameters
    ----------
    source : path-like
        The file of edges.
    out : path-like
        The folder of the store; it must not exist.
    directed : bool
        If True, a line is one arc. If False, it is two arcs, one in each direction, next to each other.
    relabel : bool
        If False, ids are node numbers. If True, ids are any 64-bit integers; nodes are numbered in increasing
        order of their ids, which become their labels.
    duplicates : {"error", "keep", "first"}
        What to do with arcs that occur more than once: reject the source, keep parallel arcs, or keep the
        first of them.
    self_loops : {"error", "drop"}
        What to do with arcs from a node to itself: reject the source, or drop them.
    progress : callable, optional
        A function ``progress(step, share)`` that is called with the name of the current step and the share of
        the step that is done.

    Raises
    ------
    ValueError
        If a line is broken, or has an id or a probability out of range; if arcs are repeated or a self-loop,
        unless an option allows them; or if `out` exists. The message has the number of the line.
    OSError
        If the disk is full.
    ImportError
        If pyarrow is missing; the extra ``cmab[graphs]`` installs it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracles.stores import convert_graph, open_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.csv"
    ...     _ = file.write_text("source,target,p" + chr(10) + "7,9,0.5" + chr(10) + "9,30,0.25" + chr(10))
    ...     graph = open_graph(convert_graph(file, Path(folder) / "graph", relabel=True))
    ...     graph, graph.label(2), graph.probabilities.tolist()
    (StoredGraph(n_nodes=3, n_arcs=2), 30, [0.5, 0.25])
    """
    file, folder = Path(source), Path(out)
    if duplicates not in ("error", "keep", "first"):
        raise ValueError(f"duplicates must be 'error', 'keep' or 'first', got {shown(duplicates)}")
    if self_loops not in ("error", "drop"):
        raise ValueError(f"self_loops must be 'error' or 'drop', got {shown(self_loops)}")
    if folder.exists():
        raise ValueError(f"out must be a folder that does not exist, got {folder}; remove it or name another")
    rules = Rules(bool(directed), bool(relabel), duplicates, self_loops)
    reader = source_of(file)
    see = progress or (lambda _step, _share: None)
    partial = _Partial(folder, {"source": identity(file), "rules": rules._asdict()})
    try:
        partial.open()
        _copy(reader, partial, rules, file, see)
        finish(partial.folder, reader, partial.state, rules, file, see, partial.spoil)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(
            error.errno,
            f"the disk of {folder} is full after {partial.state['arcs']} arcs; free some space and run the"
            f" same command to continue, or remove {partial.folder}",
        ) from None
    except ValueError:
        shutil.rmtree(partial.folder, ignore_errors=True)
        raise
    (partial.folder / _PROGRESS).unlink()
    partial.folder.rename(folder)
    return folder


class _Partial:
    """The folder of an unfinished store, and how far its conversion is."""

    def __init__(self, out: Path, job: dict[str, Any]) -> None:
        self.folder, self._job = out.with_name(f"{out.name}.partial"), job
        self.state: dict[str, Any] = {"position": 0, "rows": 0, "arcs": 0, "edges": 0, "blocks": []}

    def open(self) -> None:
        """Continue the conversion of the same source with the same options, or start it."""
        try:
            kept = json.loads((self.folder / _PROGRESS).read_text(encoding="utf-8"))
            continues = kept["job"] == json.loads(json.dumps(self._job))
            state = kept["state"]
            continues = continues and not state.get("spoiled")
        except (OSError, ValueError, KeyError, TypeError):
            continues = False
        if continues:
            self.state = state
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.save()

    def save(self) -> None:
        """Store how far the conversion is; the old file is replaced only when the new one is complete."""
        fresh = self.folder / f"{_PROGRESS}.new"
        fresh.write_text(json.dumps({"job": self._job, "state": self.state}), encoding="utf-8")
        fresh.replace(self.folder / _PROGRESS)

    def spoil(self) -> None:
        """Record that the arcs are being changed, so that an interrupted conversion starts again."""
        self.state["spoiled"] = True
        self.save()

    def append(self, name: str, values: AnyArray, kind: str | None = None) -> None:
        """Write values behind the arcs that are complete; drop what an interrupted block left there."""
        array = np.ascontiguousarray(values, np.dtype(kind or TYPES[name]))
        file = array_file(self.folder, name)
        with file.open("r+b" if file.exists() else "w+b") as stream:
            stream.truncate(self.state["arcs"] * array.itemsize)
            stream.seek(0, os.SEEK_END)
            stream.write(array.data)


def _copy(reader: Source, partial: _Partial, rules: Rules, file: Path, see: See) -> None:
    """Append the arcs of all blocks that are missing in the partial store."""
    state = partial.state
    if state.get("copied"):
        return
    # Before the labels are known, ids are kept in 64 bits.
    kind = "<i8" if rules.relabel else None
    for block in reader.blocks(state["position"], state["rows"]):
        start = (state["position"], state["rows"])
        where = functools.partial(_where, reader, file, *start)
        kept = check_block(block, rules, where)
        ends, chances = [kept.tails, kept.heads], kept.probabilities
        if not rules.directed:
            ends = [np.column_stack(pair).ravel() for pair in (ends, ends[::-1])]
            chances = None if chances is None else np.repeat(chances, 2)
        for name, values in zip(("tails", "heads"), ends, strict=True):
            partial.append(name, values, kind)
        if chances is not None:
            partial.append("probabilities", chances)
        # The first arc and the place of each block, to name the line of an arc later.
        state["blocks"].append([state["arcs"], *start])
        _advance(state, block, len(ends[0]))
        partial.save()
        see("read", reader.share())
    if state["arcs"] == 0:
        raise ValueError(f"{file} must hold at least one edge, got none")
    if not rules.relabel:
        check_gaps(state["largest"] + 1, state["arcs"], file)
    state["copied"] = True
    partial.save()


def _advance(state: dict[str, Any], block: Block, n_arcs: int) -> None:
    largest = max((int(ids.max()) for ids in (block.tails, block.heads) if len(ids)), default=-1)
    state["largest"] = max(state.get("largest", -1), largest)
    state["position"], state["rows"] = block.end, block.rows
    state["arcs"] += n_arcs
    state["edges"] += len(block.tails)


def _where(reader: Source, file: Path, position: int, rows: int, edge: int) -> str:
    return f"{file}, {reader.row_word} {reader.row_of(position, rows, edge)}"
