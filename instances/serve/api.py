"""The campaigns as a JSON interface."""

from __future__ import annotations

import math
from typing import Any

from starlette.responses import JSONResponse, Response

from cmab.campaign.files import Options, clean
from cmab.campaign.reports import Report, Round, report_of, round_of
from cmab.campaign.tables import TABLES, table_of
from instances.serve import views
from instances.serve.actions import check_mark, replace_round
from instances.serve.context import Context, member
from instances.serve.openapi import description
from instances.serve.refusals import DAMAGED, Refusal
from instances.serve.store import Opened, file_name


def openapi(_: Context) -> Response:
    """Return the OpenAPI description."""
    return JSONResponse(description())


def login(context: Context) -> Response:
    """Begin a session and return its key."""
    user, password = member(context.form, "user", str, ""), member(context.form, "password", str, "")
    return JSONResponse({"key": context.access.log_in(user[:64], password)})


def campaigns(context: Context) -> Response:
    """Return all campaigns."""
    rows = []
    for slug in context.store.slugs():
        try:
            with context.store.held(slug) as opened:
                rows.append(_summary(opened))
        except (ValueError, OSError):
            rows.append({"id": slug, "title": slug, "error": DAMAGED})
    return JSONResponse({"campaigns": rows})


def create(context: Context) -> Response:
    """Make a campaign."""
    form = context.form
    files: dict[str, bytes] = {}
    values: dict[str, Any] = {"title": clean(member(form, "title", str, "")), "events": context.store.events}
    for name, usual in (("network", "network"), ("names", "names"), ("costs", "costs")):
        text = member(form, name, str)
        if text is not None:
            values[name] = file_name(member(form, f"{name}_file", str, "table.csv"), usual)
            files[values[name]] = text.encode()
    for name, kind in (
        ("directed", bool),
        ("k", int),
        ("budget", (int, float)),
        ("prior_mean", (int, float)),
        ("prior_weight", (int, float)),
        ("largest", (int, float)),
    ):
        value = member(form, name, kind)
        if value is not None:
            values[name] = value
    values["never"] = tuple(_names(form, "never"))
    slug = context.store.create(Options(**values), files, author=context.author)
    with context.store.held(slug) as opened:
        return JSONResponse(_summary(opened), 201)


def campaign(context: Context) -> Response:
    """Return the state of a campaign."""
    with context.store.held(context.slug) as opened:
        state = views.state_of(opened)
        found = state["certificate"]
        more = {
            "mean": state["mean"],
            "next": state["next"],
            "certificate": None if found is None else {"text": found[0], "gap": found[1].exact_gap},
        }
        return JSONResponse(_summary(opened) | more)


def rounds(context: Context) -> Response:
    """Return all rounds."""
    with context.store.held(context.slug) as opened:
        return JSONResponse({"rounds": [_round(of) for of in views.rounds_in(opened)]})


def choose(context: Context) -> Response:
    """Choose for the next round, or again for a round that waits."""
    with context.store.held(context.slug) as opened:
        check_mark(context.form.get("version"), opened.version)
        without, instead = _names(context.form, "without"), member(context.form, "instead_of", int)
        if instead is None:
            of = opened.folder.ask(without, author=context.author)
        else:
            old = round_of(views.rounds_in(opened), instead)
            of = replace_round(opened, old, without, author=context.author)
        return JSONResponse(_with_reasons(opened, of), 201)


def one_round(context: Context) -> Response:
    """Return a round with the reasons for its names."""
    with context.store.held(context.slug) as opened:
        return JSONResponse(_with_reasons(opened, round_of(views.rounds_in(opened), context.number)))


def report(context: Context) -> Response:
    """Store a report or a correction."""
    form = context.form
    with context.store.held(context.slug) as opened:
        folder, known = opened.folder, views.rounds_in(opened)
        of = round_of(known, context.number)
        check_mark(form.get("mark"), of.mark)
        count = member(form, "count", (int, float))
        if count is not None:
            told = Report(of.number, count=float(count))
        else:
            entries = form.get("joined" if folder.is_network else "results")
            if isinstance(entries, dict):
                entries = [name if value is None else f"{name}={value}" for name, value in entries.items()]
            if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
                raise Refusal(400, "joined or results must be a list of names or an object.")
            told = report_of(
                known,
                folder.problem.names,
                of.number,
                entries,
                is_network=folder.is_network,
                unknown=_names(form, "unknown"),
                largest=folder.options.largest,
            )
        return JSONResponse(_round(folder.tell(told, author=context.author)))


def cancel(context: Context) -> Response:
    """Cancel a round."""
    with context.store.held(context.slug) as opened:
        of = round_of(views.rounds_in(opened), context.number)
        check_mark(context.form.get("mark"), of.mark)
        opened.folder.cancel(of.number, author=context.author)
        return JSONResponse(_round(views.rounds_in(opened)[of.number - 1]))


def undo(context: Context) -> Response:
    """Take back the last report, correction or cancellation."""
    with context.store.held(context.slug) as opened:
        check_mark(context.form.get("version"), opened.version)
        event = opened.folder.undo(author=context.author)
        return JSONResponse({"line": event["line"], "round": event["ticket"] + 1})


def table(context: Context) -> Response:
    """Return the rows of a table."""
    name = context.request.path_params["table"]
    if name not in TABLES:
        raise Refusal(404, "There is no such table.")
    with context.store.held(context.slug) as opened:
        return JSONResponse({"rows": table_of(opened.folder, name)})


def _summary(opened: Opened) -> dict[str, Any]:
    known = views.rounds_in(opened)
    return {
        "id": opened.slug,
        "title": opened.folder.options.title,
        "kind": "network" if opened.folder.is_network else "list",
        "k": opened.folder.options.k,
        "budget": opened.folder.options.budget,
        "version": opened.version,
        "rounds": len(known),
        "waiting": [of.number for of in known if of.state == "waiting"],
    }


def _round(of: Round) -> dict[str, Any]:
    return {
        "round": of.number,
        "state": of.state,
        "asked_at": of.asked,
        "names": [str(name) for name in of.names],
        "count": None if math.isnan(of.count) else of.count,
        "joined": None if of.joined is None else {str(name): step for name, step in of.joined.items()},
        "reported_at": of.told if of.state == "reported" else None,
        "corrected": of.corrected,
        "author": of.author,
        "mark": of.mark,
    }


def _with_reasons(opened: Opened, of: Round) -> dict[str, Any]:
    reasons = views.card_of(opened, of, has_picture=False).reasons
    network = opened.folder.is_network
    return _round(of) | {
        "version": opened.version,
        "reasons": [
            {
                "name": str(reason.name),
                "mean": reason.mean,
                "low": reason.low,
                "high": reason.high,
                "kind": reason.kind,
                "text": reason.in_words(is_network=network),
            }
            for reason in reasons
        ],
    }


def _names(form: dict[str, Any], name: str) -> list[str]:
    found = form.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise Refusal(400, f"{name} must be a list of names.")
    return found
