"""Paths and URLs of campaigns."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from cmab.campaigns.stores._database import USUAL_NAME
from cmab.campaigns.stores._journal_file import JournalFile
from cmab.campaigns.stores._sqlite import SQLiteFile
from cmab.campaigns.stores._store import Store
from cmab.validation import shown

_SQLITE = "sqlite:///"
_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_POSTGRESQL = ("postgresql+psycopg://", "postgresql://", "postgres://")
_MAGIC = b"SQLite format 3\0"


def store_of(where: str | os.PathLike[str]) -> Store:
    """Return the store at a path or a URL.

    Parameters
    ----------
    where : str or path-like
        A path or a URL, as in `cmab.Campaign`.

    Raises
    ------
    TypeError
        If `where` is neither a string nor a path.
    ValueError
        If `where` is a URL of an unknown kind.
    """
    if isinstance(where, bytes) or not isinstance(where, str | os.PathLike):
        raise TypeError(f"where must be a path or a URL, got {shown(where)}")
    if isinstance(where, str):
        if where.startswith(_POSTGRESQL):
            from cmab.campaigns.stores._postgresql import PostgreSQL

            return PostgreSQL(where)
        if where.startswith(_SQLITE):
            place, _, name = where.removeprefix(_SQLITE).partition("#")
            return _sqlite(unquote(place), unquote(name))
        scheme, mark, _ = where.partition("://")
        if mark and scheme.replace("+", "").isalnum():
            raise ValueError(
                f"where must be a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE#CAMPAIGN, got"
                f" a URL that starts with {shown(scheme)}"
            )
    path = Path(where)
    head = _head(path)
    is_journal = head.startswith(b"{")  # earlier versions wrote journals under any name
    if head == _MAGIC or (path.suffix.lower() in _SUFFIXES and not is_journal):
        return _sqlite(str(path), "")
    return JournalFile(path)


def _sqlite(path: str, name: str) -> SQLiteFile:
    if not path:
        raise ValueError("where must have a path after sqlite:///, got none")
    full = str(Path(path).absolute())
    address = f"{_SQLITE}{_quoted(full)}#{_quoted(name)}" if name else f"{_SQLITE}{_quoted(full)}"
    return SQLiteFile(full, name or USUAL_NAME, address)


def _quoted(text: str) -> str:
    return text.replace("%", "%25").replace("#", "%23")


def _head(path: Path) -> bytes:
    """Return the first bytes of a regular file, and none if it cannot be read."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(len(_MAGIC))
    except (OSError, ValueError):  # the store raises the error when it opens the file
        return b""
