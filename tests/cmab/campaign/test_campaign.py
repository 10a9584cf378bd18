"""Campaigns by name: every call does what the events say, and a new process continues from them."""

import shutil
from dataclasses import dataclass
from datetime import timedelta

import networkx as nx
import numpy as np
import pytest

from cmab import (
    CTS,
    CUCB,
    LUCB1,
    Campaign,
    Context,
    Feedback,
    IndexPolicy,
    LinearOracle,
    ModelPolicy,
    read_campaign,
)
from cmab.campaign import replica as module
from cmab.errors import ChangedLearnerError, NewerEventsError, NothingToUndoError
from oracles import DegreeHeuristic, GraphicMatroid, Matching, ShortestPath, TopK

NAMES = ["ann", "bob", "cy", ("dan", 4), 5]


@dataclass(frozen=True, eq=False)
class Noisy(IndexPolicy):
    """Plain numpy, and a draw for every arm and round, also when it learns."""

    scale: float = 1.0

    def indices(self, stats, rng):
        return stats.means + self.scale * rng.random(len(stats.means)) / np.sqrt(stats.counts + 1.0)

    def update(self, state, feedback, ticket=None, rng=None):
        rng.random()
        super().update(state, feedback)


class Named(LinearOracle):
    """The best two of some things with names."""

    def __init__(self, names):
        self.names, self.n_arms = list(names), len(names)

    def solve(self, means, rng):
        return np.sort(np.argsort(-means, kind="stable")[:2])

    def solve_within(self, means, available, rng):
        return self.solve(np.where(available, means, -np.inf), rng)

    def labels(self, super_arm):
        return [self.names[arm] for arm in super_arm]


def campaign(where, names=NAMES, rng=7, **options):
    return Campaign(Noisy(Named(names)), where, rng=rng, **options)


