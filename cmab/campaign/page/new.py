"""The form of a new campaign, which shows how the file was read before the campaign is made."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.responses import Response

from cmab.campaign.files import Options, Problem, clean, noted, number_in, problem_of
from cmab.campaign.page.store import check_unpacked
from cmab.campaign.page.web import Context, File, shown, shown_error

#: The columns of a network that the form can choose.
_COLUMNS = ("from_column", "to_column")


@dataclass
class Draft:
    """The options of a form, the file, the problem in it, its first rows, and all errors."""

    options: dict[str, Any]
    file: File | None = None
    problem: Problem | None = None
    preview: Any = None
    errors: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """A hash of how the file is read: the campaign is made only after it was shown in the same way."""
        reading = {name: value for name, value in self.options.items() if name not in ("title", "k")}
        return sha256(repr((reading, self.file)).encode("utf-8", "replace")).hexdigest()


def new(context: Context) -> Response:
    """Show the form of a new campaign."""
    return _form(context, None)


def _form(context: Context, draft: Draft | None) -> Response:
    status = 400 if draft is not None and draft.errors else 200
    once = context.form.get("once") or secrets.token_hex(8)
    return context.page("new.html", status, title="New campaign", once=once, draft=draft)


def create(context: Context) -> Response:
    """Show how the file was read, with all errors of the form, or make the campaign."""
    with context.session.lock:  # a second click waits for the first one
        if (answer := context.again()) is not None:
            return answer
        draft = draft_of(context)
        is_seen = context.form.get("seen") == draft.digest
        if draft.errors or draft.file is None or context.text("step") != "create" or not is_seen:
            return _form(context, draft)
        options = Options(**draft.options)
        slug = context.store.create(options, {draft.file.name: draft.file.data})
        context.session.upload = None
        return context.go(f"/c/{slug}", f"The campaign {options.title} was created.")


def draft_of(context: Context) -> Draft:
    """Return the options of the form, and the problem in the file."""
    draft, wrong = Draft({"title": clean(context.text("title"))}), list[str]()
    noted(wrong, context.store.check_title, draft.options["title"])
    k = noted(wrong, whole, "how many to choose in a round", context.text("k"), 1)
    draft.options["k"] = k or 1
    if context.text("kind") == "list":
        if context.text("names") and "list" not in context.files:
            draft.file = File("names.csv", context.text("names").encode())
        else:
            draft.file = _upload(context, "list")
        if context.text("largest"):
            draft.options["largest"] = noted(wrong, _largest, context.text("largest")) or 1.0
        missing = "enter the names, one a line, or choose a file with them"
    else:
        draft.file = _upload(context, "network")
        draft.options["directed"] = {"one": True, "both": False}.get(context.text("ties"))
        draft.options["header"] = {"yes": True, "no": False}.get(context.text("header"))
        draft.options |= {name: context.text(name) or None for name in _COLUMNS}
        missing = "choose the file of the network"
    if draft.file is None or not draft.file.data.strip():
        wrong.append(missing if draft.file is None else f"the file {draft.file.name} is empty")
        draft.file = None
    else:
        draft.options["names" if context.text("kind") == "list" else "network"] = draft.file.name
        noted(wrong, _read, draft)
    if draft.problem is not None and k is not None and k > (n_names := len(draft.problem.names.labels)):
        wrong.append(f"at most {n_names} names can be chosen in a round, got {k}")
    lines = (line for text in wrong for line in text.splitlines())
    draft.errors = [shown_error(ValueError(line), context.store) for line in lines]
    return draft


def _upload(context: Context, name: str) -> File | None:
    """Return the uploaded file of a form, or the one of the same form that was uploaded before."""
    once = context.form.get("once", "")
    if name in context.files:
        context.session.upload = once, context.files[name]
    kept = context.session.upload
    return kept[1] if kept is not None and kept[0] == once else None


def _read(draft: Draft) -> None:
    """Read the file. One name is chosen, so that a wrong number to choose does not hide other errors."""
    from instances.networks.network import first_rows

    assert draft.file is not None
    check_unpacked(draft.file.data)
    options, name = Options(**draft.options | {"title": "x", "k": 1}), draft.file.name
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / name).write_bytes(draft.file.data)
        try:
            draft.problem = problem_of(Path(place), options)
            draft.preview = draft.problem.preview
        except ValueError as error:
            if options.network:
                draft.preview = first_rows(Path(place) / name, options.header)
            named = f"the file {name}" if options.network else "the list"
            lines = [x.replace(name, named, 1) if x.startswith(name) else x for x in str(error).splitlines()]
            raise ValueError("\n".join(lines)) from None


def _largest(text: str) -> float:
    try:
        return number_in(text)
    except ValueError as error:
        raise ValueError(f"the largest result: {error}") from None


def whole(what: str, text: str, least: int = 0) -> int:
    """Return a text as a whole number of at most nine digits, or raise ``ValueError``."""
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise ValueError(f"{what}: enter a whole number, {least} or more, got {text[:20] or 'nothing'}")
    return int(text)


ROUTES = [shown("/new", new), shown("/new", create, "POST")]
