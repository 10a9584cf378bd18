"""The events of campaigns in one table of a SQL database: SQLite, or PostgreSQL for many workers.

An event is one ``INSERT`` with its expected number, which is part of the primary key. A writer that was
overtaken inserts nothing, reads the newer events and tries again, so no lock is held between two statements.
"""

from __future__ import annotations

import json
import logging
import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, InterfaceError, OperationalError

from cmab.errors import (
    DamagedStoreError,
    NewerVersionError,
    StoreTimeoutError,
    StoreUnreachableError,
)
from cmab.validation import shown

#: The format of the tables. A campaign of a larger format is refused.
FORMAT = 1
#: The number of events that are read at once.
_PAGE = 5_000
#: The longest pause before a call is repeated while another process writes to SQLite, in seconds. The handler
#: of SQLite waits up to 0.1 s, in which a fast writer starves the others.
_BUSY = 0.004
#: The seconds after which a repeated call is worth a warning.
_LONG = 1.0
_SQLITE_ENDINGS = (".db", ".sqlite", ".sqlite3")
#: The class of errors of PostgreSQL that mean a lost connection or a server that starts or stops.
_AWAY = ("08", "57P", "53")

Found = TypeVar("Found")
log = logging.getLogger("cmab.campaign")
_schema = sql.MetaData()
_campaigns = sql.Table(
    "cmab_campaigns",
    _schema,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.Text, nullable=False, unique=True),
    sql.Column("format", sql.Integer, nullable=False),
)
_events = sql.Table(
    "cmab_events",
    _schema,
    sql.Column("campaign", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("ticket", sql.Integer),
    sql.Column("at", sql.Double, nullable=False),
    sql.Column("author", sql.Text),
    sql.Column("key", sql.Text),
    sql.Column("body", sql.Text, nullable=False),
    sql.Index("cmab_events_ticket", "campaign", "ticket"),
    sqlite_with_rowid=False,
)
sql.Index(
    "cmab_events_key",
    _events.c.campaign,
    _events.c.key,
    unique=True,
    sqlite_where=_events.c.key.is_not(None),
    postgresql_where=_events.c.key.is_not(None),
)
_names = sql.Table(
    "cmab_names",
    _schema,
    sql.Column("campaign", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("place", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("name", sql.Text, nullable=False),
)
_snapshots = sql.Table(
    "cmab_snapshots",
    _schema,
    sql.Column("campaign", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("data", sql.LargeBinary, nullable=False),
)
_COLUMNS = [column for column in _events.c if column.name != "campaign"]
_NAMES = [column.name for column in _events.c]
#: The types of the columns that are not texts.
_KINDS = {"campaign": "int", "number": "int", "ticket": "int", "at": "float8"}
_INTO = f"INSERT INTO cmab_events ({', '.join(_NAMES)})"
_UNLESS = "ON CONFLICT DO NOTHING"
_ONE = {mark: f"{_INTO} VALUES ({', '.join([mark] * len(_NAMES))}) {_UNLESS}" for mark in ("?", "%s")}
_NEWER = {
    mark: f"SELECT {', '.join(_NAMES[1:])} FROM cmab_events WHERE campaign = {mark} AND number > {mark}"
    f" ORDER BY number LIMIT {_PAGE}"
    for mark in ("?", "%s")
}
#: Insert an event after all others, unless a newer event concerns its ticket or changes others. Its number
#: and the ticket of an ask follow the last ones that the statement sees. Another statement that has seen the
#: same ones conflicts with it, so that the condition holds at the moment of the insertion.
_LAST = f"""
    {_INTO}
    SELECT {{0}}, m.number + 1, {{2}}, COALESCE({{3}}, m.ticket + 1), {{4}}, {{5}}, {{6}}, {{7}}
    FROM (
        SELECT MAX(number) AS number, COALESCE(MAX(ticket), -1) AS ticket
        FROM cmab_events WHERE campaign = {{0}}
    ) AS m {{early}}
    WHERE NOT EXISTS (
        SELECT 1 FROM cmab_events WHERE campaign = {{0}} AND number > {{1}}
        AND (ticket = {{3}} OR kind IN ('changed', 'correct', 'undo'))
    )
    {_UNLESS} RETURNING number, ticket
"""
#: PostgreSQL answers that statement before the row is on the disk, so that it does not delay the next writer,
#: and then this one waits for the disk. Rows of other writers reach the disk in the same write.
_FLUSH = "SELECT pg_logical_emit_message(true, 'cmab', '')"


class Event(NamedTuple):
    """An event of a campaign.

    Attributes
    ----------
    number : int
        The place of the event in the campaign, from 1.
    kind : str
        What happened: ``"campaign"``, ``"changed"``, ``"ask"``, ``"tell"``, ``"cancel"``, ``"correct"``,
        ``"undo"`` or ``"forget"``.
    ticket : int or None
        The ticket that the event is about.
    at : float
        The time in seconds since 1970, by the clock of the machine that wrote the event.
    author, key : str or None
        The author, and the key of the request.
    body : dict
        The contents, with names as numbers.
    """

    number: int
    kind: str
    ticket: int | None
    at: float
    author: str | None
    key: str | None
    body: dict[str, Any]


def address_of(where: str | os.PathLike[str]) -> tuple[sql.URL, str]:
    """Return the URL of the database of a campaign and the name of the campaign in it.

    Raises
    ------
    ValueError
        If `where` is neither the path of a SQLite file nor the URL of a database.
    """
    text: Any = os.fspath(where)
    if not isinstance(text, str) or not text:
        raise ValueError(f"where must be a path or a URL, got {shown(text)}")
    text, _, name = text.partition("#") if "://" in text else (text, "", "")
    if "://" not in text:
        if Path(text).suffix not in _SQLITE_ENDINGS:
            raise ValueError(
                "where must be a file that ends with .db, .sqlite or .sqlite3, or a URL such as"
                f" postgresql://HOST/DATABASE, got {shown(text)}"
            )
        text = f"sqlite:///{text}"
    try:
        url = sql.make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError(
            "where must be a valid URL such as postgresql://USER:PASSWORD@HOST/DATABASE"
        ) from None
    if url.get_backend_name() == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    elif url.get_backend_name() == "sqlite" and url.database:
        url = url.set(database=str(Path(url.database).absolute()))
    else:
        raise ValueError(f"where must be a SQLite file or a PostgreSQL database, got {url!r}")
    return url, name or "campaign"


class Store:
    """The events of one campaign.

    Parameters
    ----------
    where : str or path-like
        The path or the URL, as in `Campaign`.
    timeout : float
        The number of seconds that a call waits for the database at most.
    """

    def __init__(self, where: str | os.PathLike[str], timeout: float = 120.0) -> None:
        self.url, self.name = address_of(where)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.timeout, self._mark = timeout, "?" if self.is_sqlite else "%s"
        self.id: int | None = None
        #: The numbers of repeated calls and of overtaken writes, for `Campaign.health`.
        self.repeated = self.overtaken = 0
        self._deadline = threading.local()
        options: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "pool_reset_on_return": None}
        if self.is_sqlite:
            options["connect_args"] = {"timeout": 0.0}
        else:
            options["connect_args"] = {"connect_timeout": max(2, int(min(timeout, 10.0)))}
        self._engine = sql.create_engine(self.url, **options)
        if self.is_sqlite:
            sql.event.listen(self._engine, "connect", _durable)
        weakref.finalize(self, self._engine.dispose).atexit = False
        _stores.add(self)

    @property
    def where(self) -> str:
        """The address for messages, without the password."""
        if self.is_sqlite:
            return str(self.url.database) + ("" if self.name == "campaign" else f"#{self.name}")
        return f"{self.url.set(drivername='postgresql').render_as_string()}#{self.name}"

    @property
    def address(self) -> str:
        """The address that opens the campaign again, with the password."""
        backend = "sqlite" if self.is_sqlite else "postgresql"
        return f"{self.url.set(drivername=backend).render_as_string(hide_password=False)}#{self.name}"

    def close(self) -> None:
        """Close all connections; the next call opens them again."""
        self._engine.dispose()

    @contextmanager
    def within(self, timeout: float | None) -> Iterator[None]:
        """Set the deadline of the calls of this thread in a block; None for the usual timeout."""
        outer = getattr(self._deadline, "at", None)
        if outer is None or timeout is not None:
            self._deadline.at = time.monotonic() + (self.timeout if timeout is None else timeout)
        try:
            yield
        finally:
            self._deadline.at = outer

    def left(self) -> float:
        """Return the seconds until the deadline of this thread."""
        at = getattr(self._deadline, "at", None)
        return self.timeout if at is None else max(0.0, at - time.monotonic())

    def exists(self) -> bool:
        """Return whether the campaign exists, and find its number."""
        if self.id is None:
            if self.is_sqlite and not _has_content(Path(str(self.url.database))):
                return False
            self.id = self._call(self._found)
        return self.id is not None

    def create(self, events: Sequence[Event], names: Sequence[str]) -> bool:
        """Create the campaign with its first events and names; return False if another process did."""

        def made(connection: sql.Connection) -> bool:
            _schema.create_all(connection)
            with _transaction(connection):
                added = connection.execute(
                    sql.text(f"INSERT INTO cmab_campaigns (name, format) VALUES (:name, :format) {_UNLESS}"),
                    {"name": self.name, "format": FORMAT},
                )
                if not added.rowcount:
                    return False
                self.id = self._row_of_campaign(connection)[0]
                self._insert(connection, events, names, 0)
            return True

        if self.is_sqlite:
            Path(str(self.url.database)).parent.mkdir(parents=True, exist_ok=True)
        return self._call(made)

    def append(self, events: Sequence[Event], names: Sequence[str] = (), n_names: int = 0) -> bool:
        """Add events with their expected numbers, all or none; return False if the writer was overtaken.

        Parameters
        ----------
        events : sequence of Event
            The events, with consecutive numbers.
        names : sequence of str
            New names, which are stored together with the events.
        n_names : int
            The number of names before these.
        """
        attempts = 0

        def added(connection: sql.Connection) -> bool:
            nonlocal attempts
            attempts += 1
            if len(events) == 1 and not names:
                # The statement of the driver takes less time than one that SQLAlchemy compiles.
                values = tuple(self._parameters(events[0])[name] for name in _NAMES)
                is_added = connection.exec_driver_sql(_ONE[self._mark], values).rowcount == 1
            else:
                with _transaction(connection) as transaction:
                    is_added = self._insert(connection, events, names, n_names)
                    transaction.is_kept = is_added
            # After a lost answer, the first attempt may have stored the events.
            return is_added or (attempts > 1 and self._has(connection, events[-1]))

        is_added = self._call(added)
        self.overtaken += not is_added
        return is_added

    def add(self, event: Event, known: int) -> Event | None:
        """Add a report, or an ask without a ticket, after all events, although some were not read yet.

        Parameters
        ----------
        event : Event
            The event. Its number has no effect, and an ask gets the next ticket.
        known : int
            The number of events that were read.

        Returns
        -------
        Event or None
            The stored event, or None if a newer event concerns the ticket or changes other events.
        """
        attempts = 0

        def added(connection: sql.Connection) -> Event | None:
            nonlocal attempts
            attempts += 1
            given = self._parameters(event) | {"number": known}
            if event.kind == "ask":
                given["ticket"] = None
            statement = _LAST_SQLITE if self.is_sqlite else _LAST_POSTGRESQL
            row = connection.exec_driver_sql(statement, given).first()
            stored = None if row is None else event._replace(number=row[0], ticket=row[1])
            if stored is None and attempts > 1:  # after a lost answer, the first attempt may have stored it
                stored = next((one for one in self._after(connection, known) if _is_same(one, event)), None)
            if stored is not None and not self.is_sqlite:
                connection.exec_driver_sql(_FLUSH)
            return stored

        found = self._call(added)
        self.overtaken += found is None
        return found

    def _after(self, connection: sql.Connection, known: int) -> Iterator[Event]:
        query = sql.select(*_COLUMNS).where((_events.c.campaign == self.id) & (_events.c.number > known))
        return map(self._event, connection.execute(query).all())

    def read(self, after: int = 0, *, kinds: Sequence[str] = ()) -> Iterator[Event]:
        """Yield the events after a number, of all kinds or of these; raise `DamagedStoreError` at a gap."""
        query = sql.select(*_COLUMNS).where(_events.c.campaign == self.id).order_by(_events.c.number)
        if kinds:
            query = query.where(_events.c.kind.in_(kinds))
        query = query.where(_events.c.number > sql.bindparam("after")).limit(_PAGE)
        while True:
            rows = self._call(lambda connection: connection.execute(query, {"after": after}).all())  # noqa: B023
            for row in rows:
                if not kinds and row[0] != after + 1:
                    raise DamagedStoreError(f"{self.where} must have event {after + 1}, got {row[0]} next")
                after = row[0]
                yield self._event(row)
            if len(rows) < _PAGE:
                return

    def newer(self, after: int) -> list[Event]:
        """Return the events after a number, with a statement of the driver, which takes little time."""
        given = (self.id, after)
        rows = self._call(lambda one: one.exec_driver_sql(_NEWER[self._mark], given).all())
        if not rows:
            return []
        if len(rows) == _PAGE or rows[0][0] != after + 1:
            return list(self.read(after))
        return list(map(self._event, rows))

    def of_ticket(self, ticket: int) -> list[Event]:
        """Return the events of a ticket, oldest first."""
        return self._select(_events.c.ticket == ticket)

    def at(self, number: int) -> Event | None:
        """Return the event with a number."""
        return next(iter(self._select(_events.c.number == number)), None)

    def with_key(self, key: str) -> Event | None:
        """Return the event with a key."""
        return next(iter(self._select(_events.c.key == key)), None)

    def last(self, kinds: Sequence[str], without: Iterable[int]) -> Event | None:
        """Return the last event of some kinds whose number is not in `without`."""
        without, before = set(without), 2**31 - 1
        while True:
            found = self._select(
                _events.c.kind.in_(kinds) & (_events.c.number < before), newest_first=True, most=100
            )
            for event in found:
                if event.number not in without and not event.body.get("expired"):
                    return event
            if len(found) < 100:
                return None
            before = found[-1].number

    def count(self) -> int:
        """Return the number of events."""
        query = sql.select(sql.func.max(_events.c.number)).where(_events.c.campaign == self.id)
        return int(self._call(lambda connection: connection.execute(query).scalar()) or 0)

    def names(self) -> list[str]:
        """Return the names in the order of their places."""
        query = sql.select(_names.c.name).where(_names.c.campaign == self.id).order_by(_names.c.place)
        return list(self._call(lambda connection: connection.execute(query).scalars().all()))

    def forget(self, place: int, name: str, event: Event) -> bool:
        """Replace a name, and add the event that says so; return False if the writer was overtaken."""

        def replaced(connection: sql.Connection) -> bool:
            with _transaction(connection) as transaction:
                transaction.is_kept = self._insert(connection, [event], (), 0)
                change = sql.update(_names).values(name=name)
                change = change.where((_names.c.campaign == self.id) & (_names.c.place == place))
                connection.execute(change)
                return transaction.is_kept

        return self._call(replaced)

    def snapshots(self) -> list[int]:
        """Return the numbers of the events of the stored snapshots, the latest first."""
        query = sql.select(_snapshots.c.number).where(_snapshots.c.campaign == self.id)
        return sorted(self._call(lambda connection: connection.execute(query).scalars().all()), reverse=True)

    def snapshot(self, number: int) -> bytes | None:
        """Return the snapshot after an event."""
        query = sql.select(_snapshots.c.data).where(
            (_snapshots.c.campaign == self.id) & (_snapshots.c.number == number)
        )
        return self._call(lambda connection: connection.execute(query).scalar())

    def keep_snapshot(self, number: int, data: bytes) -> None:
        """Store a snapshot, and drop all but this one and the one before."""
        own = _snapshots.c.campaign == self.id
        old = [one for one in self.snapshots() if one < number][1:]

        def kept(connection: sql.Connection) -> None:
            with _transaction(connection):
                connection.execute(
                    sql.delete(_snapshots).where(own & _snapshots.c.number.in_([*old, number]))
                )
                row = {"campaign": self.id, "number": number, "data": data}
                connection.execute(sql.insert(_snapshots), row)

        self._call(kept)

    def _select(self, condition: Any, *, newest_first: bool = False, most: int = _PAGE) -> list[Event]:
        order = _events.c.number.desc() if newest_first else _events.c.number
        query = sql.select(*_COLUMNS).where((_events.c.campaign == self.id) & condition)
        query = query.order_by(order).limit(most)
        return list(map(self._event, self._call(lambda connection: connection.execute(query).all())))

    def _found(self, connection: sql.Connection) -> int | None:
        if not sql.inspect(connection).has_table(_campaigns.name):
            return None
        row = self._row_of_campaign(connection)
        if row is None:
            return None
        if row[1] > FORMAT:
            raise NewerVersionError(
                f"{self.where} must have format {FORMAT}, got {row[1]}, which a newer version of cmab wrote;"
                " update cmab"
            )
        return int(row[0])

    def _row_of_campaign(self, connection: sql.Connection) -> Any:
        query = sql.select(_campaigns.c.id, _campaigns.c.format).where(_campaigns.c.name == self.name)
        return connection.execute(query).first()

    def _insert(
        self, connection: sql.Connection, events: Sequence[Event], names: Sequence[str], n_names: int
    ) -> bool:
        """Insert events and names in a transaction; return whether all events had free numbers."""
        added = connection.execute(_MANY, list(map(self._parameters, events)))
        if names:
            rows = [
                {"campaign": self.id, "place": place, "name": name}
                for place, name in enumerate(names, n_names)
            ]
            connection.execute(sql.insert(_names), rows)
        return added.rowcount == len(events)

    def _has(self, connection: sql.Connection, event: Event) -> bool:
        query = sql.select(*_COLUMNS).where(
            (_events.c.campaign == self.id) & (_events.c.number == event.number)
        )
        row = connection.execute(query).first()
        return row is not None and self._event(row) == event

    def _parameters(self, event: Event) -> dict[str, Any]:
        body = json.dumps(event.body, separators=(",", ":"), ensure_ascii=False)
        return {**event._asdict(), "campaign": self.id, "body": body}

    def _event(self, row: Any) -> Event:
        try:
            return Event._make((*row[:-1], json.loads(row[-1])))
        except ValueError:
            raise DamagedStoreError(f"{self.where}: event {row[0]} must have a body in JSON") from None

    def _call(self, work: Callable[[sql.Connection], Found]) -> Found:
        """Return the result of `work` on a connection; repeat it while the database is busy or away."""
        with self.within(None):
            begun, pause = time.monotonic(), 0.05
            while True:
                try:
                    with _calls if self.is_sqlite else nullcontext(), self._engine.connect() as connection:
                        return work(connection)
                except (OperationalError, InterfaceError, DatabaseError) as error:
                    left = self.left()
                    self._check_repeatable(error, left)
                    self.repeated += 1
                    if not self.is_sqlite or time.monotonic() - begun > _LONG:
                        log.warning("%s: %s; the call is repeated", self.where, _reason(error))
                        begun = time.monotonic()
                    if self.is_sqlite:
                        time.sleep(random.uniform(0.0, min(_BUSY, left)))
                        continue
                    self._engine.dispose()
                    time.sleep(min(pause, left))
                    pause = min(2.0 * pause, 1.0)

    def _check_repeatable(self, error: DBAPIError, left: float) -> None:
        """Raise the typed error of the campaign, unless the call can be repeated."""
        reason = f"{self.where}: {_reason(error)}"
        code = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None) or ""
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise DamagedStoreError(f"{reason}; restore a backup") from error
        is_busy = code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
        is_away = not self.is_sqlite and (error.connection_invalidated or not code or code.startswith(_AWAY))
        if is_busy and left <= 0.0:
            raise StoreTimeoutError(f"{reason}; repeat the call later, or pass a larger timeout") from error
        if not is_busy and (not is_away or left <= 0.0):
            raise StoreUnreachableError(f"{reason}; check the address, the server and its rights") from error


_MANY = sql.text(f"{_INTO} VALUES ({', '.join(f':{name}' for name in _NAMES)}) {_UNLESS}")
_LAST_SQLITE = _LAST.format(*(f":{name}" for name in _NAMES), early="")
_LAST_POSTGRESQL = _LAST.format(
    *(f"%({name})s::{_KINDS.get(name, 'text')}" for name in _NAMES),
    early=", (SELECT set_config('synchronous_commit', 'off', true)) AS s",
)
_stores: weakref.WeakSet[Store] = weakref.WeakSet()


class _Transaction:
    """Whether a transaction is to be kept at its end."""

    is_kept = True


@contextmanager
def _transaction(connection: sql.Connection) -> Iterator[_Transaction]:
    """Run a block in a transaction of a connection that otherwise commits each statement."""
    connection.exec_driver_sql("BEGIN")
    transaction = _Transaction()
    try:
        yield transaction
    except BaseException:
        if not connection.invalidated:
            connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT" if transaction.is_kept else "ROLLBACK")


def _durable(connection: Any, _: Any) -> None:
    """Let SQLite write ahead, and wait for the disk at the end of each transaction."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _is_same(stored: Event, event: Event) -> bool:
    """Return whether a stored event is this one, apart from its number and the ticket of an ask."""
    return stored._replace(number=0, ticket=0) == event._replace(number=0, ticket=0)


def _reason(error: DBAPIError) -> str:
    return " ".join(str(error.orig).split())


def copy_campaign(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Copy all events of a campaign to a new campaign in a file or a database.

    The events keep their numbers and times. The source can be in use; events that it gets later are not
    copied. To move a campaign, first stop all its processes.

    Parameters
    ----------
    source, target : str or path-like
        The paths or the URLs of the campaigns, as in `Campaign`. The target must not exist.

    Returns
    -------
    int
        The number of copied events.

    Raises
    ------
    ValueError
        If the source is damaged or is not a campaign, or if the target exists.
    OSError
        If the source cannot be read or the target cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign, copy_campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, second = pathlib.Path(folder, "first.db"), pathlib.Path(folder, "second.db")
    ...     request = Campaign(CUCB(TopK(5, k=2)), first, rng=0).ask()
    ...     copied = copy_campaign(first, second)
    ...     copied, Campaign(CUCB(TopK(5, k=2)), second).pending
    (2, (0,))
    """
    old, new = Store(source), Store(target)
    try:
        if not old.exists():
            raise ValueError(f"source must be a campaign, got {old.where}, which has none")
        events = list(old.read())
        if new.exists() or not new.create(events, old.names()):
            raise ValueError(f"target must be a new campaign, got {new.where}, which exists")
    finally:
        old.close()
        new.close()
    return len(events)


class _Calls:
    """The running calls of SQLite in this process, which a fork waits for.

    A child cannot use a connection of its parent, and SQLite keeps the locks of a file for the whole process.
    All connections are therefore closed before a fork.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._running, self._is_forking = 0, False

    def __enter__(self) -> None:
        with self._condition:
            self._condition.wait_for(lambda: not self._is_forking)
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._condition:
            self._running -= 1
            self._condition.notify_all()

    def before_fork(self) -> None:
        """Wait until no call runs, let none begin, and close the connections."""
        self._condition.acquire()
        self._is_forking = True
        self._condition.wait_for(lambda: not self._running)
        for store in list(_stores):
            if store.is_sqlite:
                store.close()

    def after_fork(self) -> None:
        """Let calls begin again, in the parent."""
        self._is_forking = False
        self._condition.notify_all()
        self._condition.release()

    def in_child(self) -> None:
        """Begin anew in the child; the connections of other databases belong to the parent."""
        self._condition, self._is_forking = threading.Condition(), False
        for store in list(_stores):
            store._deadline = threading.local()
            if not store.is_sqlite:
                store._engine.dispose(close=False)


_calls = _Calls()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_calls.before_fork, after_in_parent=_calls.after_fork, after_in_child=_calls.in_child
    )
