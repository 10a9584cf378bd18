"""New campaigns from an uploaded network or a list of names, and the login."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from cmab.campaign.files import Options, clean, number_in
from instances.serve.actions import names_in_lines
from instances.serve.context import Context, File, go
from instances.serve.refusals import Refusal, shown_error
from instances.serve.store import file_name


def new(context: Context) -> Response:
    """Show the form of a new campaign."""
    if context.store.single:
        raise Refusal(404, "This page serves a single campaign.")
    return _form(context)


def _form(context: Context, message: str = "", status: int = 200) -> Response:
    return context.page("new.html", status, title="New campaign", form=context.form, message=message)


def create(context: Context) -> Response:
    """Make a campaign; with an error, show the form again with its contents."""
    try:
        options, files = _options(context)
        slug = context.store.create(options, files, author=context.author)
    except ValueError as error:
        return _form(context, shown_error(error, context.store), 400)
    return go(f"/c/{slug}?done=created")


def _options(context: Context) -> tuple[Options, dict[str, bytes]]:
    """Return the options and the files of the form."""
    title = clean(context.text("title"))
    files: dict[str, bytes] = {}
    values: dict[str, Any] = {"title": title, "events": context.store.events}
    if context.text("kind") == "list":
        listed = context.files.get("list")
        data = context.text("names").encode() if listed is None else listed.data
        if not data.strip():
            raise ValueError("enter the names, one a line, or choose a file with them")
        values["names"] = _add(files, File("names.csv", data), "names")
        if context.text("largest"):
            values["largest"] = _number("the largest result", context.text("largest"))
    else:
        network = context.files.get("network")
        if network is None or not network.data.strip():
            raise ValueError("choose the file of the network")
        values["network"] = _add(files, network, "network")
        values["directed"] = {"one": True, "both": False}.get(context.text("ties"))
    k, budget = context.text("k"), context.text("budget")
    if "costs" in context.files:
        values["costs"] = _add(files, context.files["costs"], "costs")
        values["budget"] = _number("the budget", budget or "0")
    elif budget:
        raise ValueError("a budget needs a table of costs")
    else:
        values["k"] = _whole("the number to choose", k or "1")
    if context.text("prior_mean") or context.text("prior_weight"):
        values["prior_mean"] = _number("the expected result", context.text("prior_mean") or "0")
        values["prior_weight"] = _number("the weight of the expectation", context.text("prior_weight") or "0")
    values["never"] = tuple(names_in_lines(context.text("never")))
    return Options(**values), files


def _add(files: dict[str, bytes], file: File, usual: str) -> str:
    """Add an uploaded file under a name of ours and return the name."""
    name = file_name(file.name, usual)
    files[name] = file.data
    return name


def _number(what: str, text: str) -> float:
    try:
        return number_in(text)
    except ValueError:
        raise ValueError(f"{what} must be a number, got {text[:20]}") from None


def _whole(what: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(f"{what} must be a whole number, got {text[:20]}")
    return int(text)


def login_form(context: Context) -> Response:
    """Show the form of the login."""
    return context.page("login.html", title="Log in", message="")


def login(context: Context) -> Response:
    """Begin a session of a user."""
    try:
        key = context.access.log_in(context.text("user")[:64], str(context.form.get("password", "")))
    except Refusal as refusal:
        return context.page("login.html", refusal.status, title="Log in", message=refusal.message)
    response = go("/")
    context.access.give(response, key)
    return response


def logout(context: Context) -> Response:
    """End the session."""
    context.access.sessions.end(context.access.key_of(context.request))
    response = go("/login" if context.access.users is not None else "/")
    response.delete_cookie(context.access.cookie)
    return response
