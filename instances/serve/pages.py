"""The pages that show a campaign."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from cmab.campaign.reports import Round, round_of
from cmab.campaign.tables import FORMATS, TABLES, TOO_EARLY, csv_of, exported, outcome_in_words
from instances.serve import views
from instances.serve.context import Context, attachment, go
from instances.serve.refusals import DAMAGED, Refusal
from instances.serve.store import Opened

_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


#: Sentences after an action, by the word in the address.
_DONE = {
    "created": "The campaign was created.",
    "chosen": "Round {} was chosen.",
    "replaced": "Round {} was chosen instead of the one before, which is cancelled.",
    "reported": "The report of round {} was stored.",
    "corrected": "The report of round {} was corrected.",
    "cancelled": "Round {} was cancelled.",
    "uploaded": "The table was stored. Rounds in it: {}.",
    "undone": "The last event was taken back.",
}


def done_in(context: Context) -> str:
    """Return the sentence on the action before a page. Of the address, it contains only a number."""
    number = context.request.query_params.get("round", "")
    text = _DONE.get(context.request.query_params.get("done", ""), "")
    return text.format(number) if "{}" not in text or (number.isdecimal() and len(number) < 9) else ""


def details_in(context: Context, opened: Opened) -> str:
    """Return the replaced people or the stored rounds as sentences after that of `done_in`."""
    asked, rounds = context.request.query_params, views.rounds_in(opened)
    done = asked.get("done", "")
    if done == "uploaded":
        stored = [rounds[at - 1] for at in _numbers(asked.getlist("stored")) if 1 <= at <= len(rounds)]
        network = opened.folder.is_network
        told = [
            f"Round {of.number}: {outcome_in_words(of, is_network=network)}{_joined(of)}." for of in stored
        ]
        return " ".join(told)
    pair = [at for at in _numbers([asked.get("old", ""), asked.get("round", "")]) if 1 <= at <= len(rounds)]
    if done != "replaced" or len(pair) != 2:
        return ""
    old, new = rounds[pair[0] - 1], rounds[pair[1] - 1]
    gone = [str(name) for name in old.names if name not in new.names]
    out = [name for name in gone if name in left_out_in(context, opened)["names"]]
    others = [name for name in gone if name not in out]
    told = [f"{_and(out)} {'was' if len(out) == 1 else 'were'} left out."] if out else []
    if others:
        told.append(f"{_and(others)} {'is' if len(others) == 1 else 'are'} replaced, too.")
    return " ".join(told)


def _joined(of: Round) -> str:
    return f" ({', '.join(map(str, [*of.names, *of.joined]))})" if of.joined is not None else ""


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _numbers(texts: list[str]) -> list[int]:
    return [int(text) for text in texts if text.isdecimal() and len(text) < 9]


def correctable_in(context: Context, opened: Opened) -> int:
    """Return the number of the round whose report was just stored, or 0."""
    asked, rounds = context.request.query_params, views.rounds_in(opened)
    if asked.get("done") not in ("reported", "corrected"):
        return 0
    found = [at for at in _numbers([asked.get("round", "")]) if 1 <= at <= len(rounds)]
    return found[0] if found and rounds[found[0] - 1].state == "reported" else 0


def left_out_in(context: Context, opened: Opened) -> dict[str, Any]:
    """Return the round of the address, and the names that were left out of it."""
    labels, number = opened.folder.problem.names.labels, context.request.query_params.get("round", "")
    places = [at for at in context.request.query_params.getlist("out") if at.isdecimal() and len(at) < 9]
    return {
        "number": int(number) if number.isdecimal() and len(number) < 9 else 0,
        "names": [str(labels[int(at)]) for at in places if int(at) < len(labels)],
    }


def home(context: Context) -> Response:
    """Show the campaigns, or the only one."""
    slugs = context.store.slugs()
    if context.store.single:
        return go(f"/c/{slugs[0]}")
    rows = []
    for slug in slugs:
        try:
            with context.store.held(slug) as opened:
                state = views.rounds_in(opened)
                waiting = sum(of.state == "waiting" for of in state)
                rows.append(
                    {
                        "slug": slug,
                        "title": opened.folder.options.title,
                        "rounds": len(state),
                        "waiting": waiting,
                        "error": "",
                    }
                )
        except (ValueError, OSError):
            rows.append(
                {
                    "slug": slug,
                    "title": slug,
                    "rounds": 0,
                    "waiting": 0,
                    "error": DAMAGED,
                }
            )
    return context.page("home.html", title="Campaigns", rows=rows)


def current(context: Context) -> Response:
    """Show the rounds that wait for a report, with reasons, and the way to the next round."""
    with context.store.held(context.slug) as opened:
        rounds = views.rounds_in(opened)
        waiting = [of for of in rounds if of.state == "waiting"]
        cards = [views.card_of(opened, of, has_picture=at == 0) for at, of in enumerate(waiting[::-1][:5])]
        last = next((of for of in reversed(rounds) if of.state == "reported"), None)
        told = None if last is None else outcome_in_words(last, is_network=opened.folder.is_network)
        return context.page(
            "current.html",
            **views.frame(opened),
            tab="current",
            cards=cards,
            n_waiting=len(waiting),
            more=waiting[::-1][5:],
            last=last,
            told=told,
            n_rounds=len(rounds),
            when=views.when,
            done=" ".join(filter(None, [done_in(context), details_in(context, opened)])),
            correctable=correctable_in(context, opened),
            out=left_out_in(context, opened),
        )


def state(context: Context) -> Response:
    """Show the results so far and the expected result of another round."""
    with context.store.held(context.slug) as opened:
        return context.page(
            "state.html",
            **views.frame(opened),
            tab="state",
            state=views.state_of(opened),
            too_early=TOO_EARLY,
            share=views.share_of,
            outcome=outcome_in_words,
            when=views.when,
        )


def estimates(context: Context) -> Response:
    """Show the table of estimates, searched and sorted."""
    asked = context.request.query_params
    page = asked.get("page", "1")
    with context.store.held(context.slug) as opened:
        table = views.estimates_of(
            opened,
            search=asked.get("search", "")[:100],
            sort=asked.get("sort", "estimate"),
            down=asked.get("down", "1") != "0",
            page=int(page) if page.isdecimal() and len(page) < 9 else 1,
        )
        return context.page("estimates.html", **views.frame(opened), tab="estimates", table=table)


def history(context: Context) -> Response:
    """Show all events, newest first."""
    with context.store.held(context.slug) as opened:
        return context.page(
            "history.html",
            **views.frame(opened),
            tab="history",
            rows=views.history_of(opened),
            can_undo=views.can_undo(opened),
            done=done_in(context),
        )


def export(context: Context) -> Response:
    """Show the tables that can be stored."""
    with context.store.held(context.slug) as opened:
        return context.page(
            "export.html", **views.frame(opened), tab="export", tables=list(TABLES), formats=FORMATS
        )


def download(context: Context) -> Response:
    """Return a table as a file."""
    name, form = context.request.path_params["table"], context.request.path_params["form"]
    if form not in FORMATS or (name not in TABLES and (name, form) != ("all", "json")):
        raise Refusal(404, "There is no such table.")
    with context.store.held(context.slug) as opened:
        data = exported(opened.folder, name, form)
    return attachment(data, f"{context.slug}-{name}.{form}", _KINDS[form])


def printed(context: Context) -> Response:
    """Show a page to print, for people without access."""
    with context.store.held(context.slug) as opened:
        waiting = [of for of in views.rounds_in(opened) if of.state == "waiting"]
        return context.page(
            "print.html",
            **views.frame(opened),
            cards=[views.card_of(opened, of, has_picture=at == 0) for at, of in enumerate(waiting[:5])],
            state=views.state_of(opened),
            share=views.share_of,
            when=views.when,
        )


def template(context: Context) -> Response:
    """Return a table to fill in, with a line for each neighbour of the people asked."""
    with context.store.held(context.slug) as opened:
        rounds = views.rounds_in(opened)
        asked = context.request.query_params.get("round", "")
        chosen = [round_of(rounds, int(asked))] if asked.isdecimal() and len(asked) < 9 else rounds
        rows = []
        for of in chosen:
            if of.state != "cancelled" and (asked or of.state == "waiting"):
                names = views.known_people(opened, of) if opened.folder.is_network else of.names
                rows += [
                    {"round": of.number, "name": str(name), "result": ""}
                    | ({"step": ""} if opened.folder.is_network else {})
                    for name in names
                ]
        if not rows:
            raise Refusal(404, "No round waits for a report.")
        if opened.folder.is_network:
            for row in rows:  # an empty result would mean that the person joined
                row["result"] = "no"
        return attachment(csv_of(rows), f"{context.slug}-report.csv", _KINDS["csv"])
