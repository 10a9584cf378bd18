"""Every edit of journals of many kinds, and an interpreter of events that shares no code with `cmab`."""

import copy
import hashlib
import json
import math
from dataclasses import dataclass
from datetime import datetime

import networkx as nx
import numpy as np

from cmab import C2UCB, CTS, CUCB, Campaign, Context, Feedback, PrimalDualCUCB
from cmab.exploration.rejects import SuccessiveRejects
from oracles import DegreeHeuristic, Matching, TopK

TIES = nx.DiGraph([("ann", "bob"), ("bob", "cy"), ("dan", "ann"), ("cy", "eve")])
PAIRS = nx.Graph([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")])
FEATURES = np.arange(8.0).reshape(4, 2) / 64.0


def ties_oracle():
    return DegreeHeuristic(TIES, 2)


def reachable(people):
    found = set(people).union(*(nx.descendants(TIES, one) for one in people if one in TIES))
    return {tie for tie in TIES.edges if tie[0] in found}


def themselves(names):
    return set(names)


def either_way(names):
    return {end for edge in names if isinstance(edge, tuple) for end in (edge, edge[::-1])}


def context(number):
    return Context(available=np.ones(4, bool), features=FEATURES * (number + 1), values=np.ones(4))


@dataclass
class Kind:
    """How the learner of a journal is made, how it is asked, and what its reports can be about."""

    make: object
    triggered: object = themselves
    support: tuple = (0.0, 1.0)
    pulls: bool = False
    costs: bool = False
    context: object = None
    available: object = None


KINDS = {
    "list": Kind(lambda: CUCB(TopK(4, k=2))),
    "drawn": Kind(lambda: CTS(TopK(3, k=1).named(["tea", "milk", "mate"]))),
    "network": Kind(lambda: CTS(ties_oracle()), reachable),
    "matching": Kind(lambda: CTS(Matching(PAIRS)), either_way),
    "features": Kind(lambda: C2UCB(TopK(4, k=2), dimension=2), context=context),
    "available": Kind(lambda: CUCB(TopK(4, k=2)), available=[0, 2, 3]),
    "costs": Kind(lambda: PrimalDualCUCB(TopK(3, k=1), budgets=[500.0], horizon=1000), costs=True),
    "explorer": Kind(lambda: SuccessiveRejects(4, budget=60), support=(-math.inf, math.inf), pulls=True),
}


def played(kind, path):
    """Write a journal with late, partial, corrected, undone and cancelled reports."""
    campaign = Campaign(kind.make(), path, rng=5)
    rng = np.random.default_rng(1)

    def ask(number):
        return campaign.ask(kind.context and kind.context(number), available=kind.available)

    def report(request, only=None):
        ticket = request.ticket
        if kind.pulls:
            sums = rng.binomial(ticket.pulls, 0.5, len(ticket)).astype(float)
            return {
                "outcomes": Feedback(ticket, sums, pulls=np.full(len(ticket), ticket.pulls), squares=sums)
            }
        names = sorted(kind.triggered(request.names) & set(campaign.policy.oracle._arm_labels()), key=str)[
            :only
        ]
        costs = {"costs": {name: [0.25] for name in names}} if kind.costs else {}
        return {"outcomes": {name: float(rng.integers(2)) for name in names}, **costs}

    first, second, third = (ask(number) for number in range(3))
    campaign.tell(**report(second), ticket=second)
    campaign.tell(
        **report(first, only=None if kind.pulls else 1),
        ticket=first,
        **({} if kind.pulls else {"reward": 2.0}),
    )
    campaign.correct(**report(second), ticket=second)
    campaign.cancel(third)
    campaign.undo()
    campaign.tell(**report(third), ticket=third)
    campaign.undo()
    campaign.cancel(third)
    ask(3)
    campaign.tell(**report(fifth := ask(4)), ticket=fifth)
    return path


# Edits -----------------------------------------------------------------------------------------------------

DEEP = "[" * 3000 + "]" * 3000
NESTED = json.loads("[" * 200 + "]" * 200)
STRANGE = (None, True, "x", [], {}, -1, 0.5, math.nan, math.inf, 2**63, 10**400, [[1]], NESTED, DEEP)


def paths(node, path=()):
    """Yield the path of every entry of nested dicts and lists; of a list the first two and the last."""
    if isinstance(node, dict):
        entries = node.items()
    else:
        entries = [
            (place, node[place]) for place in sorted({*range(min(2, len(node))), len(node) - 1}) if node
        ]
    for key, value in entries:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from paths(value, (*path, key))


def neighbours(value):
    """Yield values of the same type that are a little different."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, -value, value * 1000 + 7)
    elif isinstance(value, list) and value:
        yield from (value[::-1], value[:-1], [*value, value[-1]], [*value, 0])
    elif isinstance(value, str):
        yield value + "x"
        if value[:2] == "20":
            yield from ("2001" + value[4:], "2999" + value[4:])
    elif isinstance(value, dict):
        yield {**value, "further": 1}


def edits(events):
    """Yield each edit of a journal: what it is, and its events."""
    for line, event in enumerate(events):
        for path in paths(event):
            if path[0] == "check":
                continue
            at = f"line {line + 1}, {'.'.join(map(str, path))}"
            value = event
            for key in path:
                value = value[key]
            for new in ("delete", *STRANGE, *neighbours(value)):
                edited = copy.deepcopy(event)
                inside = edited
                for key in path[:-1]:
                    inside = inside[key]
                if new == "delete":
                    del inside[path[-1]]
                else:
                    inside[path[-1]] = new
                text = "DEEP" if new is DEEP else f"{new!r:.40}"
                yield f"{at}: {text}", [*events[:line], edited, *events[line + 1 :]]
        rest = [*events[:line], *events[line + 1 :]]
        yield f"line {line + 1} dropped", rest
        yield f"line {line + 1} twice", [*events[: line + 1], *events[line:]]
        yield f"line {line + 1} last", [*rest, event]
        yield f"line {line + 1} one later", [*rest[: line + 1], event, *rest[line + 1 :]]


def written(events):
    """Return the bytes of a journal of these events, each line with a right checksum."""
    check, lines = "", []
    for event in events:
        text = json.dumps(event, separators=(",", ":")).replace(json.dumps(DEEP), DEEP)[:-1]
        check = hashlib.sha256((check + text).encode()).hexdigest()[:16]
        lines.append(f'{text},"check":"{check}"}}\n')
    return "".join(lines).encode()


def read(data):
    events = [json.loads(line) for line in data.splitlines()]
    for event in events:
        del event["check"]
    return events


# The interpreter -------------------------------------------------------------------------------------------


class Impossible(Exception):
    """What no campaign can have written."""


class ImpossibleHere(Impossible):
    """The same, as only somebody can tell who knows the learner."""


def need(condition, kind=Impossible):
    if not condition:
        raise kind


def whole(value, low=0, high=math.inf):
    return type(value) is int and low <= value <= high


def number(value, low=-1e308, high=1e308):
    return type(value) in (int, float) and low <= value <= high


def each(values, test):
    return type(values) is list and all(test(value) for value in values)


def name_like(value, depth=0):
    if type(value) is list:
        return depth < 50 and all(name_like(part, depth + 1) for part in value)
    return value is None or type(value) in (str, bool, int) or number(value)


def known_as(value):
    return tuple(map(known_as, value)) if type(value) is list else value


def shape(value, like):
    """Whether a state of a generator has the form of another one."""
    if type(like) is dict:
        return (
            type(value) is dict
            and set(value) - {"spawned"} == set(like)
            and all(map(shape, (value[k] for k in like), like.values()))
        )
    if type(like) is str:
        return value == like
    return whole(value)


BITS = {"bit_generator": "PCG64", "state": {"state": 0, "inc": 0}, "has_uint32": 0, "uinteger": 0}


def generator(value):
    need(shape(value, BITS))
    need(max(value["state"].values()) < 2**128 and value["state"]["inc"] % 2 == 1)
    need(value["has_uint32"] <= 1 and value["uinteger"] < 2**32)
    need(whole(value.get("spawned", 1), 1))


def plain(value, depth=0):
    parts = list(value.values()) if type(value) is dict else value
    if type(parts) is list:
        return depth < 100 and all(plain(part, depth + 1) for part in parts)
    return type(value) is not float or number(value)


class Interpreter:
    """Goes through the events by the rules of the page, one after the other."""

    def __init__(self, kind):
        self.kind = kind
        self.choices, self.names, self.tickets, self.events = [], [], [], []
        self.support, self.took = kind.support, []

    def run(self, events):
        """Return the outcomes by name of each told ticket and the numbers of pending ones."""
        need(events)
        for line, event in enumerate(events, 1):
            need(DEEP not in json.dumps(event) and type(event) is dict)
            kind = event.get("event")
            need(type(kind) is str and (kind == "campaign") == (line == 1))
            take = getattr(self, f"take_{kind}", None)
            need(take is not None)
            at = event.get("at")
            need(type(at) is str and len(at) == 29 and at[10] == "T" and at.endswith("+00:00"))
            try:
                datetime.fromisoformat(at)
            except ValueError:
                raise Impossible from None
            self.events.append(event)
            take(dict(event), line)
        for ticket in self.tickets:
            if ticket["state"] == "told":
                self.taken_in(ticket)
        told = {n: t["told"][1] for n, t in enumerate(self.tickets) if t["state"] == "told"}
        return told, [n for n, t in enumerate(self.tickets) if t["state"] == "pending"]

    def entries(self, event, needed, optional=()):
        found = set(event) - {"event", "at"}
        need(set(needed) <= found <= {*needed, *optional})

    def take_campaign(self, event, line):
        first = ("arms", "policy", "versions", "choices", "names", "format", "session", "rng", "support")
        self.entries(event, first, ("gone",))
        need(event["format"] == 3 and type(event["format"]) is int)
        need(type(event["session"]) is str and 0 < len(event["session"]) <= 64)
        need(type(event["rng"]) is dict and "seed_seq" in event["rng"])
        rng = dict(event["rng"])
        seeds = rng.pop("seed_seq")
        need("spawned" not in rng)
        generator(rng)
        if seeds is not None:
            need(
                type(seeds) is dict
                and set(seeds) == {"entropy", "spawn_key", "pool_size", "n_children_spawned"}
            )
            entropy = seeds["entropy"] if type(seeds["entropy"]) is list else [seeds["entropy"]]
            need(each(entropy, whole) and each(seeds["spawn_key"], whole))
            need(whole(seeds["pool_size"], 4, 2**20) and whole(seeds["n_children_spawned"], 0, 2**32 - 1))
        support = event["support"]
        if support is not None:
            need(each(support, lambda end: number(end) or end in ("inf", "-inf")) and len(support) == 2)
            self.support = tuple(map(float, support))
            need(self.support[0] < self.support[1])
        self.made_of(event)

    def take_changed(self, event, line):
        self.entries(event, ("arms", "policy", "versions", "choices", "names"), ("gone",))
        self.made_of(event)

    def made_of(self, event):
        need(
            type(event["arms"]) is dict and type(event["arms"].get("n_arms")) is int and plain(event["arms"])
        )
        need(
            type(event["policy"]) is dict
            and type(event["policy"].get("class")) is str
            and plain(event["policy"])
        )
        need(
            type(event["versions"]) is dict and all(type(text) is str for text in event["versions"].values())
        )
        for key, known in (("choices", self.choices), ("names", self.names)):
            need(each(event[key], name_like))
            gone = event.get("gone", {"choices": [], "names": []})
            need(type(gone) is dict and set(gone) == {"choices", "names"} and each(gone[key], whole))
            need(len(set(gone[key])) == len(gone[key]) and all(place < len(known) for place in gone[key]))
            known += map(known_as, event[key])
            need(len(set(known)) == len(known))
        need(event["arms"]["n_arms"] <= len(self.names))

    def take_ask(self, event, line):
        self.entries(
            event, ("ticket", "super_arm"), ("pulls", "propensity", "by_position", "draws", "context", "rng")
        )
        need(whole(event["ticket"]) and event["ticket"] == len(self.tickets))
        self.places(event["super_arm"], self.choices)
        pulls = event.get("pulls", 1)
        need(whole(pulls, 1, 2**53))
        need(pulls == 1 or self.kind.pulls, ImpossibleHere)
        need(number(event.get("propensity", 0.5), 0, 1))
        need(each(event.get("by_position", []), lambda chance: number(chance, 0, 1)))
        need(whole(event.get("draws", 0)))
        if "rng" in event:
            need(type(event["rng"]) is dict)
            generator(event["rng"])
        if "context" in event:
            self.context(event["context"], event["super_arm"])
        ticket = {"names": [self.choices[place] for place in event["super_arm"]], "pulls": pulls}
        self.tickets.append(ticket | {"state": "pending", "at": event["at"], "context": event.get("context")})

    def context(self, parts, super_arm):
        need(type(parts) is dict and set(parts) <= {"available", "features", "values", "costs"})
        if "available" in parts:
            need(each(parts["available"], lambda flag: type(flag) is bool))
            need(len(parts["available"]) == len(self.choices))
            need(all(parts["available"][place] for place in super_arm))
        if "features" in parts:
            need(each(parts["features"], lambda row: each(row, lambda x: number(x, -1e100, 1e100))))
            need(len(parts["features"]) == len(self.names) and len(set(map(len, parts["features"]))) == 1)
        for key in {"values", "costs"} & set(parts):
            need(each(parts[key], lambda x: number(x, -1e100, 1e100)) and len(parts[key]) == len(self.names))

    def places(self, places, names):
        need(each(places, lambda place: whole(place, 0, len(names) - 1)) and len(set(places)) == len(places))

    def pending(self, event):
        need(whole(event["ticket"], 0, len(self.tickets) - 1))
        return self.tickets[event["ticket"]]

    def passed(self, ticket, event):
        need(event["at"] >= ticket["at"])
        ticket["at"] = event["at"]

    def take_tell(self, event, line):
        self.entries(event, ("ticket", "arms", "outcomes"), ("reward", "pulls", "squares", "costs", "used"))
        ticket = self.pending(event)
        need(ticket["state"] == "pending")
        report = self.report(event, ticket)
        self.passed(ticket, event)
        ticket |= {"state": "told", "told": [line, report, event], "line": line}
        self.took.append((line, ticket, "pending", None))

    def take_correct(self, event, line):
        self.entries(
            event, ("ticket", "arms", "outcomes", "line"), ("reward", "pulls", "squares", "costs", "used")
        )
        ticket = self.pending(event)
        need(ticket["state"] == "told" and type(event["line"]) is int and event["line"] == ticket["line"])
        report = self.report(event, ticket)
        self.passed(ticket, event)
        self.took.append((line, ticket, "told", ticket["told"]))
        ticket["told"] = [line, report, event]

    def take_cancel(self, event, line):
        self.entries(event, ("ticket",))
        ticket = self.pending(event)
        need(ticket["state"] == "pending")
        self.passed(ticket, event)
        ticket["state"] = "cancelled"
        self.took.append((line, ticket, "pending", None))

    def take_undo(self, event, line):
        self.entries(event, ("line",))
        need(self.took and type(event["line"]) is int and self.took[-1][0] == event["line"])
        _, ticket, state, told = self.took.pop()
        self.passed(ticket, event)
        ticket |= {"state": state, "told": told}

    def report(self, event, ticket):
        arms, outcomes = event["arms"], event["outcomes"]
        self.places(arms, self.names)
        n = len(arms)
        need(each(outcomes, lambda x: number(x, -1e100, 1e100)) and len(outcomes) == n)
        need(number(event.get("reward", 0.0)))
        pulls = event.get("pulls", [1] * n)
        need(each(pulls, lambda p: whole(p, 1, 2**53)) and len(pulls) == n)
        need(ticket["pulls"] == 1 or pulls == [ticket["pulls"]] * n)
        if "squares" in event:
            squares = event["squares"]
            need(each(squares, lambda x: number(x, 0, 1e200)) and len(squares) == n)
            need(all(s >= o * o / p * (1 - 1e-9) for s, o, p in zip(squares, outcomes, pulls, strict=True)))
        if "costs" in event:
            costs = event["costs"]
            need(each(costs, lambda row: each(row, lambda x: number(x, 0, 1e100))) and len(costs) == n)
            need(len({len(row) for row in costs}) == 1)
        if "used" in event:
            need(each(event["used"], lambda x: number(x, 0, 1e100)))
            if "costs" in event:
                sums = [sum(column) for column in zip(*event["costs"], strict=True)]
                need(len(sums) == len(event["used"]))
                need(all(u >= s * (1 - 1e-12) for u, s in zip(event["used"], sums, strict=True)))
        self.by_the_learner(event, ticket, [self.names[place] for place in arms], pulls)
        return dict(zip([self.names[place] for place in arms], outcomes, strict=True))

    def by_the_learner(self, event, ticket, names, pulls):
        low, high = self.support
        means = [outcome / pull for outcome, pull in zip(event["outcomes"], pulls, strict=True)]
        need(all(low - 1e-9 <= mean <= high + 1e-9 for mean in means), ImpossibleHere)
        need(set(names) <= self.kind.triggered(ticket["names"]), ImpossibleHere)
        if self.kind.pulls:
            need(
                set(names) == set(ticket["names"]) and pulls == [ticket["pulls"]] * len(names), ImpossibleHere
            )
            if "squares" in event and math.isfinite(high - low):
                pairs = zip(means, event["squares"], pulls, strict=True)
                need(all((low + high) * m - low * high - s / p >= -1e-9 for m, s, p in pairs), ImpossibleHere)

    def taken_in(self, ticket):
        """What only a learner sees that takes a report in, so of those that stand at last."""
        _, outcomes, event = ticket["told"]
        if self.kind.costs:
            need(all(len(row) == 1 and row[0] <= 1 for row in event.get("costs", [])), ImpossibleHere)
        if self.kind.context and outcomes:
            features = (ticket["context"] or {}).get("features")
            need(features is not None and len(features[0]) == 2, ImpossibleHere)
            need(max(math.hypot(*features[arm]) for arm in event["arms"]) <= 1.0, ImpossibleHere)
