"""The conversion of a file of edges, in text or Parquet, to a graph store."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.validation import shown
from oracles.stores.graph_store import (
    Block,
    Copy,
    Rules,
    Source,
    array_file,
    as_numbers,
    check_block,
    check_gaps,
    finish,
    require_pyarrow,
)

_LARGEST = 2**63 - 1


class ParquetSource:
    """Edges in a Parquet file: the first two columns are ids, a third column has probabilities."""

    row_word = "row"

    def __init__(self, file: Path) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        self.file, self._done = file, 0
        try:
            self._table = parquet.ParquetFile(file)
        except (pyarrow.ArrowInvalid, OSError) as error:
            raise ValueError(f"{file} must be a complete Parquet file, got {error}") from None
        kinds = self._table.schema_arrow.types
        is_id = [pyarrow.types.is_integer(kind) for kind in kinds]
        is_real = [pyarrow.types.is_floating(kind) for kind in kinds]
        if len(kinds) not in (2, 3) or not all(is_id[:2]) or not (is_real[2:] or [True])[0]:
            raise ValueError(
                f"{file} must have two columns of integers, and optionally a column of real numbers for the"
                f" probabilities, got {', '.join(map(str, kinds))}; write these columns to a new file"
            )

    def blocks(self, start: int, rows: int) -> Iterator[Block]:
        import pyarrow

        groups = self._table.num_row_groups
        for group in range(start, groups):
            try:
                table = self._table.read_row_group(group)
            except (pyarrow.ArrowInvalid, OSError) as error:
                raise ValueError(
                    f"{self.file} must be a complete Parquet file, got an error after row {rows}: {error}"
                ) from None
            arrays = as_numbers(table.columns)
            if arrays is None:
                raise ValueError(
                    f"{self.file}, row {rows + 1 + _first_missing(table)}: must hold 2 ids (and a"
                    " probability), got an empty cell"
                )
            tails, heads = (self._signed(ids, rows) for ids in arrays[:2])
            chances = arrays[2]
            rows += table.num_rows
            self._done = group + 1
            yield Block(
                tails, heads, None if chances is None else chances.astype(np.float64), group + 1, rows
            )

    def _signed(self, ids: AnyArray, rows: int) -> IntArray:
        if ids.dtype == np.uint64 and (ids > _LARGEST).any():
            edge = int(np.argmax(ids > _LARGEST))
            raise ValueError(
                f"{self.file}, row {rows + edge + 1}: a node id must be below 2^63, got {ids[edge]}"
            )
        return ids.astype(np.int64)

    def row_of(self, start: int, rows: int, edge: int) -> int:
        return rows + edge + 1

    def share(self) -> float:
        groups: int = self._table.num_row_groups
        return self._done / max(1, groups)


def _first_missing(table: Any) -> int:
    missing = [np.asarray(column.is_null()) for column in table.columns]
    return int(np.argmax(np.logical_or.reduce(missing)))


_BLOCK = 2**24
_COMMENT = re.compile(rb"(?m)^[ \t]*[#%].*$")
_BLANKS = re.compile(rb"[ \t]+")
_ENDS = re.compile(rb"(?m)^ | (?=\r?$)")
_MARK = b"\xef\xbb\xbf"
_PACKED = {b"\x1f\x8b": "gzip", b"BZ": "bz2", b"\x28\xb5": "zstd"}
#: A longer line is not an edge.
_LONGEST = 1000


class Form(NamedTuple):
    """The form of the lines: the delimiter, the number of columns, and the lines before the first edge."""

    delimiter: str
    columns: int
    header: int


class TextSource:
    """Edges in a text file, which gzip, bzip2 or zstd may have compressed.

    Lines that begin with ``#`` or ``%`` and empty lines are skipped. The first other line determines the
    delimiter (a tab, comma, semicolon, vertical bar or blanks) and the number of columns. If the first two
    fields of this line are no integers, the line is a header.
    """

    row_word = "line"

    def __init__(self, file: Path) -> None:
        self.file, self._read = file, 0
        self._size = max(1, file.stat().st_size)
        with file.open("rb") as stream:
            self._packing = _PACKED.get(stream.read(2))
        self.form = self._form()

    def blocks(self, start: int, rows: int) -> Iterator[Block]:
        for data, end in self._texts(start):
            tails, heads, chances = self._parsed(data, rows)
            rows += data.count(b"\n") + (not data.endswith(b"\n"))
            yield Block(tails, heads, chances, end, rows)

    def row_of(self, start: int, rows: int, edge: int) -> int:
        data, _ = next(self._texts(start))
        for number, fields in self._lines(data, rows):
            if fields and edge == 0:
                return number
            edge -= bool(fields)
        raise AssertionError("an edge of the block has a line")

    def share(self) -> float:
        return self._read / self._size

    def _texts(self, start: int) -> Iterator[tuple[bytes, int]]:
        """Yield whole lines of about `_BLOCK` bytes, and the position after them."""
        import pyarrow

        with self.file.open("rb") as raw:
            packed = self._packing is not None
            stream: Any = pyarrow.CompressedInputStream(raw, self._packing) if packed else raw
            try:
                at, rest = start, b""
                if packed:
                    _read_up_to(stream, start)
                else:
                    stream.seek(start)
                while True:
                    more = stream.read(_BLOCK)
                    self._read = raw.tell()
                    if not more:
                        break
                    cut = more.rfind(b"\n") + 1
                    if cut == 0 and len(rest) + len(more) > _BLOCK + _LONGEST:
                        break
                    data, rest = (rest + more[:cut], more[cut:]) if cut else (b"", rest + more)
                    if data:
                        at += len(data)
                        yield data, at
                if rest:
                    yield rest, at + len(rest)
            except (OSError, pyarrow.ArrowInvalid) as error:
                if not packed:
                    raise
                raise ValueError(
                    f"{self.file} must be a complete {self._packing} file, got {error}"
                ) from None

    def _form(self) -> Form:
        for data, _ in self._texts(0):
            if b"\x00" in data[:_LONGEST]:
                raise ValueError(f"{self.file} must be text in UTF-8 or Parquet, got null bytes")
            header = 0
            for _, line in _plain_lines(data, 0):
                delimiter = next((mark for mark in "\t,;|" if mark in line), " ")
                fields = _split(line, delimiter)
                if header == 0 and len(fields) >= 2 and not any(map(_is_integer, fields[:2])):
                    header = 1
                    continue
                return Form(delimiter, 3 if len(fields) == 3 else 2, header)
        raise ValueError(f"{self.file} must hold at least one edge, got none")

    def _parsed(self, data: bytes, rows: int) -> Any:
        """Return the arrays of a block; raise ``ValueError`` with the number of the first broken line."""
        text = data.removeprefix(_MARK) if rows == 0 else data
        if b"#" in text or b"%" in text:
            text = _COMMENT.sub(b"", text)
        if self.form.header and rows == 0:
            text = text.lstrip().partition(b"\n")[2]
        arrays = self._columns(text)
        if arrays is None and self.form.delimiter in " \t":
            # Columns that several blanks align, or blanks at the ends of lines.
            arrays = self._columns(_ENDS.sub(b"", _BLANKS.sub(b" ", text)), " ")
        if arrays is None:
            raise self._broken(data, rows)
        return arrays

    def _columns(self, text: bytes, delimiter: str | None = None) -> Any:
        import pyarrow
        from pyarrow import csv

        kinds = [pyarrow.int64(), pyarrow.int64(), pyarrow.float64()][: self.form.columns]
        names = ["tail", "head", "probability"][: self.form.columns]
        if not text.strip():
            return as_numbers([pyarrow.array([], kind) for kind in kinds])
        try:
            table = csv.read_csv(
                io.BytesIO(text),
                csv.ReadOptions(column_names=names),
                csv.ParseOptions(delimiter=delimiter or self.form.delimiter, quote_char=False),
                csv.ConvertOptions(column_types=dict(zip(names, kinds, strict=True)), null_values=[""]),
            )
        except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError):
            return None
        return as_numbers(table.columns)

    def _lines(self, data: bytes, rows: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the fields of each line with an edge."""
        header = self.form.header if rows == 0 else 0
        for number, line in _plain_lines(data, rows):
            if header:
                header = 0
                continue
            yield number, _split(line, self.form.delimiter)

    def _broken(self, data: bytes, rows: int) -> ValueError:
        wanted = "2 ids" if self.form.columns == 2 else "2 ids and a probability"
        for number, fields in self._lines(data, rows):
            good = len(fields) == self.form.columns and all(map(_is_integer, fields[:2]))
            if not good or not all(map(_is_real, fields[2:])):
                got = shown([field[:40] for field in fields[:5]])
                return ValueError(
                    f"{self.file}, line {number}: must hold {wanted}, got {got}; correct or remove the line"
                )
        return ValueError(f"{self.file}: lines {rows + 1} and later must hold {wanted}, got other text")


