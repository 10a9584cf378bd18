"""The pages of campaigns and the actions on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from cmab.campaign.files import clean
from cmab.campaign.folder import check_names
from cmab.campaign.page import views
from cmab.campaign.page.new import whole
from cmab.campaign.page.store import Opened
from cmab.campaign.page.web import Context, acted, shown, status_and_words
from cmab.campaign.progress import exported, history_of, last_action, listed, tables_of
from cmab.campaign.reports import Report, Round, entries_in, report_of, results_of, rounds_of


def _page(context: Context, opened: Opened, tab: str, **values: Any) -> Response:
    """Return a page of a campaign from the template of a tab."""
    options, is_network = opened.folder.options, opened.folder.is_network
    return context.page(
        f"{tab}.html",
        tab=tab,
        title=options.title,
        slug=opened.slug,
        version=opened.version,
        options=options,
        rounds=opened.rounds,
        waiting=[of for of in opened.rounds if of.state == "waiting"],
        names=opened.folder.problem.names,
        is_network=is_network,
        noun="people" if is_network else "items",
        one="person" if is_network else "item",
        **values,
    )


def home(context: Context) -> Response:
    """Show the campaigns."""
    rows: list[tuple[str, str, list[Round], str]] = []
    for slug, title in context.store.titles().items():
        try:
            with context.store.held(slug) as opened:
                rows.append((slug, title, opened.rounds, ""))
        except (ValueError, OSError) as error:
            rows.append((slug, title, [], status_and_words(error, context.store)[1]))
    return context.page("home.html", title="Campaigns", rows=rows)


def current(context: Context, opened: Opened, _: Round | None = None) -> Response:
    """Show the last five rounds that wait for a report, with reasons, and the way to the next round."""
    waiting = [of.number for of in opened.rounds if of.state == "waiting"][:-6:-1]
    cards = [opened.kept(views.card_of, number, number == waiting[0]) for number in waiting]
    return _page(context, opened, "current", cards=cards)


def state(context: Context, opened: Opened) -> Response:
    """Show the results so far and the expected result of another round."""
    return _page(context, opened, "state", state=opened.kept(views.state_of))


def history(context: Context, opened: Opened) -> Response:
    """Show all events, newest first, and the action that can be taken back."""
    rows = history_of(opened.folder)
    return _page(context, opened, "history", rows=rows[::-1], last=last_action(rows))


def export(context: Context, opened: Opened) -> Response:
    """Show the tables that can be stored."""
    return _page(context, opened, "export", tables=tables_of(opened.folder))


def download(context: Context, opened: Opened) -> Response:
    """Return a table as a file."""
    table = context.request.path_params["table"]
    if table not in tables_of(opened.folder):
        raise HTTPException(404, "There is no such table.")
    headers = {"Content-Disposition": f"attachment; filename={opened.slug}-{table}.csv"}
    return Response(exported(opened.folder, table), media_type="text/csv; charset=utf-8", headers=headers)


def printed(context: Context, opened: Opened) -> Response:
    """Show a page to print, for people without access."""
    return _page(context, opened, "print")


# Actions on rounds: each returns the next address and a sentence, or raises an error that a page shows.


def _names(context: Context, opened: Opened, field: str) -> list[str]:
    """Return the names of a field, in lines or between commas."""
    return [name for name, _ in entries_in(context.text(field), opened.folder.problem.names)]


def choose(context: Context, opened: Opened) -> Sequence[str]:
    """Choose for the next round."""
    of = opened.folder.ask(
        _names(context, opened, "without"),
        is_best=context.text("how") == "best",
        is_new_only=context.text("aim") == "new",
    )
    return f"/c/{opened.slug}", f"Round {of.number} was chosen."


def leave_out(context: Context, opened: Opened, old: Round) -> Sequence[str]:
    """Choose another person in place of one of a round that waits."""
    name = context.text("name")
    new = opened.folder.leave_out(old, name)
    found = listed(each for each in new.names if each not in old.names)
    told = f"{name} was left out of round {old.number}, and {found} was chosen instead."
    return f"/c/{opened.slug}", told


def cancel(context: Context, opened: Opened, of: Round) -> Sequence[str]:
    """Leave out a round that waits for its report, or a report."""
    opened.folder.cancel(of)
    told = f"Round {of.number} was left out: nothing is learned from it."
    place = f"/c/{opened.slug}"
    return f"{place}{'' if of.state == 'waiting' else '/state'}", told, f"{place}/history", "Undo"


def undo(context: Context, opened: Opened) -> Sequence[str]:
    """Take back the last report or correction, the last leaving out, or the last choice of other names."""
    opened.folder.campaign.undo()
    row = history_of(opened.folder)[-1]
    told = f"is no longer {row['details']}" if row["details"] else row["event"]
    return f"/c/{opened.slug}/history", f"Round {row['round']} {told}."


# Reports


def report_form(context: Context, opened: Opened, of: Round, lost: Sequence[str] = ()) -> Response:
    """Show the form of a report, or of a correction."""
    # The report of a round that was left out is that before its last event.
    events = [row for row in opened.folder.history() if row["line"] < of.mark]
    told = rounds_of(events)[of.number - 1] if of.state == "left out" else of
    known, form = views.known_people(opened.folder, told)[:60], context.form
    joined = told.joined or {}
    ticked = [name for name, step in joined.items() if name in known and step is None]
    others = {name: step for name, step in joined.items() if name not in ticked}
    lines = [name if step is None else f"{name} = {step}" for name, step in others.items()]
    is_count = told.state == "reported" and told.joined is None and not math.isnan(told.count)
    return _page(
        context,
        opened,
        "report",
        of=of,
        told=told,
        known=known,
        before=views.joined_before(opened.rounds, of),
        lost=lost,
        asked=dict.fromkeys((*told.planned, *told.names)),
        came=form.getlist("came") if form else told.names,
        ticked=form.getlist("joined") if form else ticked,
        others=form.get("others", "\n".join(lines)),
        count=form.get("count", f"{told.count:g}" if is_count else ""),
    )


def report(context: Context, opened: Opened, of: Round) -> Sequence[str]:
    """Store a report or a correction."""
    opened.folder.tell(of, _report_of(context, opened, of))
    done = "corrected" if of.state == "reported" else "stored"
    told, place = f"The report of round {of.number} was {done}.", f"/c/{opened.slug}"
    return place, told, f"{place}/rounds/{of.number}/report", "Correct it"


def _report_of(context: Context, opened: Opened, of: Round) -> Report:
    """Return the report of a form."""
    names = opened.folder.problem.names
    if not opened.folder.is_network:
        texts = [context.text(f"result-{at}") for at in range(len(of.names))]
        return results_of(of, texts, opened.folder.options.largest)
    count, nobody = context.text("count"), context.text("nobody") == "1"
    entries = [(name, "") for name in context.form.getlist("joined")]
    entries += entries_in(context.text("others"), names)
    unknown = _names(context, opened, "unknown")
    asked = [*context.form.getlist("came"), *_names(context, opened, "instead")]
    told = report_of(names, entries, asked=asked, unknown=unknown)
    told.alone = context.text("alone") == "1"
    if count:
        if entries or unknown or nobody:
            raise ValueError("enter either names or only the number of people, not both")
        told.count = float(whole("the number of people", count))
    elif nobody and entries:
        raise ValueError("names and nobody joined cannot both be true")
    elif not (nobody or entries or unknown):
        raise ValueError("enter who joined; if nobody did, mark that nobody joined")
    return told


# The settings of a campaign


def settings(context: Context, opened: Opened) -> Response:
    """Show how the network was read, the notes, and the forms that change the campaign."""
    problem, options = opened.folder.problem, opened.folder.options
    form = {"title": options.title, "notes": options.notes, "first": "", "second": "", **context.form}
    given = [clean(form["first"]), clean(form["second"])]
    return _page(
        context,
        opened,
        "settings",
        entered=form,
        problem=problem,
        ties=[" – ".join(tie) for tie in options.ties],
        strange=[name for name in given if name and name not in problem.names],
    )


def change(context: Context, opened: Opened) -> Sequence[str]:
    """Change the title and the notes."""
    given = {"title": clean(context.text("title")), "notes": context.text("notes")[:10_000]}
    context.store.check_title(given["title"], opened.slug)
    options = opened.folder.options
    if new := {name: text for name, text in given.items() if text != getattr(options, name)}:
        opened.folder.change(**new)
    return f"/c/{opened.slug}/settings", "The settings were stored."


def change_ties(context: Context, opened: Opened) -> Sequence[str]:
    """Add a tie, or remove one that was added."""
    ties, gone = opened.folder.options.ties, context.text("remove")
    if gone:
        new, told = tuple(tie for tie in ties if " – ".join(tie) != gone), f"The tie {gone} was removed."
    else:
        tie = _new_tie(context, opened)
        new, told = (*ties, tie), f"The tie of {tie[0]} and {tie[1]} was added."
    opened.folder.change(ties=new)
    return f"/c/{opened.slug}/settings", told


def _new_tie(context: Context, opened: Opened) -> tuple[str, str]:
    """Return the names of a tie to add; a name that the network does not have must be marked as new."""
    names, graph = opened.folder.problem.names, opened.folder.problem.graph
    given = [clean(context.text(name)) for name in ("first", "second")]
    if all(given) and context.text("new") != "1":
        names.find_all(given)
    one, other = (names.find(name) if name in names else name for name in given)
    if not all(given) or one.casefold() == other.casefold():
        raise ValueError("enter two different names")
    check_names([one, other])
    u, v = (names.number.get(name, -1) for name in (one, other))
    if graph is not None and ((graph.tails == u) & (graph.heads == v)).any():
        raise ValueError(f"the tie of {one} and {other} exists already")
    return one, other


def delete(context: Context, opened: Opened) -> Sequence[str]:
    """Move a campaign to the folder of deleted ones."""
    if context.text("sure") != "1":
        raise ValueError("tick the box to delete the campaign")
    title, where = opened.folder.options.title, context.store.delete(opened.slug)
    context.session.done.clear()  # another campaign can have the same addresses later
    return "/", f"{title} was deleted. Its files are still in the folder {where}."


_ROUND = "/c/{slug}/rounds/{number:int}"
ROUTES = [
    shown("/", home),
    shown("/c/{slug}", current),
    shown("/c/{slug}/state", state),
    shown("/c/{slug}/history", history),
    shown("/c/{slug}/export", export),
    shown("/c/{slug}/export/{table}.csv", download),
    shown("/c/{slug}/print", printed),
    shown("/c/{slug}/settings", settings),
    acted("/c/{slug}/settings", change, settings),
    acted("/c/{slug}/ties", change_ties, settings),
    acted("/c/{slug}/delete", delete, settings),
    acted("/c/{slug}/choose", choose, current),
    acted("/c/{slug}/undo", undo, history),
    acted(f"{_ROUND}/leave-out", leave_out, current),
    acted(f"{_ROUND}/cancel", cancel, current),
    shown(f"{_ROUND}/report", report_form),
    acted(f"{_ROUND}/report", report, report_form),
]
