"""Edges in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from oracles.stores.sources import Block, as_numbers

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

    def row_of(self, start: int, rows: int, edge: int) -> int:  # noqa: ARG002
        return rows + edge + 1

    def share(self) -> float:
        groups: int = self._table.num_row_groups
        return self._done / max(1, groups)


def _first_missing(table: Any) -> int:
    missing = [np.asarray(column.is_null()) for column in table.columns]
    return int(np.argmax(np.logical_or.reduce(missing)))
