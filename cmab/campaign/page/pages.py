"""The pages of campaigns and the actions on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Response

from cmab.campaign.files import clean
from cmab.campaign.folder import check_names
from cmab.campaign.page import views
from cmab.campaign.page.access import Refusal
from cmab.campaign.page.new import whole
from cmab.campaign.page.store import DAMAGED, Opened, check_title
from cmab.campaign.page.web import (
    Anybody,
    Context,
    Decider,
    Reader,
    Reporter,
    check_mark,
    shown_error,
)
from cmab.campaign.progress import TABLES, exported, history_of, named, outcome_in_words
from cmab.campaign.reports import Report, Round, UnreachableError, entries_in, report_of, round_of
from cmab.errors import NewerEventsError, TicketError

ROUTER = APIRouter(include_in_schema=False, default_response_class=Response)


# The pages of a campaign


def _page(context: Context, opened: Opened, tab: str, status: int = 200, **values: Any) -> Response:
    """Return a page of a campaign from the template of a tab."""
    return context.page(f"{tab}.html", status, **views.frame(opened), tab=tab, when=views.when, **values)


@ROUTER.get("/")
def home(context: Reader) -> Response:
    """Show the campaigns."""
    rows: list[dict[str, Any]] = []
    for slug in context.store.slugs():
        try:
            with context.store.held(slug) as opened:
                rounds = views.rounds_in(opened)
                waiting = sum(of.state == "waiting" for of in rounds)
                title = opened.folder.options.title
                rows.append({"slug": slug, "title": title, "rounds": len(rounds), "waiting": waiting})
        except (ValueError, OSError):
            rows.append({"slug": slug, "title": slug, "error": DAMAGED})
    return context.page("home.html", title="Campaigns", rows=rows)


@ROUTER.get("/c/{slug}")
def current(context: Reader, slug: str) -> Response:
    """Show the rounds that wait for a report, with reasons, and the way to the next round."""
    with context.store.held(slug) as opened:
        return _current(context, opened)


def _current(context: Context, opened: Opened, message: str = "", status: int = 200) -> Response:
    rounds = views.rounds_in(opened)
    waiting = [of for of in rounds if of.state == "waiting"]
    last = next((of for of in reversed(rounds) if of.state == "reported"), None)
    return _page(
        context,
        opened,
        "current",
        status,
        cards=[views.card_of(opened, of, has_picture=at == 0) for at, of in enumerate(waiting[::-1][:5])],
        n_waiting=len(waiting),
        more=waiting[::-1][5:],
        last=last,
        told=None if last is None else outcome_in_words(last, is_network=opened.folder.is_network),
        n_rounds=len(rounds),
        form=context.form,
        message=message,
    )


@ROUTER.get("/c/{slug}/state")
def state(context: Reader, slug: str) -> Response:
    """Show the results so far and the expected result of another round."""
    with context.store.held(slug) as opened:
        return _page(context, opened, "state", state=views.state_of(opened), outcome=outcome_in_words)


@ROUTER.get("/c/{slug}/history")
def history(context: Reader, slug: str) -> Response:
    """Show all events, newest first."""
    with context.store.held(slug) as opened:
        rows, can_undo = history_of(opened.folder)[::-1], views.can_undo(opened)
        return _page(context, opened, "history", rows=rows, can_undo=can_undo)


@ROUTER.get("/c/{slug}/export")
def export(context: Reader, slug: str) -> Response:
    """Show the tables that can be stored."""
    with context.store.held(slug) as opened:
        return _page(context, opened, "export", tables=list(TABLES))


@ROUTER.get("/c/{slug}/export/{table}.csv")
def download(context: Reader, slug: str, table: str) -> Response:
    """Return a table as a file."""
    if table not in TABLES:
        raise Refusal(404, "There is no such table.")
    with context.store.held(slug) as opened:
        data = exported(opened.folder, table)
    headers = {"Content-Disposition": f"attachment; filename={slug}-{table}.csv"}
    return Response(data, media_type="text/csv; charset=utf-8", headers=headers)


@ROUTER.get("/c/{slug}/print")
def printed(context: Reader, slug: str) -> Response:
    """Show a page to print, for people without access."""
    with context.store.held(slug) as opened:
        waiting = [of for of in views.rounds_in(opened) if of.state == "waiting"]
        return _page(context, opened, "print", rounds=waiting[:5])


# Actions on rounds


def _names(context: Context, opened: Opened, field: str) -> list[str]:
    """Return the names of a field, in lines or between commas."""
    return entries_in(context.text(field), opened.folder.problem.names)


@ROUTER.post("/c/{slug}/choose")
def choose(context: Decider, slug: str) -> Response:
    """Choose for the next round."""
    with context.store.held(slug) as opened:
        check_mark(context.form.get("version"), opened.version)
        folder, without = opened.folder, _names(context, opened, "without")
        is_best, is_new_only = context.text("how") == "best", context.text("aim") == "new"
        try:
            of = folder.ask(without, is_best=is_best, is_new_only=is_new_only, author=context.author)
        except (NewerEventsError, TicketError):
            raise
        except ValueError as error:
            return _current(context, opened, shown_error(error, context.store), 400)
        return context.go(f"/c/{slug}", f"Round {of.number} was chosen.")


@ROUTER.post("/c/{slug}/rounds/{number:int}/leave-out")
def leave_out(context: Decider, slug: str, number: int) -> Response:
    """Choose another person in place of one of a round that waits."""
    with context.store.held(slug) as opened:
        old = round_of(views.rounds_in(opened), number)
        check_mark(context.form.get("mark"), old.mark)
        try:
            new = opened.folder.leave_out(number, context.text("name"), author=context.author)
        except (NewerEventsError, TicketError):
            raise
        except ValueError as error:
            return _current(context, opened, shown_error(error, context.store), 400)
        found = ", ".join(str(name) for name in new.names if name not in old.names)
        return context.go(
            f"/c/{slug}",
            f"{context.text('name')} was left out of round {number}, and {found} was chosen instead.",
        )


@ROUTER.post("/c/{slug}/rounds/{number:int}/cancel")
def cancel(context: Decider, slug: str, number: int) -> Response:
    """Cancel a round that waits for its report."""
    with context.store.held(slug) as opened:
        check_mark(context.form.get("mark"), round_of(views.rounds_in(opened), number).mark)
        opened.folder.cancel(number, author=context.author)
        return context.go(f"/c/{slug}", f"Round {number} was cancelled.")


@ROUTER.post("/c/{slug}/undo")
def undo(context: Decider, slug: str) -> Response:
    """Take back the last report, correction or cancellation."""
    with context.store.held(slug) as opened:
        check_mark(context.form.get("version"), opened.version)
        event = opened.folder.undo(author=context.author)
        return context.go(
            f"/c/{slug}/history", f"The {named(event)} of round {event['round']} was taken back."
        )


# Reports


@ROUTER.get("/c/{slug}/rounds/{number:int}/report")
def report_form(context: Reporter, slug: str, number: int) -> Response:
    """Show the form of a report, or of a correction."""
    with context.store.held(slug) as opened:
        return _form(context, opened, round_of(views.rounds_in(opened), number))


def _form(
    context: Context,
    opened: Opened,
    of: Round,
    message: str = "",
    status: int = 200,
    *,
    lost: Sequence[str] = (),
) -> Response:
    if of.state == "cancelled":
        raise Refusal(409, f"Round {of.number} was cancelled. Undo the cancellation before you report it.")
    listed = views.known_people(opened, of)[:60]
    ticked, others = {*context.lists.get("joined", [])}, context.form.get("others")
    if others is None:
        told = {str(name): step for name, step in (of.joined or {}).items()}
        ticked = {name for name, step in told.items() if name in listed and step is None}
        more = [(name, step) for name, step in told.items() if name not in ticked]
        others = "\n".join(name if step is None else f"{name} = {step}" for name, step in more)
    is_count = of.state == "reported" and of.joined is None and not math.isnan(of.count)
    return _page(
        context,
        opened,
        "report",
        status,
        of=of,
        known=listed,
        before=views.joined_before(opened, of),
        lost=lost,
        asked=list(dict.fromkeys(map(str, (*of.planned, *of.names)))),
        came=context.lists.get("came", []) if context.form else [*map(str, of.names)],
        ticked=ticked,
        others=others,
        form=context.form,
        message=message,
        largest=opened.folder.options.largest,
        of_count=f"{of.count:g}" if is_count else "",
    )


@ROUTER.post("/c/{slug}/rounds/{number:int}/report")
def report(context: Reporter, slug: str, number: int) -> Response:
    """Store a report or a correction; with an error, show the form again with its contents."""
    with context.store.held(slug) as opened:
        of = round_of(views.rounds_in(opened), number)
        check_mark(context.form.get("mark"), of.mark)
        try:
            opened.folder.tell(_report_of(context, opened, of), author=context.author)
        except UnreachableError as error:
            return _form(context, opened, of, error.sentence, 400, lost=[*map(str, error.people)])
        except (NewerEventsError, TicketError):
            raise
        except ValueError as error:
            return _form(context, opened, of, shown_error(error, context.store), 400)
        done = "corrected" if of.state == "reported" else "stored"
        told = f"The report of round {number} was {done}."
        return context.go(f"/c/{slug}", told, f"/c/{slug}/rounds/{number}/report", "Correct it")


def _report_of(context: Context, opened: Opened, of: Round) -> Report:
    """Return the report of a form."""
    names = opened.folder.problem.names
    if not opened.folder.is_network:
        results = {str(name): context.text(f"result-{at}") for at, name in enumerate(of.names)}
        entries = [f"{name}={value}" for name, value in results.items() if value not in ("", "unknown")]
        unknown = [name for name, value in results.items() if value in ("", "unknown")]
        if not entries:
            raise ValueError("enter the result of at least one item, or cancel the round")
        largest = opened.folder.options.largest
        return report_of(of, names, entries, is_network=False, unknown=unknown, largest=largest)
    count, nobody = context.text("count"), context.text("nobody") == "1"
    entries = [*context.lists.get("joined", []), *_names(context, opened, "others")]
    unknown = _names(context, opened, "unknown")
    asked = [*context.lists.get("came", []), *_names(context, opened, "instead")]
    told = report_of(of, names, entries, is_network=True, unknown=unknown, asked=asked)
    told.alone = context.text("alone") == "1"
    if count:
        if entries or unknown or nobody:
            raise ValueError("enter either names or only the number of people, not both")
        told.count = float(whole("the number of people", count))
    elif nobody == bool(entries) and not unknown:
        raise ValueError(
            "names and nobody joined cannot both be true"
            if nobody
            else "enter who joined; if nobody did, mark that nobody joined"
        )
    return told


# The settings of a campaign


@ROUTER.get("/c/{slug}/settings")
def settings(context: Reader, slug: str) -> Response:
    """Show how the network was read, the notes, and the forms that change the campaign."""
    with context.store.held(slug) as opened:
        return _settings(context, opened)


def _settings(context: Context, opened: Opened, message: str = "", status: int = 200) -> Response:
    folder, form = opened.folder, context.form
    given = [clean(form.get(name, "")) for name in ("first", "second")]
    return _page(
        context,
        opened,
        "settings",
        status,
        message=message,
        form={"title": folder.options.title, "notes": folder.options.notes, "first": "", "second": ""} | form,
        read=folder.problem.told,
        ties=[" – ".join(tie) for tie in folder.options.ties],
        strange=[name for name in given if name and name not in folder.problem.names],
    )


@ROUTER.post("/c/{slug}/settings")
def change(context: Decider, slug: str) -> Response:
    """Change the title, the notes, or add a tie."""
    with context.store.held(slug) as opened:
        options, form = opened.folder.options, context.form
        try:
            check_mark(form.get("version"), opened.version)
            if "first" in form:
                tie = _new_tie(context, opened)
                opened.change(context.author, ties=(*options.ties, tie))
                return context.go(f"/c/{slug}/settings", f"The tie of {tie[0]} and {tie[1]} was added.")
            if "remove" in form:
                left = [tie for tie in options.ties if " – ".join(tie) != form["remove"]]
                opened.change(context.author, ties=tuple(left))
                return context.go(f"/c/{slug}/settings", f"The tie {form['remove']} was removed.")
            check_title(title := clean(context.text("title")))
            opened.change(context.author, title=title, notes=context.text("notes")[:10_000])
        except (NewerEventsError, TicketError):
            raise
        except ValueError as error:
            return _settings(context, opened, shown_error(error, context.store), 400)
        return context.go(f"/c/{slug}/settings", "The settings were stored.")


def _new_tie(context: Context, opened: Opened) -> tuple[str, str]:
    """Return the names of a tie to add; a name that the network does not have must be marked as new."""
    names, graph = opened.folder.problem.names, opened.folder.problem.graph
    given = [clean(context.form[name]) for name in ("first", "second")]
    if not all(given):
        raise ValueError("enter two different names")
    if context.text("new") != "1":
        names.find_all(given)
    one, other = (str(names.find(name)) if name in names else name for name in given)
    if one.casefold() == other.casefold():
        raise ValueError("enter two different names")
    check_names([one, other])
    u, v = (names.labels.index(names.find(name)) if name in names else -1 for name in (one, other))
    if graph is not None and ((graph.tails == u) & (graph.heads == v)).any():
        raise ValueError(f"the tie of {one} and {other} exists already")
    return one, other


@ROUTER.post("/c/{slug}/delete")
def delete(context: Decider, slug: str) -> Response:
    """Move a campaign to the folder of deleted ones."""
    with context.store.held(slug) as opened:
        if context.text("sure") != "1":
            return _settings(context, opened, "Tick the box to delete the campaign.", 400)
        title = opened.folder.options.title
    where = context.store.delete(slug)
    return context.go("/", f"{title} was deleted. Its files are still in the folder {where}.")


# Login


@ROUTER.get("/login")
def login_form(context: Anybody) -> Response:
    """Show the form of the login."""
    return context.page("login.html", title="Log in", message="")


@ROUTER.post("/login")
def login(context: Anybody) -> Response:
    """Begin a session of a user."""
    try:
        user, password = context.text("user")[:64], context.form.get("password", "")
        key = context.access.log_in(user, password, context.request)
    except Refusal as refusal:
        return context.page("login.html", refusal.status, title="Log in", message=refusal.message)
    response = context.go("/")
    context.access.give(response, key)
    return response


@ROUTER.post("/logout")
def logout(context: Reader) -> Response:
    """End the session."""
    context.access.sessions.pop(context.access.key_of(context.request), None)
    response = context.go("/login" if context.access.users is not None else "/")
    response.delete_cookie(context.access.cookie)
    return response
