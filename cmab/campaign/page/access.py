"""Access to the page: users with roles, sessions, limits on failed logins, and the guard before all pages."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
import secrets
import tempfile
import threading
import time
import tomllib
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from cmab.validation import meant

Role = Literal["read", "report", "decide"]
#: The roles from the least to the most powerful.
ROLES: tuple[Role, ...] = get_args(Role)


class Refusal(Exception):
    """A request that is refused.

    Parameters
    ----------
    status : int
        The status of HTTP.
    message : str
        The sentence for the reader.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def may(role: Role, needed: Role) -> bool:
    """Return whether a role includes another.

    Examples
    --------
    >>> from cmab.campaign.page.access import may
    >>> may("decide", "report"), may("read", "report")
    (True, False)
    """
    return ROLES.index(role) >= ROLES.index(needed)


# Users


_NAME = re.compile(r"[\w.@-]{1,64}")
#: The fewest and the most characters of a password.
SHORTEST, LONGEST = 10, 1_000


@dataclass(frozen=True)
class User:
    """A user of the page: a name, the hash of the password and a role."""

    name: str
    password: str
    role: Role


class Users:
    """The users of a file in TOML: a table ``[users.NAME]`` with `password` (an argon2 hash) and `role`.

    The file is read again if it changes, so that users can be added and removed while the page runs.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    ValueError
        If the file is not valid.
    OSError
        If the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_at: tuple[int, int] | None = None
        self._users: dict[str, User] = {}
        self.get("")

    def get(self, name: str) -> User | None:
        """Return a user as the file is now, or None."""
        found = self.path.stat()
        at = (found.st_mtime_ns, found.st_size)
        if at != self._read_at:
            self._users, self._read_at = read_users(self.path), at
        return self._users.get(name)

    def check(self, name: str, password: str) -> User | None:
        """Return the user if the password is right, else None; both take the same time."""
        from argon2.exceptions import InvalidHashError, VerificationError

        user = self.get(name)
        try:
            given = password[:LONGEST].encode("utf-8", "replace")
            self._hasher.verify(self._decoy if user is None else user.password, given)
        except (VerificationError, InvalidHashError):
            return None
        return user

    @cached_property
    def _hasher(self) -> Any:
        return _hasher()

    @cached_property
    def _decoy(self) -> str:
        """The hash of an unknown password, for unknown names."""
        return str(self._hasher.hash(os.urandom(32)))


def _hasher() -> Any:
    from argon2 import PasswordHasher

    return PasswordHasher()


def read_users(path: Path) -> dict[str, User]:
    """Return the users of a file by name.

    Raises
    ------
    ValueError
        If the file is not valid; the message never contains a hash.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} must be a TOML file: {error}") from None
    listed = table.get("users", {})
    if set(table) - {"users"} or not isinstance(listed, dict):
        raise ValueError(f"{path} must have only tables [users.NAME], got {', '.join(table)}")
    users = {}
    for name, row in listed.items():
        if not isinstance(row, dict) or set(row) != {"password", "role"}:
            raise ValueError(f"{path}: the user {name} must have a password and a role, and nothing else")
        if row["role"] not in ROLES:
            hint = meant(str(row["role"]), ROLES)
            raise ValueError(f"{path}: the role of {name} must be one of {', '.join(ROLES)}{hint}")
        if not str(row["password"]).startswith("$argon2id$"):
            raise ValueError(
                f"{path}: the password of {name} must be an argon2id hash; add users with --add-user"
            )
        users[name] = User(name, row["password"], row["role"])
    return users


