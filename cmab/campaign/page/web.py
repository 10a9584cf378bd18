"""The application: the context of a request, its answer as a page, errors in words, and the guard."""

from __future__ import annotations

import hmac
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import ImmutableMultiDict, MutableHeaders, UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cmab.campaign.page.store import Store, file_name
from cmab.campaign.progress import listed, outcome_in_words, when
from cmab.campaign.reports import UnreachableError

_log = logging.getLogger(__name__)
_HERE = Path(__file__).parent
#: The longest body of a request, in bytes.
MOST_BYTES = 8 * 2**20
_LARGE = f"At most {MOST_BYTES // 2**20} MB can be sent. Leave out columns that are not needed."
_CHANGED = "The campaign has changed since this page was opened. Look at it again, and repeat the action."
_DISK = "The files of the campaign cannot be read or written now. The terminal of the page has the details."
#: The sentences for the words of HTTP.
_WORDS = {
    "Not Found": "There is no such page.",
    "Method Not Allowed": "This address does not accept this kind of request.",
}
TEMPLATES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals |= {"when": when, "outcome": outcome_in_words}
TEMPLATES.filters["listed"] = listed


class File(NamedTuple):
    """An uploaded file: the name under which it is stored, and the contents."""

    name: str
    data: bytes


@dataclass
class Session:
    """What the page keeps between the requests of its owner."""

    #: The sentence about the last action, which the next page shows once, and a link with its words.
    told: tuple[str, ...] = ()
    #: The answers to the last forms, by a hash of the form, so that a double click has one effect.
    done: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    #: The form of a new campaign that is not made yet, and its file.
    upload: tuple[str, File] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Context:
    """A request with its form, the session of the page, and the campaigns.

    `form` has the fields of the form, and `files` the uploaded files. `message` is the sentence of an error
    of the form, which the page shows.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.session: Session = request.app.state.session
        self.store: Store = request.app.state.store
        self.form: ImmutableMultiDict[str, str] = ImmutableMultiDict()
        self.files: dict[str, File] = {}
        self.message = ""

    async def read(self) -> None:
        """Read the form."""
        sent = await self.request.form()
        for name, value in sent.multi_items():
            if isinstance(value, UploadFile) and value.filename:
                self.files[name] = File(file_name(value.filename), await value.read())
        texts = [(name, value) for name, value in sent.multi_items() if isinstance(value, str)]
        self.form = ImmutableMultiDict(texts)
        await sent.close()

    def text(self, name: str) -> str:
        """Return a field of the form as text without blanks around it; empty if it is missing."""
        return str(self.form.get(name, "")).strip()

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page; with a message, the status is that of a form that is not valid."""
        status, told = 400 if self.message and status == 200 else status, tuple[str, ...]()
        if status == 200:
            told, self.session.told = self.session.told, ()
        common = {"form": self.form, "message": self.message, "done": told}
        return HTMLResponse(TEMPLATES.get_template(template).render(common | values), status)

    def go(self, address: str, *told: str) -> Response:
        """Return the redirection after an action, so that a reload of the page does not repeat it.

        The next page shows the sentence `told`, with the address and the words of a link after it.
        """
        self.session.told = told
        self.session.done[self.digest] = (address, told)
        return RedirectResponse(address, 303)

    @cached_property
    def digest(self) -> str:
        """A hash of the form and its address."""
        sent = self.request.url.path, self.form.multi_items(), self.files
        return sha256(repr(sent).encode("utf-8", "replace")).hexdigest()

    def again(self) -> Response | None:
        """Return the former answer to the same form, if it was sent before: a click was a double click."""
        address, told = self.session.done.get(self.digest, ("", ()))
        return self.go(address, *told) if told else None


def shown(path: str, handler: Callable[..., Response], method: str = "GET") -> Route:
    """Return the route of a page; its handler gets the context, and the campaign and round of the address."""

    async def answer(request: Request) -> Response:
        context = request.state.context = Context(request)
        if method == "POST":
            await context.read()
        return await run_in_threadpool(respond, context, **request.path_params)

    def respond(context: Context, slug: str = "", number: int | None = None, **_: str) -> Response:
        if not slug:
            return handler(context)
        with context.store.held(slug) as opened:
            if number is None:
                return handler(context, opened)
            if not 1 <= number <= len(opened.rounds):
                raise HTTPException(404, "There is no such round.")
            return handler(context, opened, opened.rounds[number - 1])

    return Route(path, answer, methods=[method])


