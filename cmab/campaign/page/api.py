"""The campaigns as a JSON interface, whose description FastAPI derives from the types."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from cmab.campaign.files import Options, clean
from cmab.campaign.page import views
from cmab.campaign.page.access import Refusal
from cmab.campaign.page.store import DAMAGED, Opened, file_name
from cmab.campaign.page.web import Anybody, Decider, Reader, Reporter, check_mark
from cmab.campaign.reports import report_of, round_of

DESCRIPTION = (
    "Send the key of the address, or the key that `/api/v1/login` returns, as `Authorization: Bearer KEY`."
    " Each action contains the `version` of the campaign or the `mark` of the round that it is based on. If"
    " something has changed since then, the answer has the status 409 and nothing was done."
)
#: Every answer with an error has a sentence in the member ``error``.
_ERRORS: Any = {
    status: {"description": what, "content": {"application/json": {"example": {"error": "..."}}}}
    for status, what in ((400, "Not valid"), (403, "Not allowed"), (404, "Not found"), (409, "Changed since"))
}
ROUTER = APIRouter(prefix="/api/v1", responses=_ERRORS)
Whole = Annotated[int, Field(ge=-(10**15), le=10**15)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e15, le=1e15)]
Names = Annotated[list[str], Field(max_length=100_000)]


class Body(BaseModel):
    """The base of all bodies of requests: no other types, no further members."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Login(Body):
    """A name and a password."""

    user: Annotated[str, Field(max_length=64)]
    password: Annotated[str, Field(max_length=1_000)]


class NewCampaign(Body):
    """The files and options of a new campaign, as text."""

    title: str
    network: str | None = None
    network_file: str = "network.csv"
    names: str | None = None
    directed: bool | None = None
    from_column: str | None = None
    to_column: str | None = None
    weight_column: str | None = None
    header: bool | None = None
    k: Whole = 1
    largest: Number = 1.0


class Marked(Body):
    """The mark of the round, as it was read."""

    mark: Whole


class Versioned(Body):
    """The version of the campaign, as it was read."""

    version: Whole


class Choose(Versioned):
    """A new choice, based on a version of the campaign."""

    without: Names = []
    instead_of: Whole | None = None


class Told(Marked):
    """A report: who joined with the step or null, or the result of each item, or only the number.

    If others were asked and came than those chosen, all of them are `asked`. If `alone` is true, people that
    no joined person can have told are accepted.
    """

    joined: dict[str, Whole | None] | Names | None = None
    results: dict[str, Number] | Names | None = None
    unknown: Names = []
    asked: Names | None = None
    alone: bool = False
    count: Number | None = None


class Next(BaseModel):
    """The best choice by the present estimates, its expected result, and the ends of a range of the model.

    ``better`` is the posterior probability that another choice brings at least 5 % more.
    """

    names: list[str]
    mean: float
    low: float
    high: float
    better: float


class Campaign(BaseModel):
    """A campaign; the version is the number of its events. A single one has its results so far."""

    id: str
    title: str
    kind: Literal["network", "list"]
    k: int
    version: int
    rounds: int
    waiting: list[int]
    mean: float | None = None
    next: Next | None = None
    bound: float | None = None


class Round(BaseModel):
    """A round; the mark changes with each of its events. A new one has the reasons for its names."""

    round: int
    state: Literal["waiting", "reported", "cancelled"]
    asked_at: str
    names: list[str]
    count: float | None
    joined: dict[str, int | None] | None
    reported_at: str | None
    corrected: bool
    author: str
    mark: int
    version: int | None = None
    reasons: list[str] | None = None


@ROUTER.post("/login")
def login(context: Anybody, body: Login) -> dict[str, str]:
    """Begin a session and return its key."""
    if context.access.users is None:
        raise Refusal(404, "There is no such page.")
    return {"key": context.access.log_in(body.user, body.password, context.request)}


@ROUTER.get("/campaigns")
def campaigns(context: Reader) -> dict[str, list[Campaign | dict[str, str]]]:
    """Return all campaigns."""
    rows: list[Campaign | dict[str, str]] = []
    for slug in context.store.slugs():
        try:
            with context.store.held(slug) as opened:
                rows.append(_campaign(opened))
        except (ValueError, OSError):
            rows.append({"id": slug, "title": slug, "error": DAMAGED})
    return {"campaigns": rows}


