"""The choice of the reader of a file of edges."""

from __future__ import annotations

from pathlib import Path

from oracles.stores.parquet import ParquetSource
from oracles.stores.sources import Source, require_pyarrow
from oracles.stores.text import TextSource

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