def acted(path: str, act: Callable[..., Sequence[str]], page: Callable[..., Response]) -> Route:
    """Return the route of a form, whose handler acts and returns the next address and a sentence.

    The form states the mark of the round, or the version of the campaign, that it was begun on. If another
    action came in between, it is refused, so that a replay changes nothing. `page` shows errors.
    """

    def respond(context: Context, *parts: Any) -> Response:
        name, now = ("mark", parts[1].mark) if len(parts) > 1 else ("version", parts[0].version)
        if context.form.get(name) != str(now):
            raise HTTPException(409, _CHANGED)
        try:
            return context.go(*act(context, *parts))
        except ValueError as error:
            context.message = shown_error(error, context.store)
            extra = {"lost": error.people} if isinstance(error, UnreachableError) else {}
            return page(context, *parts, **extra)

    return shown(path, respond, "POST")


# Errors in words


def shown_error(error: Exception, store: Store) -> str:
    """Return the sentence of an error as it is shown on the page, without folders of this machine."""
    if isinstance(error, UnicodeError):
        return "The text has characters that are not valid Unicode."
    lines = store.without_folder(str(error)).splitlines()
    return " ".join(f"{x[:1].upper()}{x[1:]}{'' if x.endswith(('.', '!', '?')) else '.'}" for x in lines)


def status_and_words(error: Exception, store: Store) -> tuple[int, str]:
    """Return the status of HTTP and the sentence of an error."""
    if isinstance(error, HTTPException):
        return error.status_code, _WORDS.get(error.detail, error.detail)
    if isinstance(error, OSError):
        _log.error("a file of a campaign failed", exc_info=error)
        return 503, _DISK
    if isinstance(error, ValueError | ImportError):
        return 400, shown_error(error, store)
    return 500, "The page has an error."


def application(store: Store, key: str, *, port: int, hosts: Sequence[str]) -> TrustedHostMiddleware:
    """Return the application, which accepts requests with the key to the names `hosts` of this computer.

    Other names are refused, so that a foreign one that leads here (DNS rebinding) reaches nothing.
    """
    from cmab.campaign.page.new import ROUTES as OF_NEW
    from cmab.campaign.page.pages import ROUTES

    def in_words(request: Request, error: Exception) -> Response:
        status, message = status_and_words(error, store)
        context: Context = getattr(request.state, "context", None) or Context(request)
        if status == 409 and (answer := context.again()) is not None:
            return answer
        parts, context.message = request.url.path.split("/"), message
        back = "/".join(parts[:3]) if status == 409 and parts[1] == "c" else "/"
        return context.page("refused.html", status, title="Not done", back=back)

    kinds = (HTTPException, OSError, ValueError, ImportError, Exception)
    static = Mount("/static", StaticFiles(directory=_HERE / "static"))
    app = Starlette(routes=[static, *OF_NEW, *ROUTES], exception_handlers=dict.fromkeys(kinds, in_words))
    app.router.redirect_slashes = False
    app.state.store, app.state.session = store, Session()
    return TrustedHostMiddleware(Guard(app, key, port), hosts, www_redirect=False)


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
    """

    def __init__(self, app: ASGIApp, key: str, port: int) -> None:
        self.app, self.key, self._cookie = app, key, f"cmab-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        total = 0

        async def limited() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > MOST_BYTES:
                raise HTTPException(413, _LARGE)
            return message

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(raw=message["headers"])
                sent.update(HEADERS)
                # On the way back, browsers show the answer to a form only if they may keep it.
                is_kept = scope["path"].startswith("/static/") or scope["method"] == "POST"
                sent["Cache-Control"] = "private, no-cache" if is_kept else "no-store"
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
        return HTMLResponse(TEMPLATES.get_template("closed.html").render(), 403)

    def _is_key(self, given: str) -> bool:
        """Return whether a text is the key, in a time that does not depend on its contents."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.key.encode())
