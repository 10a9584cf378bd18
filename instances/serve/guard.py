"""The guard before all pages: hosts, sizes, origins, sessions and headers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from instances.serve.access import Access

Scope = dict[str, Any]
Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]

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
_LONGEST_ADDRESS = 4_000


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
        self._app, self._access, self._hosts, self._most = app, access, {*hosts}, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(raw=message["headers"])
                sent.update(HEADERS)
                if not scope["path"].startswith("/static/"):
                    sent["Cache-Control"] = "no-store"
                message["headers"] = sent.raw
            await send(message)

        refused = self._refusal(scope, headers)
        if refused is None:
            request = Request(scope)
            scope.setdefault("state", {})["session"] = self._access.session_of(request)
            refused = self._access.refusal(request)
        if refused is not None:
            await refused(scope, receive, send_with_headers)
            return
        await self._app(scope, self._limited(receive), send_with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the refusal of a request, or None."""
        if headers.get("host", "").lower() not in self._hosts or len(headers.getlist("host")) != 1:
            return PlainTextResponse("This address is not served here.", 421)
        if scope["method"] not in _METHODS:
            return PlainTextResponse("This method is not supported.", 405)
        if len(scope["path"]) + len(scope.get("query_string", b"")) > _LONGEST_ADDRESS:
            return PlainTextResponse("The address is too long.", 414)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            return PlainTextResponse("The length of the request is not valid.", 400)
        if len(length) > 15 or int(length) > self._most:
            return self._too_large()
        if scope["method"] == "POST" and not self._is_from_here(headers):
            return PlainTextResponse("The request comes from another page.", 403)
        return None

    def _is_from_here(self, headers: Headers) -> bool:
        """Return False if the browser says that a request comes from another page. Programs do not say."""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        return origin is None or urlsplit(origin).netloc.lower() == headers["host"].lower()

    def _too_large(self) -> Response:
        return PlainTextResponse(f"The request must have at most {self._most:,} bytes.", 413)

    def _limited(self, receive: Receive) -> Receive:
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