def outcome(name, number):
    return float(sum(f"{name}{number}".encode()) // 3 % 2)


def play(running, rounds):
    """Play on, every third ticket late, and return what was asked for."""
    asked = []
    for _ in range(rounds):
        request = running.ask()
        asked.append((request.number, request.names))
        if request.number % 3:
            running.tell({name: outcome(name, request.number) for name in request.names}, request)
    return asked


def same(one, other):
    """Whether two campaigns are in the same state, to the last bit."""
    assert one.pending == other.pending
    for name in ("counts", "means", "deviations"):
        assert np.array_equal(getattr(one.state, name), getattr(other.state, name)), name


def test_a_new_process_continues_as_the_old_one(path):
    first = campaign(path)
    play(first, 5)
    first.close()
    shutil.copy(path, path.with_name("copy.db"))
    assert play(campaign(path.with_name("copy.db"), rng=99), 6) == play(first, 6)
    same(campaign(path), first)


def test_a_correction_is_as_if_told_right_at_once(where, tmp_path):
    wrong, right = campaign(where), campaign(tmp_path / "right.db")
    requests = [wrong.ask() for _ in range(3)], [right.ask() for _ in range(3)]
    for number, value in enumerate((0.0, 1.0, 1.0)):
        wrong.tell({requests[0][number].names[0]: float(number == 2)}, number)
        right.tell({requests[1][number].names[0]: value}, number)
    other = campaign(where)
    wrong.correct({requests[0][1].names[0]: 1.0}, 1)
    for one in (wrong, other, campaign(where)):
        same(one, right)
    assert wrong.undo()["event"] == "correct"
    assert wrong.undo()["ticket"] == 2
    assert wrong.pending == other.pending == (2,)
    same(campaign(where), wrong)
    with pytest.raises(ValueError, match="must be reported"):
        wrong.correct({"ann": 1.0}, 2)
    assert [(e["event"], e["undone"]) for e in wrong.history()][-4:] == [
        ("tell", True),
        ("correct", True),
        ("undo", False),
        ("undo", False),
    ]


def test_a_report_of_others_is_as_if_they_had_been_asked(path, tmp_path):
    one, other = campaign(path), campaign(tmp_path / "other.db")
    request, told = one.ask(), {"cy": 1.0, 5: 0.0}
    other.tell(told, other.ask(names=["cy", 5]))
    one.tell(dict.fromkeys(request.names, 1.0), request)
    one.correct(told, request, played=["cy", 5])
    same(one, other)
    same(campaign(path), other)
    assert one.history()[-1]["names"] == read_campaign(path)[0].names == ("cy", 5)
    assert campaign(path, NAMES[::-1]).state.counts.tolist() == [1, 0, 1, 0, 0]


def test_a_feedback_has_the_numbers_of_the_request(path):
    running = campaign(path)
    first, second = running.ask_many(2)
    turned = campaign(path, NAMES[::-1])
    with pytest.raises(ValueError, match="must be given by name, because ticket 0 was issued with other"):
        turned.tell(Feedback(first.ticket, [1.0, 0.0]), 0)
    running.tell(Feedback(first.ticket, [1.0, 0.0]), 0)
    turned.tell(dict.fromkeys(second.names, 0.0), 1)
    assert running.state.counts.sum() == 4
    same_names = turned.ask()
    turned.tell(Feedback(same_names.ticket, [1.0, 0.0]), same_names)


def test_undo_takes_back_what_was_seen_only(path):
    one, other = campaign(path), campaign(path)
    request = one.ask()
    one.tell({}, request)
    with pytest.raises(NewerEventsError, match="look at the last event"):
        other.undo()
    assert one.undo()["event"] == "tell"
    with pytest.raises(NothingToUndoError):
        one.undo()
    one.tell({}, request)
    assert other.pending == ()
    campaign(path).ask()
    assert other.undo()["event"] == "tell"
    assert one.pending == (0, 1)
    one.cancel(1)
    one.cancel(request)
    assert other.pending == ()
    assert other.undo()["event"] == "cancel"
    assert one.pending == other.pending == (0,)


def test_new_and_gone_arms_are_matched_when_that_is_said(path):
    play(campaign(path), 9)
    before, names = campaign(path), ["zoe", 5, "cy", "ann", "bob"]
    with pytest.raises(ValueError, match=r"new \(\['zoe'\]\).*gone \(\[\('dan', 4\)\]\)"):
        campaign(path, names)
    changed = campaign(path, names, accept_changes=True)
    kept = dict(zip(NAMES, before.state.counts.tolist(), strict=True))
    assert changed.state.counts.tolist() == [kept.get(name, 0) for name in names]
    # Both go on, each with what it knows, and neither loses a round of the other.
    play(changed, 4)
    play(before, 4)
    assert changed.pending == before.pending
    assert campaign(path, names).pending == changed.pending
    with pytest.raises(ValueError, match="accept_changes"):
        campaign(path)
    same(campaign(path, accept_changes=True), before)


@pytest.mark.parametrize("name", [b"x", float("nan"), ("ann", ["x"]), {}, "bob"])
def test_a_name_that_cannot_be_stored_leaves_no_file(path, name):
    with pytest.raises(ValueError, match=r"strings, finite numbers or tuples|'bob' twice"):
        campaign(path, ["ann", name, "bob"])
    assert not path.exists()


def test_another_learner_is_refused(path):
    campaign(path)
    with pytest.raises(ChangedLearnerError, match=r"scale 1.0 in the file, 2.0 here"):
        Campaign(Noisy(Named(NAMES), scale=2.0), path)
    with pytest.raises(ValueError, match=r"must be a campaign of .*Noisy"):
        Campaign(CTS(Named(NAMES)), path)
    with pytest.raises(TypeError, match="must not be an explorer"):
        Campaign(LUCB1(5, 1, delta=0.1), path.with_name("other.db"))


def test_contexts_are_stored_by_name(path):
    running = campaign(path)
    assert set(running.ask(available=["cy", "bob"])) == {"cy", "bob"}
    assert read_campaign(path)[0].context.available.tolist() == [False, True, True, False, False]
    with pytest.raises(ValueError, match="did you mean 'cy'"):
        running.ask(available=["cyy"])
    with pytest.raises(ValueError, match="got both"):
        running.ask(Context(available=np.ones(5, bool)), available=["cy"])


def test_features_are_stored_for_the_chosen_arms_only(path):
    from cmab import C2UCB

    def opened():
        return Campaign(C2UCB(TopK(400, k=2), dimension=20), path, rng=0)

    running, rng = opened(), np.random.default_rng(0)
    for _ in range(12):
        features = rng.random((400, 20)) / 5.0
        request = running.ask(Context(features=features))
        assert np.array_equal(request.ticket.context.features, features)
        running.tell({name: rng.random() for name in request}, request)
    assert path.stat().st_size < 200_000
    for name in ("precision", "moment"):
        assert np.array_equal(getattr(opened().state, name), getattr(running.state, name))


@pytest.mark.parametrize(
    ("report", "wanted"),
    [
        ([{"zoe": 1.0}], "known, got 'zoe'"),
        ([{(4, "dan"): 1.0}], r"did you mean \('dan', 4\)"),
        ([{"ann": 7.0}], "must lie in"),
        ([{"cy": 1.0}], r"ticket 0, \['ann', \('dan', 4\)\], can trigger, got also \['cy'\]"),
        ([{"ann": None}], "leave out unobserved outcomes"),
        ([["ann"]], "list of such pairs, got 'ann'"),
        ([], r"got neither; outcomes=\{\} reports"),
        ([{}, "0"], "ticket must be"),
    ],
)
def test_a_refused_report_changes_nothing(path, report, wanted):
    running = campaign(path, support=(0.0, 1.0))
    running.ask(available=["ann", ("dan", 4)])
    with pytest.raises(ValueError, match=wanted):
        running.tell(*report)
    assert (running.n_events, running.pending) == (2, (0,))


def test_tickets_expire_and_late_reports_are_learned(path):
    running = campaign(path, expires=timedelta(0))
    requests = [running.ask() for _ in range(5)]
    assert running.pending == (4,)
    campaign(path).tell({requests[0].names[0]: 1.0}, 0)  # late, by another process
    assert running.pending == (4,)
    assert running.state.counts.sum() == 1
    same(campaign(path), running)
    running.cancel(4)
    assert campaign(path, expires=timedelta(days=3)).pending == ()
    again = campaign(path)
    again.ask_many(5)
    assert len(again.pending) == 5  # the last age is stored


def test_batches_are_stored_together_or_not_at_all(where):
    running = campaign(where)
    requests = running.ask_many(3)
    assert [request.number for request in requests] == [0, 1, 2]
    reports = [{"ticket": one, "outcomes": {one.names[0]: 1.0}} for one in requests]
    with pytest.raises(ValueError, match=r"report 3: outcomes must|report 3: .*known, got 'x'"):
        running.tell_many([*reports[:2], {"ticket": 2, "outcomes": {"x": 1.0}}])
    with pytest.raises(ValueError, match="report 2: each ticket must be reported once, got 0 again"):
        running.tell_many([reports[0], reports[0]])
    assert (running.n_events, running.pending) == (4, (0, 1, 2))
    running.tell_many(reports[:2])
    running.tell_many(reports[2:])
    running.correct({}, 0)
    assert running.state.counts.sum() == 2
    same(campaign(where), running)
    again = running.ask(instead_of=running.ask())
    assert running.pending == (again.number,)
    name = again.names[0]
    assert running.ask(names=[name]).names == (name,) and running.history()[-1]["names"] == (name,)
    with pytest.raises(ValueError, match="names must be different names"):
        running.ask(names=[name, name])


def grid(turned):
    """A square with a diagonal, its edges and their ends in two orders."""
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "d")]
    return nx.Graph([(v, u) for u, v in reversed(edges)] if turned else edges)


