"""The context of a request: its session, its form, the campaigns, and the answer as a page or as JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from cmab.errors import NewerEventsError
from instances.serve.access import Access, check_role
from instances.serve.refusals import Refusal, shown_error
from instances.serve.sessions import WebSession, is_same
from instances.serve.store import Store
from instances.serve.users import Role, may

_log = logging.getLogger(__name__)
_HERE = Path(__file__).parent
_MOST_FILES, _MOST_FIELDS = 3, 2_000
#: The largest absolute value of a whole number in JSON.
_LARGEST = 10**15
#: The largest number of calls of a handler while another server adds events.
_MOST_CALLS = 20
CHANGED = "The campaign has changed since this page was opened. Look at it again, and repeat the action."
_DISK = "The files of the campaign cannot be read or written now. The terminal of the page has the details."


@dataclass(frozen=True)
class File:
    """An uploaded file: the name that the browser gave, and the contents."""

    name: str
    data: bytes


@dataclass
class Context:
    """A request with the objects that its handler needs.

    Attributes
    ----------
    request : Request
        The request.
    session : WebSession or None
        The session; None only before the login.
    store : Store
        The campaigns.
    access : Access
        The rules of access.
    templates : Environment
        The templates, which escape all text.
    form : dict
        The fields of the form, or the members of the JSON object.
    files : dict
        The uploaded files by the name of their field.
    """

    request: Request
    session: WebSession | None
    store: Store
    access: Access
    templates: Environment
    form: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)

    @property
    def author(self) -> str:
        """The author of new events."""
        return "" if self.session is None else self.session.user

    @property
    def slug(self) -> str:
        """The campaign that the address names."""
        return str(self.request.path_params["slug"])

    @property
    def number(self) -> int:
        """The round that the address names."""
        return int(self.request.path_params["number"])

    def text(self, name: str) -> str:
        """Return a field of the form as text without blanks around it; empty if it is missing."""
        value = self.form.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        session = self.session
        text = self.templates.get_template(template).render(
            session=session,
            may=lambda role: session is not None and may(session.role, role),
            csrf="" if session is None else session.csrf,
            has_users=self.access.users is not None,
            single=self.store.single,
            **values,
        )
        return HTMLResponse(text, status)


def go(address: str) -> Response:
    """Return the redirection after an action, so that a reload of the page does not repeat it."""
    return RedirectResponse(address, 303)


def attachment(data: bytes, name: str, kind: str) -> Response:
    """Return a file to store."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(data, media_type=kind, headers=headers)


Handler = Callable[[Context], Response]


class Web:
    """The parts that all handlers share, and the wrapper that makes endpoints of them.

    Parameters
    ----------
    store : Store
        The campaigns.
    access : Access
        The rules of access.
    most_bytes : int
        The longest field of a form, which is that of a request, because a field can be an uploaded table.
    """

    def __init__(self, store: Store, access: Access, most_bytes: int) -> None:
        self.store, self.access, self.most_bytes = store, access, most_bytes
        self.templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def endpoint(self, handler: Handler, role: Role | None, *, is_api: bool = False) -> Any:
        """Return an endpoint that checks the role and the form token, and answers errors in words."""

        async def answer(request: Request) -> Response:
            session: WebSession | None = request.state.session
            context = Context(request, session, self.store, self.access, self.templates)
            try:
                if role is not None:
                    assert session is not None
                    check_role(session, role)
                if request.method == "POST":
                    if is_api:
                        await _read_json(context)
                    else:
                        await _read_form(context, self.most_bytes)
                    if role is not None:
                        _check_token(context)
                return await run_in_threadpool(_repeated, handler, context)
            except Refusal as refusal:
                return refused(context, refusal.status, refusal.message, is_api=is_api)
            except (ValueError, ImportError) as error:
                return refused(context, 400, shown_error(error, context.store), is_api=is_api)
            except OSError:
                _log.exception("a file of a campaign failed")
                return refused(context, 503, _DISK, is_api=is_api)

        return answer


def _repeated(handler: Handler, context: Context) -> Response:
    """Call a handler, and again if another server has added events between its reading and its action.

    The handler then compares the version or the mark of the request with the new events.
    """
    for _ in range(_MOST_CALLS):
        try:
            return handler(context)
        except NewerEventsError:
            continue
    raise Refusal(409, CHANGED)


def refused(context: Context, status: int, message: str, *, is_api: bool) -> Response:
    """Return a refusal as a page or as JSON."""
    if is_api:
        return JSONResponse({"error": message}, status)
    return context.page("refused.html", status, message=message, title="Not done")


async def _read_form(context: Context, most_bytes: int) -> None:
    form = await context.request.form(
        max_files=_MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=most_bytes
    )
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            if value.filename:
                context.files[name] = File(value.filename, await value.read())
        else:
            context.form[name] = value
            context.lists.setdefault(name, []).append(value)
    await form.close()


def _refused_constant(name: str) -> None:
    raise ValueError(f"a number must be finite, got {name}")


async def _read_json(context: Context) -> None:
    if context.request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refusal(415, "The body must be JSON, with the content type application/json.")
    try:
        content = json.loads(await context.request.body(), parse_constant=_refused_constant)
        json.dumps(content, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
    except (ValueError, RecursionError):
        raise Refusal(400, "The body must be valid JSON.") from None
    if not isinstance(content, dict):
        raise Refusal(400, "The body must be a JSON object.")
    context.form = content


def _check_token(context: Context) -> None:
    """Raise `Refusal` unless the request has the token of its session, which no other page can know."""
    session = context.session
    assert session is not None
    if context.access.is_program(context.request):
        return  # a browser adds no such header by itself
    given = context.request.headers.get("x-csrf-token") or context.form.get("csrf", "")
    if not (isinstance(given, str) and session.csrf and is_same(given, session.csrf)):
        raise Refusal(403, "The form is too old. Open the page again, and repeat the action.")


def member(form: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
    """Return a member of a JSON object.

    Raises
    ------
    Refusal
        If the member has another type.
    """
    value = form.get(name, default)
    if value is default:
        return default
    if type(value) is int and abs(value) > _LARGEST:
        raise Refusal(400, f"{name} is too large.")
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Refusal(400, f"{name} has a wrong type.")
    return value
