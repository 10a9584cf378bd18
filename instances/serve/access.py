"""Access to the page: the token in the address, or users with roles."""

from __future__ import annotations

import math
import secrets
import threading

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from instances.serve.refusals import Refusal
from instances.serve.sessions import Attempts, Sessions, WebSession, is_same
from instances.serve.users import Users, may

#: Failed attempts that are allowed in five minutes: of one user, and in all.
_OF_A_USER, _IN_ALL, _SECONDS = 5, 50, 300.0
#: The files that need no session.
STATIC = ("/static/page.css", "/static/icon.svg", "/favicon.ico")
_CLOSED = "Open the address that `cmab serve` printed when it started; it contains the key to this page."


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
    is_secure : bool
        Whether the page is served with TLS.
    """

    def __init__(self, users: Users | None, *, owner: str, port: int, is_secure: bool = False) -> None:
        self.users, self.owner, self.is_secure = users, owner, is_secure
        self.token = secrets.token_urlsafe(32)
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
        if not key:
            return None
        if self.users is None:
            if self.is_program(request) and is_same(key, self.token):
                return WebSession(self.owner, "decide", "", 0.0, 0.0)
            return self.sessions.find(key)
        session = self.sessions.find(key)
        if session is None:
            return None
        try:
            self.users.reread()
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
            return PlainTextResponse(_CLOSED, 403)
        return RedirectResponse("/login", 303)

    def open_with_token(self, request: Request) -> Response:
        """Begin a session with the token of the address; the next page has an address without it."""
        # The right token always opens the page, so that attempts of a stranger do not lock the owner out.
        if not is_same(request.query_params["token"], self.token):
            if self._all.wait("token"):
                return PlainTextResponse("Too many failed attempts. Try again later.", 429)
            self._all.fail("token")
            return PlainTextResponse(_CLOSED, 403)
        # A page that leads on, not a redirection: the browser then sends the strict cookie.
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Campaigns</title>'
            '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Continue</a></p></html>'
        )
        response = Response(page, media_type="text/html")
        self.give(response, self.sessions.begin(self.owner, "decide"))
        return response

    def log_in(self, name: str, password: str) -> str:
        """Return the key of a new session of a user.

        Raises
        ------
        Refusal
            If the name or the password is wrong, or after too many failed attempts.
        """
        assert self.users is not None
        # One password at a time: a check takes 64 MB, and attempts at the same moment count as well.
        with self._checking:
            self._check(self._all, "login")
            self._check(self._of_users, name)
            try:
                user = self.users.check(name, password)
            except (OSError, ValueError):
                raise Refusal(503, "Nobody can log in, because the file of users is not valid.") from None
            if user is None:
                self._all.fail("login")
                self._of_users.fail(name)
                raise Refusal(403, "The name or the password is wrong.")
            self._of_users.succeed(name)
        return self.sessions.begin(user.name, user.role, user.password)

    def _check(self, attempts: Attempts, key: str) -> None:
        if seconds := attempts.wait(key):
            minutes = math.ceil(seconds / 60.0)
            raise Refusal(429, f"Too many failed attempts. Try again in {minutes} min.")

    def give(self, response: Response, key: str) -> None:
        """Set the cookie of a session."""
        response.set_cookie(
            self.cookie, key, httponly=True, samesite="strict", secure=self.is_secure, path="/"
        )


def check_role(session: WebSession, needed: str) -> None:
    """Raise `Refusal` if a session may not do something."""
    if not may(session.role, needed):  # type: ignore[arg-type]
        raise Refusal(403, f"Your role is {session.role}. This needs the role {needed}.")
