"""The application: the context of a request, its answer as a page, and errors in words."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, FastAPI, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from cmab.campaign.page.access import STATIC, Access, Guard, Refusal, Role, WebSession, may
from cmab.campaign.page.store import Store
from cmab.errors import NewerEventsError, TicketError

_log = logging.getLogger(__name__)
_HERE = Path(__file__).parent
#: The longest body of a request, in bytes.
MOST_BYTES = 8 * 2**20
_MOST_FILES, _MOST_FIELDS, _MOST_DONE = 3, 2_000, 50
CHANGED = "The campaign has changed since this page was opened. Look at it again, and repeat the action."
_DISK = "The files of the campaign cannot be read or written now. The terminal of the page has the details."
_WORDS = {
    413: f"At most {MOST_BYTES // 2**20} MB can be sent. Leave out columns that are not needed, or make the"
    " campaign in a terminal with `cmab campaign new`.",
    404: "There is no such page.",
    405: "This address does not accept this kind of request.",
}
TEMPLATES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class File(NamedTuple):
    """An uploaded file: the name that the browser gave, and the contents."""

    name: str
    data: bytes


class Context:
    """A request with its session (None only before the login), its form, and the campaigns.

    `form` has the last value of each field of the form, `lists` all values, and `files` the uploaded files.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.session: WebSession | None = request.state.session
        self.store: Store = request.app.state.store
        self.access: Access = request.app.state.access
        self.form: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {}
        self.files: dict[str, File] = {}

    @property
    def author(self) -> str:
        """The author of new events."""
        return "" if self.session is None else self.session.user

    def text(self, name: str) -> str:
        """Return a field of the form as text without blanks around it; empty if it is missing."""
        return self.form.get(name, "").strip()

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        session, told = self.session, tuple[str, ...]()
        if session is not None and status == 200:
            told, session.told = session.told, ()
        text = TEMPLATES.get_template(template).render(
            session=session,
            may=lambda role: session is not None and may(session.role, role),
            has_users=self.access.users is not None,
            done=told,
            **values,
        )
        return HTMLResponse(text, status)

    def go(self, address: str, *told: str) -> Response:
        """Return the redirection after an action, so that a reload of the page does not repeat it.

        The next page shows the sentence `told`, with the address and the words of a link after it.
        """
        if self.session is not None and told:
            self.session.told = told
            self.session.done[self.digest] = (address, told)
            while len(self.session.done) > _MOST_DONE:
                del self.session.done[next(iter(self.session.done))]
        return RedirectResponse(address, 303)

    @cached_property
    def digest(self) -> str:
        """A hash of the form and its address."""
        files = [(name, file.data) for name, file in self.files.items()]
        return sha256(repr((self.request.url.path, self.lists, files)).encode("utf-8", "replace")).hexdigest()

    def again(self) -> Response | None:
        """Return the former answer to the same form, if it was sent before: a click was a double click."""
        if self.session is None or self.digest not in self.session.done:
            return None
        address, told = self.session.done[self.digest]
        return self.go(address, *told)


def check_mark(given: Any, now: int) -> None:
    """Raise `Refusal` unless an action was begun on the present state, so that a replay changes nothing."""
    if str(given) != str(now):
        raise Refusal(409, CHANGED)


# Who may do what


def _allowed(role: Role | None) -> Any:
    """Return the dependency of handlers that need a role: the context of the request."""

    async def context_of(request: Request) -> Context:
        session = request.state.session
        if role is not None and not may(session.role, role):
            raise Refusal(403, f"Your role is {session.role}. This needs the role {role}.")
        context: Context | None = getattr(request.state, "context", None)
        if context is None:
            context = request.state.context = Context(request)
            if request.method == "POST":
                await _read_form(context)
        return context

    return Depends(context_of)


Anybody = Annotated[Context, _allowed(None)]
Reader = Annotated[Context, _allowed("read")]
Reporter = Annotated[Context, _allowed("report")]
Decider = Annotated[Context, _allowed("decide")]


async def _read_form(context: Context) -> None:
    most = context.request.app.state.most_bytes  # a field can be an uploaded table
    form = await context.request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=most)
    for name, value in form.multi_items():
        if not isinstance(value, UploadFile):
            context.form[name] = value
            context.lists.setdefault(name, []).append(value)
        elif value.filename:
            context.files[name] = File(value.filename, await value.read())
    await form.close()


# Errors in words


def shown_error(error: Exception, store: Store) -> str:
    """Return the sentence of an error as it is shown on the page, without folders of this machine."""
    if isinstance(error, UnicodeError):
        return "The text has characters that are not valid Unicode."
    lines = store.without_folder(str(error)).splitlines()
    return " ".join(f"{x[:1].upper()}{x[1:]}{'' if x.endswith(('.', '!', '?')) else '.'}" for x in lines)


def _status_and_words(error: Exception, store: Store) -> tuple[int, str]:
    if isinstance(error, Refusal):
        return error.status, error.message
    if isinstance(error, NewerEventsError | TicketError):  # another server has acted since this one has read
        return 409, CHANGED
    if isinstance(error, HTTPException):
        return error.status_code, _WORDS.get(error.status_code, "The request is not valid.")
    if isinstance(error, OSError):
        _log.error("a file of a campaign failed", exc_info=error)
        return 503, _DISK
    if isinstance(error, ValueError | ImportError):
        return 400, shown_error(error, store)
    return 500, "The page has an error."


def application(
    store: Store, access: Access, *, hosts: Collection[str], most_bytes: int = MOST_BYTES
) -> Guard:
    """Return the application, which accepts requests to `hosts`, such as ``localhost:8765``."""
    from cmab.campaign.page import new, pages

    async def in_words(request: Request, error: Exception) -> Response:
        status, message = _status_and_words(error, store)
        context: Context = getattr(request.state, "context", Context(request))
        if status == 409 and (answer := context.again()) is not None:
            return answer
        parts = request.url.path.split("/")
        back = "/".join(parts[:3]) if status == 409 and parts[1] == "c" else "/"
        return context.page("refused.html", status, message=message, title="Not done", back=back)

    kinds = (Refusal, HTTPException, OSError, ValueError, ImportError, Exception)
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=dict.fromkeys(kinds, in_words),
    )
    app.state.store, app.state.access, app.state.most_bytes = store, access, most_bytes
    for path in STATIC:
        app.add_api_route(path, _static, include_in_schema=False, response_model=None)
    app.include_router(new.ROUTER)
    app.include_router(pages.ROUTER)
    return Guard(app, access, hosts, most_bytes)


async def _static(request: Request) -> Response:
    name = "icon.svg" if request.url.path == "/favicon.ico" else request.url.path.rsplit("/", 1)[1]
    return FileResponse(_HERE / "static" / name, headers={"Cache-Control": "no-cache"})