def add_user(path: Path, name: str, password: str, role: Role) -> None:
    """Add a user to a file, or replace the password and the role of a user.

    Raises
    ------
    ValueError
        If the name or the password is not allowed.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a user must have a name of letters, digits and . _ - @, got {name!r}")
    if not SHORTEST <= len(password) <= LONGEST:
        raise ValueError(f"a password must have at least {SHORTEST} characters, got {len(password)}")
    users = read_users(path) if path.exists() else {}
    users[name] = User(name, str(_hasher().hash(password)), role)
    lines = ["# Users of the page. Passwords are argon2 hashes. Roles: read, report, decide.\n"]
    for user in users.values():
        rows = {"password": user.password, "role": user.role}
        lines.append(f"\n[users.{json.dumps(user.name)}]\n")
        lines += [f"{key} = {json.dumps(value)}\n" for key, value in rows.items()]
    write_privately(path, "".join(lines))


def write_privately(path: Path, text: str) -> None:
    """Write a file that is readable for its owner only from its first byte, and is replaced at once."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    Path(file.name).replace(path)


# Sessions


#: A session ends after this time without a request, and after this time in any case, in seconds.
IDLE, LONGEST_SESSION = 3_600.0, 43_200.0
_MOST_SESSIONS, _MOST_WATCHED = 1_000, 10_000


@dataclass
class WebSession:
    """A session of a browser or a program.

    Attributes
    ----------
    user : str
        The name of the user, the author of events.
    role : {"read", "report", "decide"}
        The role of the user.
    csrf : str
        The token that each form of this session must contain.
    begun, used : float
        The times of the beginning and of the last request.
    password : str
        The hash of the password at the beginning; the session ends when the password is changed.
    told : tuple of str
        The sentence about the last action, which the next page shows once, and the address and the words of a
        link after it.
    done : dict
        The answers to the last forms, by a hash of the form, so that a double click has one effect.
    """

    user: str
    role: Role
    csrf: str = ""
    begun: float = 0.0
    used: float = 0.0
    password: str = ""
    told: tuple[str, ...] = ()
    done: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Sessions:
    """The open sessions, in memory only. Keys are stored as hashes.

    Parameters
    ----------
    clock : callable
        The clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._open: OrderedDict[str, WebSession] = OrderedDict()

    def begin(self, user: str, role: Role, password: str = "") -> str:
        """Begin a session of a user with the hash of the password, and return its secret key."""
        key, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._open[_digest(key)] = WebSession(user, role, secrets.token_urlsafe(32), now, now, password)
            while len(self._open) > _MOST_SESSIONS:
                self._open.popitem(last=False)
        return key

    def find(self, key: str) -> WebSession | None:
        """Return the open session of a key, or None; the session then stays open for another hour."""
        now = self._clock()
        with self._lock:
            session = self._open.get(_digest(key))
            if session is None:
                return None
            if now - session.used > IDLE or now - session.begun > LONGEST_SESSION:
                del self._open[_digest(key)]
                return None
            session.used = now
            self._open.move_to_end(_digest(key))
            return session

    def end(self, key: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(_digest(key), None)


class Attempts:
    """A limit on failed attempts of each key: at most `most` in `seconds`.

    Parameters
    ----------
    most : int
        The largest number of failed attempts.
    seconds : float
        The time after which a failed attempt no longer counts.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.seconds, self._lock = most, seconds, threading.Lock()
        self._failed: OrderedDict[object, deque[float]] = OrderedDict()

    def wait(self, key: object) -> float:
        """Return the seconds until the next attempt is allowed, 0 if it is allowed now."""
        with self._lock:
            times, now = self._failed.get(key, deque()), time.monotonic()
            while times and now - times[0] > self.seconds:
                times.popleft()
            return 0.0 if len(times) < self.most else self.seconds - (now - times[0])

    def check(self, key: object) -> None:
        """Raise `Refusal` if no attempt is allowed now."""
        if seconds := self.wait(key):
            minutes = math.ceil(seconds / 60.0)
            raise Refusal(429, f"Too many failed attempts. Try again in {minutes} min.")

    def fail(self, key: object) -> None:
        """Count a failed attempt."""
        with self._lock:
            self._failed.setdefault(key, deque()).append(time.monotonic())
            self._failed.move_to_end(key)
            while len(self._failed) > _MOST_WATCHED:
                self._failed.popitem(last=False)

    def succeed(self, key: object) -> None:
        """Forget the failed attempts of a key."""
        with self._lock:
            self._failed.pop(key, None)