@ROUTER.post("/campaigns", status_code=201)
def create(context: Decider, body: NewCampaign) -> Campaign:
    """Make a campaign."""
    values = body.model_dump(exclude={"network_file"}) | {"title": clean(body.title)}
    files: dict[str, bytes] = {}
    for name, given in (("network", body.network_file), ("names", "a.csv")):
        if values[name] is not None:
            files[file_name(given, name)] = values[name].encode()
            values[name] = file_name(given, name)
    slug = context.store.create(Options(**values), files, author=context.author)
    with context.store.held(slug) as opened:
        return _campaign(opened)


@ROUTER.get("/campaigns/{slug}")
def campaign(context: Reader, slug: str) -> Campaign:
    """Return a campaign with its results so far."""
    with context.store.held(slug) as opened:
        state = views.state_of(opened)
        return _campaign(opened, mean=state["mean"], next=state["next"], bound=state["bound"])


@ROUTER.get("/campaigns/{slug}/rounds")
def rounds(context: Reader, slug: str) -> dict[str, list[Round]]:
    """Return all rounds."""
    with context.store.held(slug) as opened:
        return {"rounds": [_round(of) for of in views.rounds_in(opened)]}


@ROUTER.post("/campaigns/{slug}/rounds", status_code=201)
def choose(context: Decider, slug: str, body: Choose) -> Round:
    """Choose for the next round, or again for a round that waits."""
    with context.store.held(slug) as opened:
        check_mark(body.version, opened.version)
        of = opened.folder.ask(body.without, instead_of=body.instead_of, author=context.author)
        return _round(of, opened)


@ROUTER.post("/campaigns/{slug}/rounds/{number:int}/report")
def report(context: Reporter, slug: str, number: int, body: Told) -> Round:
    """Store a report or a correction."""
    with context.store.held(slug) as opened:
        folder, of = opened.folder, round_of(views.rounds_in(opened), number)
        check_mark(body.mark, of.mark)
        entries: Any = body.joined if folder.is_network else body.results
        if entries is None and (body.count is None or not folder.is_network):
            raise Refusal(400, "joined or results must be a list of names or an object.")
        if isinstance(entries, dict):
            entries = [name if value is None else f"{name}={value}" for name, value in entries.items()]
        told = report_of(
            of,
            folder.problem.names,
            entries or [],
            is_network=folder.is_network,
            unknown=body.unknown,
            asked=body.asked,
            largest=folder.options.largest,
        )
        told.alone, told.count = body.alone, body.count
        return _round(folder.tell(told, author=context.author), opened, has_reasons=False)


@ROUTER.post("/campaigns/{slug}/rounds/{number:int}/cancel")
def cancel(context: Decider, slug: str, number: int, body: Marked) -> Round:
    """Cancel a round."""
    with context.store.held(slug) as opened:
        of = round_of(views.rounds_in(opened), number)
        check_mark(body.mark, of.mark)
        opened.folder.cancel(of.number, author=context.author)
        return _round(views.rounds_in(opened)[of.number - 1], opened, has_reasons=False)


@ROUTER.post("/campaigns/{slug}/undo")
def undo(context: Decider, slug: str, body: Versioned) -> dict[str, int]:
    """Take back the last report, correction or cancellation."""
    with context.store.held(slug) as opened:
        check_mark(body.version, opened.version)
        event = opened.folder.undo(author=context.author)
        return {"line": event["line"], "round": event["round"]}


def _campaign(opened: Opened, **state: Any) -> Campaign:
    known, options = views.rounds_in(opened), opened.folder.options
    return Campaign(
        id=opened.slug,
        title=options.title,
        kind="network" if opened.folder.is_network else "list",
        k=options.k,
        version=opened.version,
        rounds=len(known),
        waiting=[of.number for of in known if of.state == "waiting"],
        **state,
    )


def _round(of: Any, opened: Opened | None = None, *, has_reasons: bool = True) -> Round:
    """Return a round; of an opened campaign with the version, and with the reasons if they are wanted."""
    found = Round(
        round=of.number,
        state=of.state,
        asked_at=of.asked,
        names=[str(name) for name in of.names],
        count=None if math.isnan(of.count) else of.count,
        joined=None if of.joined is None else {str(name): step for name, step in of.joined.items()},
        reported_at=of.told if of.state == "reported" else None,
        corrected=of.corrected,
        author=of.author,
        mark=of.mark,
    )
    if opened is not None:
        found.version = opened.version
    if opened is not None and has_reasons:
        reasons = views.card_of(opened, of, has_picture=False).reasons
        found.reasons = [reason.in_words(is_network=opened.folder.is_network) for reason in reasons]
    return found
