"""Files of edges, read in blocks by pyarrow: text of any delimiter, and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from cmab.arrays import FloatArray, IntArray


class Block(NamedTuple):
    """Some edges of a source.

    Attributes
    ----------
    tails, heads : IntArray
        The ids of the ends of each edge.
    probabilities : FloatArray or None
        The probability of each edge, not yet checked.
    end : int
        The position in the source after this block: a byte of the text, or the number of a group of rows.
    rows : int
        The number of the last line (row) of this block, counted from 1.
    """

    tails: IntArray
    heads: IntArray
    probabilities: FloatArray | None
    end: int
    rows: int


class Source(Protocol):
    """A file of edges that is read from any position at which a block ended."""

    row_word: str

    def blocks(self, start: int, rows: int) -> Iterator[Block]:
        """Yield the blocks from position `start` on, before which there are `rows` lines or rows."""

    def row_of(self, start: int, rows: int, edge: int) -> int:
        """Return the line (row) of an edge, counted from 0 in the block at `start`."""

    def share(self) -> float:
        """Return the share of the file that has been read."""


def require_pyarrow() -> Any:
    """Return pyarrow, or raise ``ImportError`` with the name of the extra."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "reading files of edges needs pyarrow; install it with `pip install cmab[graphs]`"
        ) from None
    return pyarrow


def identity(file: Path) -> dict[str, Any]:
    """Return what identifies the content of a source when a conversion continues."""
    facts = file.stat()
    return {"path": str(file.resolve()), "size": facts.st_size, "modified": facts.st_mtime_ns}


def as_numbers(columns: list[Any]) -> tuple[IntArray, IntArray, FloatArray | None] | None:
    """Return columns of pyarrow as arrays, or None if an entry is missing."""
    if any(column.null_count for column in columns):
        return None
    arrays = [np.asarray(column.to_numpy()) for column in columns]
    return arrays[0], arrays[1], arrays[2] if len(arrays) == 3 else None
