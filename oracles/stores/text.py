"""Edges in text files: lines of two ids and optionally a probability."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cmab.validation import shown
from oracles.stores.sources import Block, as_numbers

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
