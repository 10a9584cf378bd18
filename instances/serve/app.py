"""The application: the routes of the pages and of the JSON interface behind the guard."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from instances.serve import actions, api, creating, pages
from instances.serve.access import STATIC, Access
from instances.serve.context import Context, Handler, Web, refused
from instances.serve.guard import Guard
from instances.serve.openapi import OPERATIONS
from instances.serve.store import Store
from instances.serve.users import Role

#: The longest body of a request, in bytes.
MOST_BYTES = 8 * 2**20
_HERE = Path(__file__).parent

_PAGES: list[tuple[str, str, Role | None, Handler]] = [
    ("GET", "/", "read", pages.home),
    ("GET", "/new", "decide", creating.new),
    ("POST", "/new", "decide", creating.create),
    ("GET", "/login", None, creating.login_form),
    ("POST", "/login", None, creating.login),
    ("POST", "/logout", "read", creating.logout),
    ("GET", "/c/{slug}", "read", pages.current),
    ("GET", "/c/{slug}/state", "read", pages.state),
    ("GET", "/c/{slug}/estimates", "read", pages.estimates),
    ("GET", "/c/{slug}/history", "read", pages.history),
    ("GET", "/c/{slug}/export", "read", pages.export),
    ("GET", "/c/{slug}/export/{table}.{form}", "read", pages.download),
    ("GET", "/c/{slug}/print", "read", pages.printed),
    ("GET", "/c/{slug}/template.csv", "read", pages.template),
    ("POST", "/c/{slug}/choose", "decide", actions.choose),
    ("GET", "/c/{slug}/upload", "report", actions.upload_form),
    ("POST", "/c/{slug}/upload", "report", actions.upload),
    ("POST", "/c/{slug}/undo", "decide", actions.undo),
    ("GET", "/c/{slug}/rounds/{number:int}/report", "report", actions.report_form),
    ("POST", "/c/{slug}/rounds/{number:int}/report", "report", actions.report),
    ("POST", "/c/{slug}/rounds/{number:int}/cancel", "decide", actions.cancel),
    ("POST", "/c/{slug}/rounds/{number:int}/leave-out", "decide", actions.leave_out),
]
_WORDS = {
    413: "The request is too large.",
    404: "There is no such page.",
    405: "This address does not accept this kind of request.",
}


def application(
    store: Store, access: Access, *, hosts: Collection[str], most_bytes: int = MOST_BYTES
) -> Guard:
    """Return the application.

    Parameters
    ----------
    store : Store
        The campaigns.
    access : Access
        The rules of access.
    hosts : collection of str
        The accepted values of the header ``Host``, such as ``"127.0.0.1:8765"``.
    most_bytes : int
        The longest body of a request.
    """
    web = Web(store, access, most_bytes)
    routes = [Route(path, _static) for path in STATIC]
    for method, path, role, handler in _PAGES:
        routes.append(Route(path, web.endpoint(handler, role), methods=[method]))
    routes.append(Route("/api/v1/openapi.json", web.endpoint(api.openapi, "read", is_api=True)))
    for verb, path, needed, name, *_ in OPERATIONS:
        endpoint = web.endpoint(getattr(api, name), needed, is_api=True)  # type: ignore[arg-type]
        routes.append(Route(f"/api/v1{path.replace('{number}', '{number:int}')}", endpoint, methods=[verb]))

    async def in_words(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        message = _WORDS.get(
            status, "The request is not valid." if status < 500 else "The page has an error."
        )
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": message}, status)
        session = getattr(request.state, "session", None)
        return refused(Context(request, session, store, access, web.templates), status, message, is_api=False)

    handlers: dict[Any, Any] = {HTTPException: in_words, Exception: in_words}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), access, hosts, most_bytes)


async def _static(request: Request) -> Response:
    name = "icon.svg" if request.url.path == "/favicon.ico" else request.url.path.rsplit("/", 1)[1]
    return FileResponse(_HERE / "static" / name, headers={"Cache-Control": "no-cache"})