def _read_up_to(stream: Any, start: int) -> None:
    """Read a compressed stream up to a position of its content."""
    while start:
        start -= len(stream.read(min(start, _BLOCK)))


def _plain_lines(data: bytes, rows: int) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(data.split(b"\n"), rows + 1):
        text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
        if text and text[0] not in "#%":
            yield number, text


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter in " \t":
        return line.split()
    return [field.strip() for field in line.split(delimiter)]


def _is_integer(text: str) -> bool:
    try:
        return abs(int(text)) < 2**63 and "_" not in text
    except ValueError:
        return False


def _is_real(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


#: The first bytes of a Parquet file.
_PARQUET = b"PAR1"


def source_of(file: Path) -> Source:
    """Return the reader of a file; raise ``ValueError`` if it is not a file that can be read twice."""
    require_pyarrow()
    if not file.exists():
        raise ValueError(f"source must be a file of edges, got {file}, which does not exist")
    if not file.is_file():
        raise ValueError(f"source must be a file of edges, got {file}; save the edges as a file")
    with file.open("rb") as stream:
        is_parquet = stream.read(len(_PARQUET)) == _PARQUET
    return ParquetSource(file) if is_parquet else TextSource(file)


Duplicates = Literal["error", "keep", "first"]
Loops = Literal["error", "drop"]
See = Callable[[str, float], None]


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

    Until the store is complete, its files are in the folder ``OUT.partial``, which an error removes.

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
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        finish(partial, _copied(reader, partial, rules, file, see), rules, file, see)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    partial.rename(folder)
    return folder


def _copied(reader: Source, folder: Path, rules: Rules, file: Path, see: See) -> Copy:
    """Write the arcs of all blocks to a folder, and return their number and places."""
    # Before the labels are known, ids are kept in 64 bits.
    kind = np.int64 if rules.relabel else np.int32
    position, rows, n_arcs, largest, places = 0, 0, 0, -1, []
    with contextlib.ExitStack() as stack:
        streams = {
            name: stack.enter_context(array_file(folder, name).open("wb"))
            for name in ("tails", "heads", "probabilities")
        }
        for block in reader.blocks(position, rows):
            where = functools.partial(_where, reader, file, position, rows)
            kept = check_block(block, rules, where)
            ends, chances = [kept.tails, kept.heads], kept.probabilities
            if not rules.directed:
                ends = [np.column_stack(pair).ravel() for pair in (ends, ends[::-1])]
                chances = None if chances is None else np.repeat(chances, 2)
            for name, values in zip(("tails", "heads"), ends, strict=True):
                streams[name].write(np.ascontiguousarray(values, kind).data)
            if chances is not None:
                streams["probabilities"].write(np.ascontiguousarray(chances).data)
            places.append((n_arcs, position, rows))
            n_arcs += len(ends[0])
            largest = max([largest, *(int(ids.max()) for ids in ends if len(ids))])
            position, rows = block.end, block.rows
            see("read", reader.share())
    if n_arcs == 0:
        raise ValueError(f"{file} must hold at least one edge, got none")
    if not rules.relabel:
        check_gaps(largest + 1, n_arcs, file)
    if array_file(folder, "probabilities").stat().st_size == 0:
        array_file(folder, "probabilities").unlink()
    return Copy(reader, n_arcs, largest + 1, places)


def _where(reader: Source, file: Path, position: int, rows: int, edge: int) -> str:
    return f"{file}, {reader.row_word} {reader.row_of(position, rows, edge)}"
