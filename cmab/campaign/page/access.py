"""Access to the page: its key, and the guard against other pages, other hosts and large requests."""

from __future__ import annotations

import hmac
import secrets
import tempfile
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Refusal(Exception):
    """A request that is refused, with the status of HTTP and the sentence for the reader."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def key_in(folder: Path) -> str:
    """Return the key of the page of a folder, the same after each start until its file is deleted."""
    file = folder / ".page-key"
    if not file.is_file():
        # The file is readable for its owner only from its first byte.
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as new:
            new.write(secrets.token_urlsafe(32))
        Path(new.name).replace(file)
    return file.read_text(encoding="utf-8")


#: Nothing is loaded from elsewhere, only the script of this page runs, and no other page can frame it.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_CLOSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Campaigns</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/page.css">
<main class="wide"><h1>This page needs its key</h1>
<p>Open the whole address that <code>cmab serve</code> printed in the terminal, which contains the key.
A bookmark of that address works, too: the key stays the same.</p></main></html>"""


class Guard:
    """Refuse requests from other pages, without the key, or that are too large.

    Parameters
    ----------
    app : callable
        The application behind the guard.
    key : str
        The key of the page. Its address with the key gives a cookie with the key to the browser.
    port : int
        The port, which is part of the name of the cookie, because browsers share cookies between ports.
    most_bytes : int
        The longest body of a request.
    """

    def __init__(self, app: ASGIApp, key: str, port: int, most_bytes: int) -> None:
        self.app, self.key, self._most = app, key, most_bytes
        self._cookie = f"cmab-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        total = 0

        async def limited() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self._most:
                raise HTTPException(413)
            return message

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(raw=message["headers"])
                sent.update(HEADERS)
                sent["Cache-Control"] = "no-cache" if scope["path"].startswith("/static/") else "no-store"
                message["headers"] = sent.raw
            await send(message)

        refused = self._answer(Request(scope))
        await (self.app if refused is None else refused)(scope, limited, send_with_headers)

    def _answer(self, request: Request) -> Response | None:
        """Return the answer to a request that is not passed on."""
        host = request.headers.get("host", "").lower()
        # Browsers send the origin of each form; that of a form of another page is another one.
        if request.method == "POST" and request.headers.get("origin", "").lower().partition("://")[2] != host:
            return PlainTextResponse("The request comes from another page.", 403)
        if request.url.path == "/" and self._is_key(request.query_params.get("key", "")):
            response = RedirectResponse("/", 303)
            response.set_cookie(self._cookie, self.key, httponly=True, samesite="lax")
            return response
        if request.url.path.startswith("/static/") or self._is_key(request.cookies.get(self._cookie, "")):
            return None
        return HTMLResponse(_CLOSED, 403)

    def _is_key(self, given: str) -> bool:
        """Return whether a text is the key, in a time that does not depend on its contents."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.key.encode())