def is_same(given: str, secret: str) -> bool:
    """Return whether two secrets are equal, in a time that does not depend on their contents."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


# Access


#: Failed attempts in five minutes that are allowed to one address: for one user, and in all.
_OF_A_USER, _IN_ALL, _SECONDS = 5, 20, 300.0
#: The files that need no session.
STATIC = ("/static/page.css", "/static/icon.svg", "/favicon.ico")
_CLOSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Campaigns</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/page.css">
<main class="wide"><h1>This page needs its key</h1>
<p>Open the whole address that <code>cmab serve</code> printed in the terminal, which contains the key.
A bookmark of that address works, too: the key stays the same.</p></main></html>"""
_OPENED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Campaigns</title>
<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Continue</a></p></html>"""


class Access:
    """The sessions of a page, and the ways to begin one.

    Parameters
    ----------
    users : Users, optional
        The users. Without them, the token opens the page with all rights.
    owner : str
        The author of events without users.
    port : int
        The port, which is part of the name of the cookie, because browsers share cookies between ports.
    token : str, optional
        The key in the address. By default, a new one.
    is_secure : bool
        Whether the page is served with TLS.
    """

    def __init__(
        self,
        users: Users | None,
        *,
        owner: str,
        port: int,
        token: str | None = None,
        is_secure: bool = False,
    ) -> None:
        self.users, self.owner, self.is_secure = users, owner, is_secure
        self.token = token or secrets.token_urlsafe(32)
        self.cookie = f"cmab-{port}"
        self.sessions = Sessions()
        self._checking = threading.Lock()
        self._of_users, self._all = Attempts(_OF_A_USER, _SECONDS), Attempts(_IN_ALL, _SECONDS)

    @staticmethod
    def is_program(request: Request) -> bool:
        """Return whether a request has the header with a key that programs send."""
        return request.headers.get("authorization", "").lower().startswith("bearer ")

    def key_of(self, request: Request) -> str:
        """Return the key of the session of a request, from the header of a program or from the cookie."""
        if self.is_program(request):
            return request.headers["authorization"].partition(" ")[2].strip()
        return request.cookies.get(self.cookie, "")

    def session_of(self, request: Request) -> WebSession | None:
        """Return the session of a request, or None. The role of a user is that of the file, at any time."""
        key = self.key_of(request)
        if self.users is None and self.is_program(request) and is_same(key, self.token):
            return WebSession(self.owner, "decide")
        session = self.sessions.find(key)
        if session is None or self.users is None:
            return session
        try:
            user = self.users.get(session.user)
        except (OSError, ValueError):  # without a valid file, everybody is logged out
            user = None
        if user is None or user.password != session.password:
            self.sessions.end(key)
            return None
        session.role = user.role
        return session

    def refusal(self, request: Request) -> Response | None:
        """Return the answer to a request without a session, which is the same for all addresses."""
        if request.url.path == "/" and self.users is None and "token" in request.query_params:
            return self.open_with_token(request)
        if request.state.session is not None or request.url.path in STATIC:
            return None
        if request.url.path in ("/login", "/api/v1/login") and self.users is not None:
            return None
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": "A valid key is required."}, 401)
        if self.users is None:
            return Response(_CLOSED, 403, media_type="text/html")
        return RedirectResponse("/login", 303)

    def open_with_token(self, request: Request) -> Response:
        """Begin a session with the token of the address; the next page has an address without it."""
        # The right token always opens the page, so that attempts of a stranger do not lock the owner out.
        if not is_same(request.query_params["token"], self.token):
            where = address_of(request)
            if self._all.wait(where):
                return PlainTextResponse("Too many failed attempts. Try again later.", 429)
            self._all.fail(where)
            return Response(_CLOSED, 403, media_type="text/html")
        # A page that leads on, not a redirection: the browser then sends the strict cookie.
        response = Response(_OPENED, media_type="text/html")
        self.give(response, self.sessions.begin(self.owner, "decide"))
        return response

    def log_in(self, name: str, password: str, where: str) -> str:
        """Return the key of a new session of a user, from the address `where`.

        Raises
        ------
        Refusal
            If the name or the password is wrong, or after too many failed attempts from this address.
        """
        assert self.users is not None
        # One password at a time: a check takes 64 MB, and attempts at the same moment count as well.
        with self._checking:
            self._all.check(where)
            self._of_users.check((where, name))
            try:
                user = self.users.check(name, password)
            except (OSError, ValueError):
                raise Refusal(503, "Nobody can log in, because the file of users is not valid.") from None
            if user is None:
                self._all.fail(where)
                self._of_users.fail((where, name))
                raise Refusal(403, "The name or the password is wrong.")
            self._of_users.succeed((where, name))
        return self.sessions.begin(user.name, user.role, user.password)

    def give(self, response: Response, key: str) -> None:
        """Set the cookie of a session."""
        response.set_cookie(
            self.cookie, key, httponly=True, samesite="strict", secure=self.is_secure, path="/"
        )


def address_of(request: Request) -> str:
    """Return the address of the computer that sends a request."""
    return "" if request.client is None else request.client.host


# The guard


_METHODS = {"GET", "HEAD", "POST"}
#: Nothing is loaded from elsewhere, no script runs, and no other page can frame this one.
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
Call = Callable[..., Awaitable[Any]]


class Guard:
    """Refuse requests to other hosts, from other pages, that are too large, or without a session.

    Parameters
    ----------
    app : callable
        The application behind the guard.
    access : Access
        The rules of access.
    hosts : collection of str
        The values of the header ``Host`` that are accepted. Others are refused, so that a foreign name that
        resolves to this machine (DNS rebinding) reaches nothing.
    most_bytes : int
        The longest body of a request.
    """

    def __init__(self, app: Any, access: Access, hosts: Collection[str], most_bytes: int) -> None:
        self.app, self._access, self._hosts, self._most = app, access, {*hosts}, most_bytes

    async def __call__(self, scope: dict[str, Any], receive: Call, send: Call) -> None:
        """Answer a request, or pass it on."""
        headers = Headers(scope=scope)

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(raw=message["headers"])
                sent.update(HEADERS)
                if not scope["path"].startswith("/static/"):
                    sent["Cache-Control"] = "no-store"
                message["headers"] = sent.raw
            await send(message)

        refused = self._refusal(scope["method"], headers)
        if refused is None:
            request = Request(scope)
            scope.setdefault("state", {})["session"] = self._access.session_of(request)
            refused = self._access.refusal(request)
        if refused is not None:
            await refused(scope, receive, send_with_headers)
            return
        await self.app(scope, self._limited(receive), send_with_headers)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        """Return the refusal of a request, or None."""
        if headers.get("host", "").lower() not in self._hosts or len(headers.getlist("host")) != 1:
            return PlainTextResponse("This address is not served here.", 421)
        if method not in _METHODS:
            return PlainTextResponse("This method is not supported.", 405)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()) or int(length) > self._most:
            return PlainTextResponse(f"The request must have at most {self._most:,} bytes.", 413)
        if method == "POST" and not self._is_from_here(headers):
            return PlainTextResponse("The request comes from another page.", 403)
        return None

    def _is_from_here(self, headers: Headers) -> bool:
        """Return False if the browser says that a request comes from another page. Programs do not say."""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        return origin is None or origin.lower().partition("://")[2] == headers["host"].lower()

    def _limited(self, receive: Call) -> Call:
        """Return a function that stops a body longer than allowed, also if its headers are wrong."""
        total = 0

        async def limited() -> Any:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self._most:
                raise HTTPException(413)
            return message

        return limited
