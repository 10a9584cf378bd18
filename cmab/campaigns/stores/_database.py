"""Stores in databases: one row for each event, with its line as text."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Sequence

from cmab.campaigns._schema import Event
from cmab.campaigns.stores._store import Store

#: The version of the tables. A later version of cmab may change them.
FORMAT = 1
#: The name of a campaign in a database, unless the URL contains another one after ``#``.
USUAL_NAME = "campaign"


class Database(Store):
    """A campaign in a database, which can read while another process writes."""

    unit, kind = "row", "a database"

    def __init__(self, where: str, address: str, name: str) -> None:
        self.name = name
        #: The number of the campaign in the database; None until it is known.
        self._number: int | None = None
        super().__init__(where, address)

    def read(self) -> list[Event]:
        """Return the events since the last call, by any process."""
        rows = self._rows(max(self.n_read, 1))
        if self.n_read:
            # The last row that was read comes first, so that a replaced database is detected.
            if not rows or rows[0][0] != self.n_read or self._check not in rows[0][1].encode()[-40:]:
                raise self._replaced()
            rows = rows[1:]
        found = []
        for line, text in rows:
            if line != self.n_read + 1:
                raise self._wrong(f"must follow row {self.n_read}, got row {line}")
            found.append(self._checked(text.encode()))
        return found

    def first_event(self) -> Event | None:
        """Return the event of the first row, or None if there is none."""
        with self.readable():
            rows = self._rows(1, 1)
        if not rows:
            return None
        line = rows[0][1].encode()
        first = self._checked(line)
        self.rewind()
        self._first = line, first
        return first

    def first_lines(self, n: int) -> list[bytes]:
        """Return the lines of the first `n` rows."""
        rows = self._rows(1, n)
        is_whole = bool(rows) and rows[0][0] == 1 and rows[-1][0] == len(rows)
        return [text.encode() for _, text in rows] if is_whole else []

    def all_lines(self) -> list[bytes]:
        """Return the lines of all rows without a lock."""
        try:
            with self.readable():
                self.read()
                return [text.encode() for _, text in self._rows(1)][: self.n_read]
        finally:
            self.close()
            self.rewind()

    def _write(self, lines: list[bytes], first: int) -> None:
        # The token tells these rows from equal rows of another process, if the commit is uncertain.
        token = secrets.token_hex(16)
        texts = [line.decode("ascii") for line in lines]
        self._insert([(first + place, text) for place, text in enumerate(texts)], token)

    def _remedy(self) -> str:
        return "restore a backup, or delete this row and all later rows of the campaign"

    @abstractmethod
    def _rows(self, first: int, most: int = -1) -> Sequence[tuple[int, str]]:
        """Return the numbers and texts of `most` rows from number `first` on; of all rows if it is -1."""

    @abstractmethod
    def _insert(self, rows: list[tuple[int, str]], token: str) -> None:
        """Insert rows and commit them: all or none."""

    def _check_format(self, found: int) -> None:
        if found != FORMAT:
            raise ValueError(
                f"{self.where} must have tables of format {FORMAT}, got {found}; install a newer version of"
                " cmab"
            )
