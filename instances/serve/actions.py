"""The actions on a campaign: choose, report, correct, cancel and undo."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from cmab.campaign.files import clean
from cmab.campaign.folder import read_reports, take_all
from cmab.campaign.reports import Report, Round, UnreachableError, report_of, round_of
from cmab.errors import NewerEventsError
from instances.serve import views
from instances.serve.context import CHANGED, Context, go
from instances.serve.refusals import Refusal, shown_error
from instances.serve.store import Opened

_LONGEST_LIST = 5_000
_IN_BETWEEN = (
    "Did you forget somebody in between? Mark them, or list them under"
    " 'may have joined without your knowledge'."
)


def check_mark(given: Any, now: int) -> None:
    """Raise `Refusal` unless an action was begun on the present state, so that a replay changes nothing."""
    if str(given) != str(now):
        raise Refusal(409, CHANGED)


def names_in_lines(text: str) -> list[str]:
    """Return the names of a text with one name a line."""
    found = [name for name in map(clean, text.splitlines()) if name]
    if len(found) > _LONGEST_LIST:
        raise Refusal(400, f"At most {_LONGEST_LIST:,} names can be entered; use a table for more.")
    return found


def choose(context: Context) -> Response:
    """Choose for the next round."""
    with context.store.held(context.slug) as opened:
        check_mark(context.form.get("version"), opened.version)
        without = names_in_lines(context.text("without"))
        of = opened.folder.ask(without, author=context.author)
        return go(f"/c/{context.slug}?done=chosen&round={of.number}")


def leave_out(context: Context) -> Response:
    """Cancel a round that waits, and choose again without a person, and without those left out before."""
    with context.store.held(context.slug) as opened:
        of = round_of(views.rounds_in(opened), context.number)
        check_mark(context.form.get("mark"), of.mark)
        name = context.text("name")
        opened.folder.problem.names.find(name)
        without = [*names_in_lines(context.text("without")), name]
        again = replace_round(opened, of, without, author=context.author)
        left_out = "&".join(["", *(f"out={at}" for at in _numbers(opened, without))])
        return go(f"/c/{context.slug}?done=replaced&round={again.number}&old={of.number}{left_out}")


def replace_round(opened: Opened, of: Round, without: list[str], *, author: str) -> Round:
    """Choose a round without some names, and cancel the former round in the same step."""
    if of.state != "waiting":
        raise Refusal(409, f"Round {of.number} does not wait for a report.")
    return opened.folder.ask(without, instead_of=of.number, author=author)


def _numbers(opened: Opened, names: list[str]) -> list[int]:
    """Return the numbers of names, which a short address can contain."""
    labels = opened.folder.problem.names.labels
    return sorted({labels.index(opened.folder.problem.names.find(name)) for name in names})


def cancel(context: Context) -> Response:
    """Cancel a round that waits for its report."""
    with context.store.held(context.slug) as opened:
        of = round_of(views.rounds_in(opened), context.number)
        check_mark(context.form.get("mark"), of.mark)
        opened.folder.cancel(of.number, author=context.author)
        return go(f"/c/{context.slug}?done=cancelled&round={of.number}")


def undo(context: Context) -> Response:
    """Take back the last report, correction or cancellation."""
    with context.store.held(context.slug) as opened:
        check_mark(context.form.get("version"), opened.version)
        opened.folder.undo(author=context.author)
        return go(f"/c/{context.slug}/history?done=undone")


def report_form(context: Context) -> Response:
    """Show the form of a report, or of a correction."""
    with context.store.held(context.slug) as opened:
        return _form(context, opened, round_of(views.rounds_in(opened), context.number))


def _form(
    context: Context,
    opened: Opened,
    of: Round,
    message: str = "",
    status: int = 200,
    *,
    is_lost: bool = False,
) -> Response:
    if of.state == "cancelled":
        raise Refusal(409, f"Round {of.number} was cancelled. Undo the cancellation before you report it.")
    known = views.known_people(opened, of)
    listed, more = known[:60], []
    ticked = {*context.lists.get("joined", [])}
    others = context.form.get("others")
    if others is None and of.joined:
        ticked = {str(name) for name in of.joined if str(name) in listed}
        more = [
            str(name) if step is None else f"{name} = {step}"
            for name, step in of.joined.items()
            if str(name) not in ticked or step is not None
        ]
        ticked -= {line.rpartition(" = ")[0] for line in more}
        others = "\n".join(more)
    return context.page(
        "report.html",
        status,
        **views.frame(opened),
        tab="current",
        of=of,
        known=listed,
        before=views.joined_before(opened, of),
        is_lost=is_lost,
        ticked=ticked,
        others=others or "",
        form=context.form,
        message=message,
        largest=opened.folder.options.largest,
        of_count=f"{of.count:g}"
        if of.state == "reported" and of.joined is None and of.count == of.count
        else "",
        when=views.when,
    )


def report(context: Context) -> Response:
    """Store a report or a correction; with an error, show the form again with its contents."""
    with context.store.held(context.slug) as opened:
        of = round_of(views.rounds_in(opened), context.number)
        check_mark(context.form.get("mark"), of.mark)
        try:
            opened.folder.tell(_report_of(context, opened, of), author=context.author)
        except UnreachableError as error:
            return _form(context, opened, of, f"{error.sentence} {_IN_BETWEEN}", 400, is_lost=True)
        except NewerEventsError:
            raise
        except ValueError as error:
            return _form(context, opened, of, shown_error(error, context.store), 400)
        done = "corrected" if of.state == "reported" else "reported"
        return go(f"/c/{context.slug}?done={done}&round={of.number}")


def _report_of(context: Context, opened: Opened, of: Round) -> Report:
    """Return the report of a form."""
    folder = opened.folder
    rounds, names = views.rounds_in(opened), folder.problem.names
    if not folder.is_network:
        results = {str(name): context.text(f"result-{at}") for at, name in enumerate(of.names)}
        entries = [f"{name}={value}" for name, value in results.items() if value not in ("", "unknown")]
        unknown = [name for name, value in results.items() if value in ("", "unknown")]
        if not entries:
            raise ValueError("enter the result of at least one item, or cancel the round")
        return report_of(
            rounds,
            names,
            of.number,
            entries,
            is_network=False,
            unknown=unknown,
            largest=folder.options.largest,
        )
    count, nobody = context.text("count"), context.text("nobody") == "1"
    entries = [*context.lists.get("joined", []), *names_in_lines(context.text("others"))]
    unknown = names_in_lines(context.text("unknown"))
    if count:
        if entries or unknown or nobody:
            raise ValueError("enter either names or only the number of people, not both")
        if not count.isdecimal() or len(count) > 9:
            raise ValueError(f"the number of people must be a whole number, got {count[:20]}")
        return Report(of.number, count=float(count))
    if nobody == bool(entries) and not unknown:
        raise ValueError(
            "names and nobody joined cannot both be true"
            if nobody
            else "enter who joined; if nobody did, mark that nobody joined"
        )
    return report_of(rounds, names, of.number, entries, is_network=True, unknown=unknown)


def upload_form(context: Context) -> Response:
    """Show the form for a table."""
    with context.store.held(context.slug) as opened:
        return context.page("upload.html", **views.frame(opened), tab="current", refused=None, message="")


def upload(context: Context) -> Response:
    """Store the reports of a table, if no line is refused or the user says so."""
    with context.store.held(context.slug) as opened:
        check_mark(context.form.get("version"), opened.version)
        file = context.files.get("table")
        data = context.form.get("text", "").encode() if file is None else file.data
        values = views.frame(opened) | {"tab": "current", "replace": context.text("replace")}
        if not data.strip():
            return context.page("upload.html", 400, **values, refused=None, message="Choose a file first.")
        try:
            reports, refused = read_reports(opened.folder, data)
            refused = [row._replace(reason=context.store.without_folder(row.reason)) for row in refused]
            if refused and context.text("accept") != "1":
                good = [{"round": each.number, "lines": len(each.lines)} for each in reports]
                text = data.decode("utf-8", "replace") if file is None else _text(data)
                return context.page(
                    "upload.html", 400, **values, refused=refused, good=good, text=text, message=""
                )
            may_replace = None if context.text("replace") == "1" else False
            stored = take_all(opened.folder, reports, is_correction=may_replace, author=context.author)
        except NewerEventsError:
            raise
        except ValueError as error:
            return context.page(
                "upload.html", 400, **values, refused=None, message=shown_error(error, context.store)
            )
        numbers = "".join(f"&stored={of.number}" for of in stored[:100])
        return go(f"/c/{context.slug}?done=uploaded&round={len(stored)}{numbers}")


def _text(data: bytes) -> str:
    from cmab.campaign.files import decoded

    return decoded(data)
