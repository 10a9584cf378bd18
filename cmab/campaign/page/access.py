"""Access to the page: users, sessions, a limit on failed logins, and the guard."""

from __future__ import annotations

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
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response


class Refusal(Exception):
    """A request that is refused, with the status of HTTP and the sentence for the reader."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


# Users


_NAME = re.compile(r"[\w.@-]{1,64}")
#: The fewest and the most characters of a password.
SHORTEST, LONGEST = 10, 1_000


def checked_user(path: Path, name: str, password: str) -> str | None:
    """Return the hash of a user if the password is right, else None; both take the same time."""
    from argon2 import PasswordHasher
    from argon2.exceptions import InvalidHashError, VerificationError

    kept = read_users(path).get(name)
    try:
        PasswordHasher().verify(kept or _decoy(), password[:LONGEST].encode("utf-8", "replace"))
    except (VerificationError, InvalidHashError):
        return None
    return kept


@cache
def _decoy() -> str:
    """Return the hash of an unknown password, for unknown names."""
    from argon2 import PasswordHasher

    return str(PasswordHasher().hash(os.urandom(32)))


def read_users(path: Path) -> dict[str, str]:
    """Return the hashes of the passwords in the table ``[users]`` of a TOML file, by name.

    A ``ValueError`` has a message without hashes. The file is read at each request, so that users can be
    added and removed while the page runs.
    """
    try:
        users = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("users", {})
        is_valid = all(kept.startswith("$argon2id$") for kept in users.values())
    except (ValueError, AttributeError):
        is_valid = False
    if not is_valid:
        raise ValueError(
            f"{path} must be a TOML file with a table [users] of argon2id hashes; add users with --add-user"
        )
    return dict(users)


def add_user(path: Path, name: str, password: str) -> None:
    """Add a user to a file, or replace the password of a user.

    Raises
    ------
    ValueError
        If the name or the password is not allowed.
    """
    from argon2 import PasswordHasher

    if not _NAME.fullmatch(name):
        raise ValueError(f"a user must have a name of letters, digits and . _ - @, got {name!r}")
    if not SHORTEST <= len(password) <= LONGEST:
        raise ValueError(f"a password must have at least {SHORTEST} characters, got {len(password)}")
    users = read_users(path) if path.exists() else {}
    users[name] = str(PasswordHasher().hash(password))
    rows = "".join(f"{json.dumps(name)} = {json.dumps(kept)}\n" for name, kept in users.items())
    write_privately(path, f"# Users of the page, with argon2 hashes of their passwords.\n[users]\n{rows}")


def write_privately(path: Path, text: str) -> None:
    """Write a file that is readable for its owner only from its first byte, and is replaced at once."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    Path(file.name).replace(path)


# Sessions, in memory only


#: A session ends after this time without a request, and after this time in any case, in seconds.
IDLE, LONGEST_SESSION = 3_600.0, 43_200.0
#: Failed logins that are allowed to one address in this time.
_ATTEMPTS, _SECONDS = 10, 300.0
#: The files that need no session.
STATIC = ("/static/page.css", "/static/page.js", "/static/icon.svg", "/favicon.ico")
_CLOSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Campaigns</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/page.css">
<main class="wide"><h1>This page needs its key</h1>
<p>Open the whole address that <code>cmab serve</code> printed in the terminal, which contains the key.
A bookmark of that address works, too: the key stays the same.</p></main></html>"""
_OPENED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Campaigns</title>
<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Continue</a></p></html>"""


@dataclass
class WebSession:
    """A session of a browser, which ends when the password of the user is changed."""

    user: str
    password: str = ""
    begun: float = field(default_factory=time.monotonic)
    used: float = field(default_factory=time.monotonic)
    #: The sentence about the last action, which the next page shows once, and a link with its words.
    told: tuple[str, ...] = ()
    #: The answers to the last forms, by a hash of the form, so that a double click has one effect.
    done: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    #: The form of a new campaign that is not made yet, and its file.
    upload: tuple[str, Any] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_over(self) -> bool:
        """Whether the session has ended."""
        now = time.monotonic()
        return now - self.used > IDLE or now - self.begun > LONGEST_SESSION


