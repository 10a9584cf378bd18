"""Campaigns in PostgreSQL databases, through SQLAlchemy Core and psycopg."""

from __future__ import annotations

import errno
import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from cmab._faults import in_words
from cmab.campaigns.stores._database import FORMAT, Database
from cmab.campaigns.stores._postgresql_url import parsed, scrubbed
from cmab.campaigns.stores._store import Overtaken, Waiting

try:
    import psycopg
    import sqlalchemy as sql
    from sqlalchemy.dialects.postgresql import insert as insert_if_new
except ImportError as missing:
    raise ModuleNotFoundError(
        'a campaign in PostgreSQL needs SQLAlchemy and psycopg: pip install "cmab[postgres]"'
    ) from missing

Result = TypeVar("Result")
_TABLES = sql.MetaData()
_CAMPAIGNS = sql.Table(
    "cmab_campaigns",
    _TABLES,
    sql.Column("number", sql.BigInteger, sql.Identity(), primary_key=True),
    sql.Column("name", sql.Text, nullable=False, unique=True),
    sql.Column("format", sql.Integer, nullable=False),
)
_EVENTS = sql.Table(
    "cmab_events",
    _TABLES,
    sql.Column("campaign", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("line", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("token", sql.Text, nullable=False),
)
_CHECKPOINTS = sql.Table(
    "cmab_checkpoints",
    _TABLES,
    sql.Column("campaign", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("data", sql.LargeBinary, nullable=False),
)
#: The insertion of many rows in one message; one message for each row takes most of the time of a batch. The
#: texts are sent as one text, because no event contains a line feed and psycopg needs longer for an array.
_INSERTION = sql.text(
    "INSERT INTO cmab_events (campaign, line, text, token)"
    " SELECT CAST(:campaign AS bigint), CAST(:first AS bigint) + new.place - 1, new.text,"
    " CAST(:token AS text)"
    " FROM unnest(string_to_array(CAST(:texts AS text), chr(10))) WITH ORDINALITY AS new (text, place)"
)
#: The advisory lock under which the tables are created.
_CREATION = 0x636D6162
#: The rest of the transaction waits for other processes, whatever the limits of the database are.
_PATIENTLY = sql.text(
    "SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true)"
)
_CONNECTION = {"client_encoding": "utf8"}
#: How long a writer tries to reach a server that it has reached before, in seconds.
_PATIENCE = 120.0
#: Classes of errors of PostgreSQL as errors of files.
_ERRORS = {"53100": errno.ENOSPC, "25006": errno.EROFS, "42501": errno.EACCES}
#: States of a server that starts or stops.
_RESTARTING = ("57P01", "57P02", "57P03")
#: Remedies of further errors, by their state.
_REMEDIES = {
    "57014": "raise statement_timeout for this user",
    "55P03": "raise lock_timeout for this user",
    "22P05": "choose another name of the campaign, or a database with CREATE DATABASE ... ENCODING 'UTF8'",
}
_INHERITED: list[Any] = []


class PostgreSQL(Database):
    """A campaign in a PostgreSQL database. Its row in the table of campaigns is locked by the writer."""

    def __init__(self, url: str) -> None:
        self._url, self._secrets, where, name = parsed(url)
        self._engine = sql.create_engine(
            self._url,
            poolclass=sql.pool.NullPool,
            hide_parameters=True,
            # The settings of the database and its encoding must not change what the queries mean.
            isolation_level="READ COMMITTED",
            connect_args=_CONNECTION
            | ({} if "connect_timeout" in self._url.query else {"connect_timeout": 10}),
        )
        self._connection: sql.Connection | None = None
        self._process, self._is_known, self._is_held = -1, False, False
        super().__init__(where, url, name)

    def exists(self) -> bool:
        """Return whether the database contains the campaign."""
        return self._attempt(self._find) is not None

    @contextmanager
    def held(self, *, create: bool = False, waiting: Waiting = None) -> Iterator[None]:
        """Begin a transaction and lock the row of the campaign."""
        if create:
            self._attempt(self._create)
        try:
            self._attempt(lambda: self._lock(waiting))
            self._is_held = True
            yield
        finally:
            self._is_held = False
            self._end()

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Connect to the database; readers need no lock."""
        if self._number is None:
            self._attempt(self._find)
        try:
            yield
        finally:
            self._end()

    def checkpoint(self) -> bytes | None:
        """Return the last checkpoint of the campaign, or None."""
        query = sql.select(_CHECKPOINTS.c.data).where(_CHECKPOINTS.c.campaign == self._number)
        found: bytes | None = self._attempt(lambda: self._run(query).scalar())
        return found

    def keep_checkpoint(self, data: bytes) -> None:
        """Replace the checkpoint of the campaign."""
        new = insert_if_new(_CHECKPOINTS).values(campaign=self._number, data=data)
        query = new.on_conflict_do_update(index_elements=["campaign"], set_={"data": data})

        def keep() -> None:
            self._run(query)
            assert self._connection is not None
            self._connection.commit()

        self._attempt(keep)

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sql.exc.SQLAlchemyError):
                self._close()

    def _rows(self, first: int, most: int = -1) -> Sequence[tuple[int, str]]:
        if self._number is None:
            return []
        query = (
            sql.select(_EVENTS.c.line, _EVENTS.c.text)
            .where(_EVENTS.c.campaign == self._number, _EVENTS.c.line >= first)
            .order_by(_EVENTS.c.line)
            .limit(None if most < 0 else most)
        )

        def rows() -> list[tuple[int, str]]:
            if self._is_held and self._connection is None:
                self._lock()  # the connection was lost, and the lock with it
            return [(line, text) for line, text in self._run(query)]

        return self._attempt(rows)

    def _insert(self, rows: list[tuple[int, str]], token: str) -> None:
        first_line, texts = rows[0][0], "\n".join(text for _, text in rows)
        values = {"campaign": self._number, "first": first_line, "texts": texts, "token": token}

        def insert() -> None:
            if self._connection is None:
                # The connection was lost, so it is unknown whether the transaction was committed. The lock
                # waits for the end of this transaction. Then its token in the first row gives the answer.
                self._lock()
                first = sql.select(_EVENTS.c.token).where(
                    _EVENTS.c.campaign == self._number, _EVENTS.c.line == first_line
                )
                found = self._run(first).scalar()
                if found == token:
                    return
                if found is not None:
                    raise Overtaken(
                        f"{self.where} was changed by another process while the connection was lost; the call"
                        " has changed nothing: repeat it"
                    )
            self._run(_INSERTION, values)
            assert self._connection is not None
            self._connection.commit()

        self._attempt(insert)

    def _find(self) -> int | None:
        """Return the number of the campaign, or None if the database does not contain it."""
        is_there = sql.func.to_regclass("cmab_campaigns").is_not(None)
        row = None
        if self._run(sql.select(is_there)).scalar():
            row = self._run(self._own).one_or_none()
        if row is None:
            return None
        self._check_format(row.format)
        self._number = int(row.number)
        return self._number

    @property
    def _own(self) -> Any:
        return sql.select(_CAMPAIGNS.c.number, _CAMPAIGNS.c.format).where(_CAMPAIGNS.c.name == self.name)

    def _create(self) -> None:
        """Create the tables and the row of the campaign, if they do not exist."""
        if self._find() is None:
            self._run(_PATIENTLY)
            self._run(sql.select(sql.func.pg_advisory_xact_lock(_CREATION)))
            assert self._connection is not None
            _TABLES.create_all(self._connection)
            new = insert_if_new(_CAMPAIGNS).values(name=self.name, format=FORMAT)
            self._run(new.on_conflict_do_nothing())
            self._connection.commit()
        else:
            self._end()

    def _lock(self, waiting: Waiting = None) -> None:
        """Wait for the lock of the campaign, which the end of the transaction releases."""
        if self._number is None and self._find() is None:
            return  # there is no campaign, so there are no events
        row = None
        if waiting is not None:
            row = self._run(self._own.with_for_update(skip_locked=True)).one_or_none()
            if row is None:
                # Read ahead, so that this process holds the lock for a shorter time.
                waiting()
        if row is None:
            self._run(_PATIENTLY)
            row = self._run(self._own.with_for_update()).one_or_none()
        if row is None or row.number != self._number:
            raise self._replaced()

    def _run(self, query: Any, values: Any = None) -> Any:
        self._connect()
        assert self._connection is not None
        return self._connection.execute(query, values)

    def _end(self) -> None:
        """Take back a transaction that was not committed."""
        if self._connection is not None:
            try:
                self._connection.rollback()
            except sql.exc.SQLAlchemyError:
                self.close()

    def _connect(self) -> None:
        """Connect, unless this process is connected."""
        if self._connection is not None and self._process != os.getpid():
            _INHERITED.append(self._connection)
            self._connection = None
        if self._connection is None:
            connection = self._engine.connect()
            self._connection, self._process = connection, os.getpid()
            self._close = weakref.finalize(self, _closed, connection, self._process)
            # If the machine of a writer fails, the server notices it and releases the lock.
            connection.execute(sql.text("SET tcp_keepalives_idle = 30"))
            connection.execute(sql.text("SET tcp_keepalives_interval = 10"))
            connection.commit()
            self._is_known = True

    def _attempt(self, act: Callable[[], Result]) -> Result:
        """Call a function; connect and call it again if the connection is lost."""
        since, pause = None, 0.02
        while True:
            try:
                return act()
            except sql.exc.IntegrityError:
                self._end()
                raise Overtaken(
                    f"{self.where} was changed by another process; the call has changed nothing: repeat it"
                ) from None
            except (sql.exc.SQLAlchemyError, psycopg.Error) as error:
                since = time.monotonic() if since is None else since
                is_lost = self._is_lost(error)
                self.close()
                if not is_lost or time.monotonic() - since > _PATIENCE:
                    raise self._in_words(error) from None
                time.sleep(pause)
                pause = min(2.0 * pause, 1.0)

    def _is_lost(self, error: Exception) -> bool:
        """Return whether a new connection may succeed: the server restarts, or was reached before."""
        if getattr(error, "connection_invalidated", False):
            return True
        cause = getattr(error, "orig", error)
        state = getattr(cause, "sqlstate", None)
        if state in _RESTARTING or "starting up" in str(cause) or "shutting down" in str(cause):
            return True
        return self._is_known and isinstance(cause, psycopg.OperationalError) and state is None

    def _in_words(self, error: Exception) -> Exception:
        """Return an error with a remedy, and without a password."""
        cause = getattr(error, "orig", error)
        said = scrubbed(" ".join(str(cause).split()), self._secrets)
        state = getattr(cause, "sqlstate", None) or ""
        if state in _REMEDIES:
            kind = ValueError if state == "22P05" else TimeoutError
            return kind(f"{self.where} cannot run the statement, got: {said}; {_REMEDIES[state]}")
        number = _ERRORS.get(state)
        if number is not None:
            return in_words(OSError(number, os.strerror(number), self.where), self.where)
        if isinstance(cause, psycopg.OperationalError):
            return ConnectionError(
                f"{self.where} must be reachable, got: {said}; check that the server runs, and check the"
                " user, the password and the database of the URL. Earlier saved data is not lost"
            )
        return ValueError(f"{self.where} must be a database with tables of cmab, got the error: {said}")


def _closed(connection: Any, process: int) -> None:
    if process == os.getpid():
        connection.close()
    else:
        _INHERITED.append(connection)