def parallel(turned):
    """Two ties of different kinds between the same people, and one more."""
    edges = [("a", "b", "calls"), ("a", "b", "mails"), ("b", "c", "calls")]
    graph = nx.MultiGraph()
    graph.add_edges_from(edges[::-1] if turned else edges)
    return graph


ORDERS = {
    "names": lambda turned: Named(NAMES[::-1] if turned else NAMES),
    "matching": lambda turned: Matching(grid(turned)),
    "tree": lambda turned: GraphicMatroid(grid(turned)),
    "route": lambda turned: ShortestPath(grid(turned), "a", "c"),
    "influence": lambda turned: DegreeHeuristic(nx.DiGraph(grid(turned)), 1),
    "both ways": lambda turned: DegreeHeuristic(parallel(turned), 1),
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders_may_alternate_and_each_name_keeps_its_statistics(path, name):
    def opened(turned):
        return Campaign(CTS(ORDERS[name](turned)), path, rng=0)

    def own(arm):
        return frozenset(arm) if getattr(ORDERS[name](False), "is_undirected", False) else arm

    def learned(running):
        names = map(own, running.policy.oracle._arm_labels())
        return dict(zip(names, running.state.counts.tolist(), strict=True))

    expected = dict.fromkeys(learned(opened(False)), 0)
    for number in range(4):
        running = opened(number % 2 == 1)
        request = running.ask()
        arms = running.policy.oracle._arm_labels()
        people = [arm for arm in arms if isinstance(arm, tuple) and arm[0] in request.names]
        seen = ([arm for arm in arms if arm in request.names] or people)[number % 2 :]
        running.tell(dict.fromkeys(seen, 1.0), request)
        for arm in seen:
            expected[own(arm)] += 1
        assert learned(running) == learned(opened(False)) == learned(opened(True)) == expected


def test_a_snapshot_is_used_also_after_a_correction(where, monkeypatch):
    monkeypatch.setattr(module, "_EVERY", 10)
    running = campaign(where)
    play(running, 30)
    counted = []
    apply = module.Replay.apply
    monkeypatch.setattr(module.Replay, "apply", lambda *a: (counted.append(1), apply(*a)))
    same(campaign(where), running)
    assert 0 < len(counted) < 10
    running.undo()
    assert len(counted) < 30
    running.correct({}, 1)
    counted.clear()
    same(campaign(where), running)
    assert len(counted) < 10
    other = campaign(where, NAMES[::-1])  # its snapshot has another order
    assert other.state.counts.tolist() == running.state.counts.tolist()[::-1]


def test_a_name_can_be_forgotten(path):
    campaign(path).close()
    running = campaign(path)
    request = running.ask(available=["ann", "bob"])
    running.tell({"ann": 1.0}, request)
    assert b'"ann"' in path.read_bytes()
    running.forget("ann")
    assert not any(b'"ann"' in file.read_bytes() for file in path.parent.iterdir())
    assert running.ask(available=["ann", "bob"]).names == ("ann", "bob")  # as this process knows them
    running.tell({"ann": 1.0})
    assert running.history()[1]["names"] == ("(forgotten 4)", "bob")
    running.close()
    assert "ann" not in str(read_campaign(path).rows())
    with pytest.raises(ValueError, match=r"new \(\['ann'\]\).*gone \(\['\(forgotten 4\)'\]\)"):
        campaign(path)
    assert campaign(path, NAMES[1:], accept_changes=True).state.counts.sum() == 0
    with pytest.raises(ValueError, match="must be a name of the campaign, got 'zoe'"):
        running.forget("zoe")


@pytest.mark.parametrize("act", ["correct", "undo"])
def test_a_process_that_opens_misses_no_correction(act, where, monkeypatch):
    running, read = campaign(where), module.Store.read
    play(running, 4)

    def delayed(self, after=0, *, kinds=()):
        yield from read(self, after, kinds=kinds)
        if kinds == ("correct", "undo"):  # the events are read next
            monkeypatch.undo()
            request = running.ask()
            running.tell({}, request)
            running.correct({request.names[0]: 1.0}, request) if act == "correct" else running.undo()

    monkeypatch.setattr(module.Store, "read", delayed)
    opened = campaign(where)
    assert opened.pending == running.pending
    same(opened, running)


def test_a_report_about_a_removed_arm_keeps_the_rest(path):
    request = campaign(path).ask(names=NAMES[:2])
    smaller = campaign(path, NAMES[1:], accept_changes=True)
    with pytest.raises(ValueError, match="known"):
        smaller.tell({"nobody": 1.0, NAMES[1]: 1.0}, request.number)
    smaller.tell({NAMES[0]: 1.0, NAMES[1]: 1.0}, request.number)
    assert smaller.state.counts.tolist() == [1] + [0] * (len(NAMES) - 2)


def test_the_rounds_can_be_exported_and_read(path, tmp_path):
    running = campaign(path)
    play(running, 4)
    running.undo()
    table = read_campaign(path)
    assert [row.state for row in table] == ["pending", "told", "pending", "pending"]
    assert table.choices == NAMES
    assert table.statistics(Named(NAMES)).counts.tolist() == running.state.counts.tolist()
    for name in ("rounds.csv", "events.jsonl"):
        running.export(tmp_path / name)
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == len(running.history())
    with pytest.raises(ValueError, match="must end with"):
        running.export(tmp_path / "rounds.xml")


def test_propensities_are_stored(path):
    running = Campaign(CTS(TopK(3, k=1)), path, rng=0, propensity_draws=20)
    running.ask()
    row = read_campaign(path)[0]
    assert 0.0 < row.propensity < 1.0
    assert len(row.by_position) == 1
    plain = Campaign(CUCB(TopK(3, k=1)), path.with_name("plain.db"), rng=0, propensity_draws=2)
    plain.ask()
    assert read_campaign(path.with_name("plain.db"))[0].propensity == 1.0


def test_the_health_has_the_error_of_the_policy(path):
    class Broken(Named):
        def solve(self, means, rng):
            raise ArithmeticError("no licence")

    running = Campaign(Noisy(Broken(NAMES)), path, rng=0)
    with pytest.raises(ArithmeticError):
        running.ask()
    health = running.health()
    wanted = {"error": "ArithmeticError: no licence", "events": 1, "oldest_pending": None}
    assert health.items() >= wanted.items()


class Counted:
    """A model that counts its fits, and fails after 60 rows."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.fits += 1
        if len(X) > 60:
            raise ArithmeticError("too many rows")
        self.mean = np.average(y, weights=sample_weight)

    def predict(self, X):
        return np.full(len(X), self.mean)


def test_a_process_makes_the_last_fit_of_a_model_only_and_when_it_asks(path, caplog):
    def opened():
        features = np.eye(4)
        return Campaign(ModelPolicy(TopK(4, k=2), Counted(), features, exploration="none"), path, rng=0)

    running = opened()
    for number in range(24):
        running.tell(dict.fromkeys(request := running.ask(), number % 2 / 1), request)
    assert Counted.fits > 1
    Counted.fits = 0
    again = opened()
    again.tell({}, again.ask())
    assert Counted.fits == 1
    with pytest.warns(RuntimeWarning, match="too many rows"):
        for number in range(20):
            again.tell(dict.fromkeys(request := again.ask(), number % 2 / 1), request)
    assert "too many rows" in again.health()["error"]
    assert caplog.text.count("a fit of the model failed: ") == 2  # once for each fit