class Access:
    """The sessions of a page, and the ways to begin one.

    Parameters
    ----------
    users : Path, optional
        The file of the users. Without it, the token opens the page.
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
        users: Path | None,
        *,
        owner: str,
        port: int,
        token: str | None = None,
        is_secure: bool = False,
    ) -> None:
        self.users, self.owner, self.is_secure = users, owner, is_secure
        self.token = token or secrets.token_urlsafe(32)
        self.cookie = f"cmab-{port}"
        self.sessions: dict[str, WebSession] = {}
        self._checking = threading.Lock()
        self._failed: dict[str, list[float]] = {}

    def key_of(self, request: Request) -> str:
        """Return the key of the session of a request."""
        return request.cookies.get(self.cookie, "")

    def session_of(self, request: Request) -> WebSession | None:
        """Return the session of a request, or None."""
        key = self.key_of(request)
        session = self.sessions.get(key)
        if session is None or session.is_over or not self._is_user(session):
            self.sessions.pop(key, None)
            return None
        session.used = time.monotonic()
        return session

    def _is_user(self, session: WebSession) -> bool:
        """Return whether the user of a session is in the file, with the same password."""
        try:
            return self.users is None or read_users(self.users).get(session.user) == session.password
        except (OSError, ValueError):  # without a valid file, everybody is logged out
            return False

    def refusal(self, request: Request) -> Response | None:
        """Return the answer to a request without a session, which is the same for all addresses."""
        path = request.url.path
        if path == "/" and self.users is None and "token" in request.query_params:
            if not _is_same(request.query_params["token"], self.token):
                return HTMLResponse(_CLOSED, 403)
            # A page that leads on, not a redirection: the browser then sends the strict cookie.
            response = HTMLResponse(_OPENED)
            self.give(response, self.begin(WebSession(self.owner)))
            return response
        is_login = self.users is not None and path == "/login"
        if request.state.session is not None or path in STATIC or is_login:
            return None
        return HTMLResponse(_CLOSED, 403) if self.users is None else RedirectResponse("/login", 303)

    def begin(self, session: WebSession) -> str:
        """Begin a session, and return its secret key."""
        key = secrets.token_urlsafe(32)
        self.sessions = {each: kept for each, kept in self.sessions.items() if not kept.is_over}
        self.sessions[key] = session
        return key

    def log_in(self, name: str, password: str, request: Request) -> str:
        """Return the key of a new session of a user.

        Raises
        ------
        Refusal
            If the name or the password is wrong, or after too many failed attempts from this address.
        """
        if self.users is None:
            raise Refusal(404, "There is no such page.")
        where = "" if request.client is None else request.client.host
        # One password at a time: a check takes 64 MB, and attempts at the same moment count as well.
        with self._checking:
            now = time.monotonic()
            recent = {
                each: [at for at in times if now - at < _SECONDS] for each, times in self._failed.items()
            }
            self._failed = {each: times for each, times in recent.items() if times}
            failed = self._failed.get(where, [])
            if len(failed) >= _ATTEMPTS:
                minutes = math.ceil((_SECONDS - (now - failed[0])) / 60.0)
                raise Refusal(429, f"Too many failed attempts. Try again in {minutes} min.")
            try:
                kept = checked_user(self.users, name, password)
            except (OSError, ValueError):
                raise Refusal(503, "Nobody can log in, because the file of users is not valid.") from None
            if kept is None:
                self._failed[where] = [*failed, now]
                raise Refusal(403, "The name or the password is wrong.")
            self._failed.pop(where, None)
        return self.begin(WebSession(name, kept))

    def give(self, response: Response, key: str) -> None:
        """Set the cookie of a session."""
        response.set_cookie(
            self.cookie, key, httponly=True, samesite="strict", secure=self.is_secure, path="/"
        )


def _is_same(given: str, secret: str) -> bool:
    """Return whether two secrets are equal, in a time that does not depend on their contents."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


# The guard


#: Nothing is loaded from elsewhere, only the script of this page runs, and no other page can frame it.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
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
        total = 0

        async def limited() -> Any:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self._most:
                raise HTTPException(413)
            return message

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(raw=message["headers"])
                sent.update(HEADERS)
                if not scope["path"].startswith("/static/"):
                    sent["Cache-Control"] = "no-store"
                message["headers"] = sent.raw
            await send(message)

        refused = self._refusal(Request(scope))
        await (self.app if refused is None else refused)(scope, limited, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        request.state.session, host = None, request.headers.get("host", "").lower()
        if host not in self._hosts:
            return PlainTextResponse("This address is not served here.", 421)
        # Browsers send the origin of each form; that of a form of another page is another one.
        if request.method == "POST" and request.headers.get("origin", "").lower().partition("://")[2] != host:
            return PlainTextResponse("The request comes from another page.", 403)
        request.state.session = self._access.session_of(request)
        return self._access.refusal(request)
