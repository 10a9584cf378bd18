"""Campaigns by name: what `Session` does to the last bit, and nothing told is ever lost."""

import copy
import json
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from places import SUPPORT
from refusals import refused

from cmab import (
    CTS,
    Campaign,
    Context,
    Feedback,
    IndexPolicy,
    LinearOracle,
    Session,
    copy_campaign,
    read_journal,
)
from cmab.campaigns.journal import events
from cmab.exploration.rejects import SuccessiveRejects
from oracles import (
    DegreeHeuristic,
    DirectedGraph,
    GraphicMatroid,
    InfluenceMaximization,
    Matching,
    MaxCoverage,
    ShortestPath,
    TopK,
)
from tests.instances.spreading.test_cascade_feedback import independent, live_arcs, steps, threshold

HELPER = SUPPORT / "killed_campaigns.py"


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


class NamedWithinReason(Named):
    """Names for super arms, numbers for base arms."""

    def _arm_labels(self):
        return list(range(self.n_arms))


NAMES = ["ann", "bob", "cy", ("dan", 4), 5]


def campaign(path, names=NAMES, rng=7, **options):
    return Campaign(Noisy(Named(names)), path, rng=rng, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "campaign.jsonl"


def outcome(name, number):
    return float(hash_free(f"{name}{number}") % 2)


def hash_free(text):
    return sum(text.encode()) // 3


def play(running, rounds):
    """Play on, every third ticket late, and return what was asked for."""
    asked = []
    for _ in range(rounds):
        request = running.ask()
        asked.append((request.number, request.names))
        if request.number % 3:
            told = {name: outcome(name, request.number) for name in request.names}
            running.tell(told, request)
    return asked


def same(one, other):
    """Whether two sessions are in the same state, to the last bit."""
    assert one.rng.bit_generator.state == other.rng.bit_generator.state
    assert one.pending == other.pending
    for name in ("counts", "means", "deviations"):
        assert np.array_equal(getattr(one.state, name), getattr(other.state, name)), name


def test_a_campaign_is_a_session_to_the_last_bit(path):
    running, session = campaign(path), Session(Noisy(Named(NAMES)), rng=7)
    for number in range(12):
        request, ticket = running.ask(), session.ask()
        assert (request.number, request.ticket.super_arm.tolist()) == (
            ticket.number,
            ticket.super_arm.tolist(),
        )
        assert list(request) == session.policy.oracle.labels(ticket.super_arm)
        if number == 4:
            running.cancel(request)
            session.cancel(ticket)
        elif number % 3:
            values = [outcome(name, number) for name in request]
            running.tell(dict(zip(request, values, strict=True)), request, reward=sum(values))
            session.tell(Feedback(ticket, values, reward=sum(values)), ticket)
        same(running.session, session)
    same(campaign(path, rng=99).session, session)


def test_one_made_anew_plays_the_identical_future(path, tmp_path):
    first = campaign(path)
    play(first, 5)
    other = tmp_path / "copy.jsonl"
    other.write_bytes(path.read_bytes())
    assert play(campaign(other), 6) == play(first, 6)


def test_what_has_no_seed_goes_on(path):
    """The entropy that numpy draws for a generator without a seed has 128 bits."""
    running = Campaign(TopK(4, 2), path)
    first = running.ask()
    assert Campaign(TopK(4, 2), path).pending == (first.number,)
    session, file = Session(CTS(TopK(4, 2))), path.with_suffix(".npz")
    session.save(file)
    assert Session.load(file, CTS(TopK(4, 2))).ask().super_arm.tolist() == session.ask().super_arm.tolist()


def test_a_correction_is_as_if_told_right_at_once(path, tmp_path):
    wrong, right = campaign(path), campaign(tmp_path / "right")
    requests = [wrong.ask() for _ in range(3)], [right.ask() for _ in range(3)]
    for number, value in enumerate((0.0, 1.0, 1.0)):
        wrong.tell({requests[0][number].names[0]: float(number == 2)}, number)
        right.tell({requests[1][number].names[0]: value}, number)
    wrong.correct({requests[0][1].names[0]: 1.0}, 1)
    same(wrong.session, right.session)
    same(campaign(path).session, right.session)
    assert wrong.undo()["event"] == "correct"
    assert wrong.undo()["ticket"] == 2
    assert wrong.pending == (2,)
    same(campaign(path).session, wrong.session)
    with pytest.raises(ValueError, match="was reported"):
        wrong.correct({"ann": 1.0}, 2)
    assert [(e["event"], e["undone"]) for e in wrong.history()][-4:] == [
        ("tell", True),
        ("correct", True),
        ("undo", False),
        ("undo", False),
    ]


def test_undo_takes_back_what_was_seen_only(path):
    one, other = campaign(path), campaign(path)
    request = one.ask()
    with pytest.raises(ValueError, match="newer events"):
        other.undo()
    with pytest.raises(ValueError, match="none left to undo"):
        other.undo()
    one.cancel(request)
    assert one.undo()["event"] == "cancel"
    assert one.pending == other.pending == (0,)


def test_arms_in_another_order_are_matched_by_name(path):
    play(campaign(path), 9)
    before = campaign(path).session
    turned = campaign(path, NAMES[::-1]).session
    assert np.array_equal(turned.state.means, before.state.means[::-1])
    assert np.array_equal(turned.state.counts, before.state.counts[::-1])


def test_new_and_gone_arms_are_matched_when_that_is_said(path):
    play(campaign(path), 9)
    before, names = campaign(path), ["zoe", 5, "cy", "ann", "bob"]
    with pytest.raises(ValueError, match=r"new \(\['zoe'\]\).*gone \(\[\('dan', 4\)\]\)"):
        campaign(path, names)
    changed = campaign(path, names, accept_changes=True)
    learned = dict(zip(names, changed.session.state.counts.tolist(), strict=True))
    kept = dict(zip(NAMES, before.session.state.counts.tolist(), strict=True))
    assert learned == {name: kept.get(name, 0) for name in names}
    # Both go on, each with what it knows, and neither loses a round of the other.
    play(changed, 4)
    play(before, 4)
    assert changed.pending == before.pending
    assert campaign(path, names).pending == changed.pending


@pytest.mark.parametrize("is_old", [False, True])
def test_who_is_gone_is_gone_in_any_order(path, is_old, monkeypatch):
    """Compared with who was there at the last change, not with all who ever were."""
    fewer = ["cy", 5, "bob", "ann"]
    with monkeypatch.context() as patch:
        if is_old:  # a journal whose lines do not say who is gone
            patch.setattr("cmab.campaigns.names.Names.gone", lambda _: [])
        play(campaign(path), 9)
        campaign(path, fewer, accept_changes=True)
    counts = dict(zip(fewer, campaign(path, fewer).session.state.counts.tolist(), strict=True))
    for names in (fewer[::-1], sorted(fewer, key=str), fewer):
        again = campaign(path, names).session
        assert dict(zip(names, again.state.counts.tolist(), strict=True)) == counts
    with pytest.raises(ValueError, match=r"new \(\[\('dan', 4\)\]\)"):
        campaign(path)
    play(campaign(path, accept_changes=True), 2)
    with pytest.raises(ValueError, match=r"gone \(\[\('dan', 4\)\]\)"):
        campaign(path, fewer[::-1])
    assert campaign(path, NAMES[::-1]).pending == campaign(path).pending


def test_names_of_another_type_are_told(path):
    campaign(path, ["ann", 5, (1, 2)])
    with pytest.raises(ValueError, match=r"2 base arms are of another type, 5 in the file, 5\.0 here"):
        campaign(path, ["ann", 5.0, (1, 2.0)])
    play(campaign(path, ["ann", 5.0, (1, 2.0)], accept_changes=True), 2)


def test_a_campaign_stays_where_it_was_begun(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    running = campaign("campaign.jsonl")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    running.ask()
    assert running.pending == campaign(tmp_path / "campaign.jsonl").pending == (0,)
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    "name", [b"x", float("nan"), ("ann", b"x"), ("ann", ["x"]), ["x"], {}, ("ann", TopK)]
)
def test_a_name_that_cannot_be_written_leaves_no_file(path, name):
    with pytest.raises(ValueError, match="strings, finite numbers or tuples"):
        campaign(path, ["ann", name, "bob"])
    assert not path.exists()


@pytest.mark.parametrize("text", [b"", b"\n", b'{"event":', b'{"event":"campaign",', b"hello"])
def test_what_is_no_journal_has_no_events(path, text):
    path.write_bytes(text)
    with pytest.raises(ValueError, match="must be the journal of a campaign"):
        read_journal(path)


def test_arms_without_names_are_not_matched(path):
    Campaign(Noisy(NamedWithinReason("abc")), path, rng=0)
    with pytest.raises(ValueError, match="define arm_labels"):
        Campaign(Noisy(NamedWithinReason("bac")), path, accept_changes=True)


@pytest.mark.parametrize(
    ("learner", "wanted"),
    [
        (lambda: Noisy(Named(NAMES), scale=2.0), "scale 1.0 in the file, 2.0 here"),
        (lambda: SuccessiveRejects(5, budget=50), "must be a journal of policy"),
    ],
)
def test_another_learner_is_refused(path, learner, wanted):
    campaign(path)
    with pytest.raises(ValueError, match=wanted):
        Campaign(learner(), path)


def test_contexts_are_kept_by_name(path):
    running = campaign(path)
    request = running.ask(available=["cy", "bob"])
    assert set(request) == {"cy", "bob"}
    turned = campaign(path, NAMES[::-1]).session
    assert turned._open[0].context.available.tolist() == [False, False, True, True, False]
    with pytest.raises(ValueError, match="did you mean 'cy'"):
        running.ask(available=["cyy"])
    with pytest.raises(ValueError, match="got both"):
        running.ask(Context(available=np.ones(5, bool)), available=["cy"])


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ({"zoe": 1.0}, "known, got 'zoe'"),
        ({(4, "dan"): 1.0}, r"did you mean \('dan', 4\)"),
        ({"ann": 7.0}, "must lie in"),
        ({"cy": 1.0}, r"ticket 0, \['ann', \('dan', 4\)\], can trigger, got also \['cy'\]"),
        ({"ann": "x"}, "must be numbers"),
        (["ann"], "list of such pairs, got 'ann'"),
        ([1.0, 0.0], "list of such pairs, got 1.0"),
        ([("ann", 1.0, 3)], "list of such pairs"),
    ],
)
def test_a_refused_report_leaves_no_trace(path, told, wanted):
    running = campaign(path)
    request = running.ask(available=["ann", ("dan", 4)])
    before = path.read_bytes()
    support = Campaign(Noisy(Named(NAMES)), path.with_name("other"), support=(0.0, 1.0))
    support.ask(available=["ann", ("dan", 4)])
    with pytest.raises(ValueError, match=wanted):
        support.tell(told, 0)
    assert path.read_bytes() == before
    assert running.pending == support.pending == (request.number,)


def test_lines_that_were_changed_are_named(path):
    play(campaign(path), 4)
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines):
        for spoilt in ([line.replace(b"1", b"3", 1)], []):
            if not spoilt and number == len(lines) - 1:
                continue  # a file that ends earlier is a whole file
            path.write_bytes(b"".join(lines[:number] + spoilt + lines[number + 1 :]))
            with pytest.raises(ValueError, match=f"line {number + 1}, must end|must be the journal"):
                campaign(path)
    path.write_bytes(b"".join([lines[0], *lines[2:3], lines[1], *lines[3:]]))
    with pytest.raises(ValueError, match="line 2,"):
        events(path)


def test_a_torn_line_is_as_if_never_written(path):
    running = campaign(path)
    request = running.ask()
    whole = path.read_bytes()
    running.tell({request.names[0]: 1.0}, request)
    told = path.read_bytes()
    for end in range(len(whole), len(told)):
        path.write_bytes(told[:end])
        again = campaign(path)
        # All but the end of the line: nothing is missing.
        assert again.pending == (() if end == len(told) - 1 else (0,))
        assert path.read_bytes() == (told if end == len(told) - 1 else whole)


@pytest.mark.parametrize("text", [b"precious", b"a,b\n1,2\n", b'{"event":"other"}\n'])
def test_other_files_are_left_alone(path, text):
    path.write_bytes(text)
    with pytest.raises(ValueError, match="must be the journal of a campaign"):
        campaign(path)
    assert path.read_bytes() == text


@pytest.mark.parametrize("size", [1, 18, 19, 30, -60, -2])
@pytest.mark.parametrize("is_kept", [False, True])
def test_a_journal_that_was_cut_in_its_first_line_is_no_new_campaign(path, size, is_kept):
    running = campaign(path)
    play(running, 2)
    if is_kept:
        running._records.keep_checkpoint()
    first = path.read_bytes().split(b"\n")[0]
    path.write_bytes(first[:size])
    for opened in (campaign, read_journal, lambda place: copy_campaign(place, path.with_suffix(".db"))):
        with pytest.raises(ValueError, match="the first line is not whole: restore a backup"):
            opened(path)
    assert path.read_bytes() == first[:size]
    path.write_bytes(b"")
    assert play(campaign(path), 2)  # an empty file has lost nothing


def test_a_full_disk_changes_nothing(path, monkeypatch):
    running = campaign(path)
    request = running.ask()
    before, session = path.read_bytes(), running.session
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
        for call in (running.ask, lambda: running.tell({request.names[0]: 1.0}, 0)):
            with pytest.raises(OSError, match="No space"):
                call()
            assert path.read_bytes() == before
    same(running.session, session)


def test_a_shorter_file_is_noticed(path):
    running = campaign(path)
    running.ask()
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ValueError, match="replaced or shortened"):
        running.ask()


def test_threads_share_a_campaign(path):
    running, numbers = campaign(path), []

    def serve():
        for _ in range(10):
            request = running.ask()
            numbers.append(request.number)
            running.tell({request.names[0]: 1.0}, request)

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(30))
    same(campaign(path).session, running.session)


def helper(*arguments):
    command = [sys.executable, str(HELPER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
@pytest.mark.parametrize("kills", [8, 100])
def test_a_killed_campaign_loses_no_told_round(path, kills):
    """SIGKILL at random moments: whatever `tell` returned from stands in the journal."""
    found = helper("kill", path, kills)
    assert found["lost"] == []
    assert found["killed"] == kills
    assert found["told"] > 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
def test_two_processes_lose_no_round_and_remember_the_same(path):
    found = helper("share", path, 25)
    assert found["told"] == list(range(50))
    assert found["states"] == [found["replayed"]] * 2


def test_explorers_and_batches(path):
    running = Campaign(SuccessiveRejects(4, budget=60), path, rng=0)
    session = Session(SuccessiveRejects(4, budget=60), rng=0)
    while not running.is_done:
        request, ticket = running.ask(), session.ask()
        draws = {arm: [float((arm + j) % 2) for j in range(ticket.pulls)] for arm in request}
        running.tell({arm: d if ticket.pulls > 1 else d[0] for arm, d in draws.items()}, request)
        sums = [sum(draws[arm]) for arm in ticket]
        session.tell(Feedback(ticket, sums, pulls=np.full(len(ticket), ticket.pulls), squares=sums), ticket)
    assert running.recommend() == session.recommend().tolist()
    assert Campaign(SuccessiveRejects(4, budget=60), path).is_done


def test_coverage_speaks_of_edges(path):
    graph = nx.Graph()
    graph.add_nodes_from(["news", "blog"], bipartite=0)
    graph.add_nodes_from(["ann", "bob"], bipartite=1)
    graph.add_edges_from([("news", "ann"), ("news", "bob"), ("blog", "bob")])
    oracle = MaxCoverage(graph, 2)
    running = Campaign(Noisy(oracle, scale=0.0), path, rng=0)
    running.tell({("news", "bob"): 1.0}, running.ask())
    assert running.session.state.counts.tolist() == [0, 1, 0]
    with pytest.raises(
        ValueError, match=r"report for MaxCoverage must be outcomes of base arms, .* got joined"
    ):
        running.tell(ticket=running.ask(), joined=["ann"])


@pytest.mark.parametrize("make", [independent, threshold])
def test_steps_of_people_tell_what_the_environment_shows(make):
    rng = np.random.default_rng(0)
    for trial in range(60):
        environment = make(rng, "node")
        oracle = InfluenceMaximization(environment.graph, 3, model=environment.model)
        seeds = rng.choice(10, 3, replace=False)
        shown, live = environment.play(seeds, np.random.default_rng(trial)), live_arcs(environment, trial)
        _, since = steps(environment.graph, live, seeds.tolist())
        told = oracle.feedback_of(seeds, joined=since)
        wanted = dict(zip(shown.arms.tolist(), shown.outcomes.tolist(), strict=True))
        assert dict(zip(told.arms.tolist(), told.outcomes.tolist(), strict=True)) == wanted
        assert told.reward == shown.reward


FRIENDS = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan"), ("cy", "dan"), ("dan", "eve")])


test_reports_that_cannot_be_are_refused = refused(
    ({}, "got nothing"),
    ({"active": ["bob"]}, "got active"),
    ({"joined": ["dan"]}, "got 'dan': no path .* list them in unseen. Otherwise, add the edge"),
    (
        {"joined": {"bob": 1, "dan": None, "eve": 2}},
        "got 'eve' in step 2.* in step 3 at",
    ),
    ({"joined": ["bob"], "unseen": ["bob"]}, "in both"),
    ({"joined": ["bob"], "known": {("cy", "dan"): 1}}, "got .'cy', 'dan'. from somebody"),
    ({"joined": ["bob"], "known": {("bob", "dan"): 1}}, "got .'bob', 'dan'. to somebody"),
    ({"joined": ["bob"], "known": {("ann", "bob"): 0.5}}, "outcomes 1 or 0, got 0.5"),
    ({"joined": ["bob"], "known": [("ann", "bob")]}, "mapping of edges"),
    ({"joined": ["bob"], "known": {("ann", "bob"): 0}}, "got 'bob': no path"),
    ({"joined": ["bob"], "known": {}, "carried": []}, "known must be left out"),
    ({"joined": "bob", "carried": []}, "list of names"),
    ({"joined": ["zoe"], "carried": []}, "names of the graph, got 'zoe'"),
    ({"joined": ["dan"], "carried": []}, "lead from the seeds, got 'dan' without .* Add .* report steps"),
    ({"joined": [], "carried": [("ann", "bob")]}, "people who joined"),
    ({"joined": {"dan": 1}}, "from the step before, got 'dan' in step 1: no edge .* step 0. Correct"),
    ({"joined": {"bob": 0}}, "only the seeds"),
    ({"joined": {"bob": 10**30}}, r"step of 'bob' must be an integer in \[0, 4\]"),
    ({"joined": {"bob": 1}, "unseen": ["bob"]}, "in both"),
    (
        {"joined": {"bob": 1, "cy": 2}, "carried": [("ann", "bob"), ("ann", "cy")]},
        "from step 0 to step 2",
    ),
    ({"joined": {"bob": 2}, "carried": [("ann", "bob")]}, "from step 0 to step 2"),
    ({"joined": {"bob": 1, "dan": 1}, "carried": [("ann", "bob"), ("bob", "dan")]}, "'dan' in step 1"),
    ({"joined": {"bob": 0}, "carried": [("ann", "bob")]}, "only the seeds"),
    ({"joined": {"bob": None}, "carried": [("ann", "bob")]}, "step of 'bob' must be an integer"),
    ({"joined": [("ann", ["x"])], "carried": []}, "names of the graph, got .'ann', .'x'.."),
    ({"joined": [("ann", {})], "carried": []}, "names of the graph, got .'ann', {}."),
    ({"joined": ["bob"], "carried": [("bob", "ann")]}, r"did you mean \('ann', 'bob'\).* other direction"),
    ({"joined": ["bob"], "carried": ("ann", "bob")}, r"got 'ann'. A tie is .* such as \('ann', 'bob'\)"),
    by=lambda report: DegreeHeuristic(FRIENDS, 1).feedback_of([0], **report),
)


@pytest.mark.slow
def test_steps_and_ties_of_a_cascade_agree():
    """All that an environment can show is taken, live edges to people who had joined already as well."""
    rng = np.random.default_rng(1)
    for trial in range(60):
        environment = independent(rng)
        names, oracle = environment.graph.arc_labels, InfluenceMaximization(environment.graph, 3)
        seeds = rng.choice(10, 3, replace=False)
        shown, live = environment.play(seeds, np.random.default_rng(trial)), live_arcs(environment, trial)
        _, since = steps(environment.graph, live, seeds.tolist())
        carried = [names[arm] for arm in shown.arms[shown.outcomes == 1.0]]
        told = oracle.feedback_of(seeds, joined=since, carried=carried)
        assert (told.arms.tolist(), told.outcomes.tolist(), told.reward) == (
            sorted(shown.arms.tolist()),
            [float(live[arm]) for arm in sorted(shown.arms)],
            shown.reward,
        )
        later = next((node for node, step in since.items() if step), None)
        if later is not None:
            with pytest.raises(ValueError, match="step"):
                oracle.feedback_of(seeds, joined=since | {later: since[later] + 1}, carried=carried)


def test_what_was_not_seen_is_left_out():
    oracle = DegreeHeuristic(FRIENDS, 1)
    names = oracle._arm_labels()

    def told(**report):
        feedback = oracle.feedback_of([0], **report)
        return {names[arm]: value for arm, value in zip(feedback.arms, feedback.outcomes, strict=True)}

    first = {("ann", "bob"): 1.0, ("ann", "cy"): 0.0}
    assert told(joined=["bob"], carried=[["ann", "bob"]]) == first | {("bob", "dan"): 0.0}
    assert told(joined=["bob"], carried=[("ann", "bob")], unseen=["bob"]) == first
    assert told(joined={"bob": 1, "dan": 2}, carried=[("ann", "bob")], unseen=["bob"]) == first | {
        ("dan", "eve"): 0.0
    }
    # Whether cy joined is not known: so it is not either who told dan.
    assert told(joined={"bob": 1, "dan": 2}, unseen=["cy"]) == {("ann", "bob"): 1.0, ("dan", "eve"): 0.0}


def test_parallel_arcs_have_numbers():
    graph = DirectedGraph.from_edges([0, 0, 0], [1, 1, 2], labels=["a", "b", "c"])
    assert DegreeHeuristic(graph, 1)._arm_labels() == [("a", "b", 0), ("a", "b", 1), ("a", "c")]


def test_names_that_are_alike_are_refused(path):
    with pytest.raises(ValueError, match="'ann' twice"):
        campaign(path, ["ann", "bob", "ann"])
    with pytest.raises(ValueError, match="strings, finite numbers or tuples"):
        campaign(path, ["ann", "bob", TopK])


def grid(turned):
    """A square with a diagonal, its edges and their ends in two orders."""
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "d")]
    return nx.Graph([(v, u) for u, v in reversed(edges)] if turned else edges)


@pytest.mark.parametrize(
    "make",
    [
        lambda turned: Matching(grid(turned)),
        lambda turned: GraphicMatroid(grid(turned)),
        lambda turned: ShortestPath(grid(turned), "a", "c"),
    ],
    ids=["matching", "tree", "route"],
)
def test_edges_without_direction_have_two_names(path, make):
    running = Campaign(Noisy(make(False)), path, rng=0)
    for number in range(4):
        request = running.ask()
        running.tell({edge[:: (-1) ** number]: outcome(edge, number) for edge in request}, request)
    before, again = running.session, Campaign(Noisy(make(True)), path)
    after, last = again.session, events(path)[-1]

    def learned(session):
        names = session.policy.oracle._arm_labels()
        rows = zip(session.state.means.tolist(), session.state.counts.tolist(), strict=True)
        return dict(zip(map(frozenset, names), rows, strict=True))

    assert learned(after) == learned(before)
    assert (last["event"], last["choices"], last["names"]) == ("changed", [], [])
    assert isinstance(again.ask().names[0], tuple)


def test_ends_of_an_edge_may_be_turned_in_place(path):
    for edge in (("a", "b"), ("b", "a")):
        play(Campaign(Noisy(GraphicMatroid(nx.Graph([edge]))), path, rng=0), 1)


def test_directed_edges_are_not_turned(path):
    one, other = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("a", "b"), ("c", "b"), ("b", "c")])
    running = Campaign(Noisy(ShortestPath(one, "a", "c")), path, rng=0)
    with pytest.raises(ValueError, match=r"did you mean \('a', 'b'\)"):
        running.tell({("b", "a"): 1.0}, running.ask())
    with pytest.raises(ValueError, match=r"1 base arm is new \(\[\('c', 'b'\)\]\)"):
        Campaign(Noisy(ShortestPath(other, "a", "c")), path)


def test_one_bit_that_turned_is_always_noticed(path):
    play(campaign(path), 3)
    data = path.read_bytes()
    for place in [*range(0, len(data), 7), *range(len(data) - 40, len(data))]:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ValueError, match=r"must end with the checksum|must be the journal"):
            events(path)


def test_another_file_is_noticed(path):
    running = campaign(path)
    running.ask()
    other = path.with_name("other.jsonl")
    play(campaign(other, rng=8), 5)
    other.replace(path)
    with pytest.raises(ValueError, match="must not be replaced"):
        running.ask()
    path.unlink()
    with pytest.raises(FileNotFoundError):
        running.ask()
    assert not path.exists()


def test_a_drive_without_locks_is_refused(path, monkeypatch):
    def refuse(_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("cmab.campaigns.stores._journal_file._lock", refuse)
    with pytest.raises(OSError, match="must be on a drive that can lock files"):
        campaign(path)


@pytest.mark.parametrize("wrong", [{"rng": "x"}, {"support": (1.0, 0.0)}])
def test_what_cannot_be_leaves_no_file(path, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        campaign(path, **wrong)
    assert not path.exists()


def test_copies_go_on_in_the_same_file(path):
    running = campaign(path)
    copies = [copy.copy(running), copy.deepcopy(running), pickle.loads(pickle.dumps(running))]
    assert [one.ask().number for one in (running, *copies)] == [0, 1, 2, 3]
    running.tell({running.history()[1]["names"][0]: 1.0}, 0)
    running.correct({running.history()[1]["names"][0]: 0.0}, 0)
    assert {one.ask().number for one in copies} == {4, 5, 6}
    assert running.pending == copies[0].pending == (1, 2, 3, 4, 5, 6)


def test_another_version_is_written_down(path, monkeypatch):
    campaign(path)
    monkeypatch.setattr(np, "__version__", "99.0")
    assert events(campaign(path)._records.store.where)[-1]["versions"]["numpy"] == "99.0"
    assert len(events(campaign(path)._records.store.where)) == 2


def test_what_is_no_report_is_refused_in_words(path):
    running = campaign(path)
    request = running.ask()
    with pytest.raises(ValueError, match=r"got neither; outcomes=\{\} reports"):
        running.tell(ticket=request)
    with pytest.raises(ValueError, match="reward must be part of the Feedback"):
        running.tell(Feedback(request.ticket, [1.0, 1.0]), request, reward=1.0)
    running.tell({}, request)
    for ticket in ([0], "0", None, 0.0, np.float64(0.0), False):
        with pytest.raises(ValueError, match="ticket must be"):
            running.correct({}, ticket)
    with pytest.raises(TypeError, match="an oracle such as"):
        Campaign(FRIENDS, path.with_name("other"))
    exploring = Campaign(SuccessiveRejects(4, budget=60), path.with_name("third"), rng=0)
    request = exploring.ask()
    with pytest.raises(ValueError, match=f"lists of {request.ticket.pulls} each, got .1.0. of 3"):
        exploring.tell({arm: [1.0] if arm == 3 else [1.0] * request.ticket.pulls for arm in request}, request)


ORDERS = {
    "names": lambda turned: Named(NAMES[::-1] if turned else NAMES),
    "tree": lambda turned: GraphicMatroid(grid(turned)),
    "route": lambda turned: ShortestPath(grid(turned), "a", "c"),
    "influence": lambda turned: DegreeHeuristic(nx.DiGraph(grid(turned)), 1),
    "parallel": lambda turned: DegreeHeuristic(parallel(turned, nx.MultiDiGraph), 1),
    "both ways": lambda turned: DegreeHeuristic(parallel(turned, nx.MultiGraph), 1),
    "keys of a tree": lambda turned: GraphicMatroid(parallel(turned, nx.MultiGraph)),
}


def parallel(turned, kind):
    """Two ties of different kinds between the same people, and one more."""
    edges = [("a", "b", "calls"), ("a", "b", "mails"), ("b", "c", "calls")]
    graph = kind()
    graph.add_edges_from(edges[::-1] if turned else edges)
    return graph


@pytest.mark.parametrize("name", ORDERS)
def test_orders_may_alternate_and_each_name_keeps_what_is_its_own(path, name):
    def opened(turned):
        return Campaign(CTS(ORDERS[name](turned)), path, rng=0)

    def own(arm):
        return frozenset(arm) if is_undirected else arm

    def learned(running):
        names = map(own, running.policy.oracle._arm_labels())
        return dict(zip(names, running.session.state.counts.tolist(), strict=True))

    is_undirected = ORDERS[name](False).is_undirected
    expected = dict.fromkeys(learned(opened(False)), 0)
    for number in range(6):
        running = opened(number % 2 == 1)
        request = running.ask()
        arms = running.policy.oracle._arm_labels()
        seen = [
            arm
            for arm in arms
            if arm in request.names or (isinstance(arm, tuple) and arm[0] in request.names)
        ][number % 2 :]
        running.tell(dict.fromkeys(seen, 1.0), request)
        for arm in seen:
            expected[own(arm)] += 1
        assert learned(running) == learned(opened(False)) == learned(opened(True)) == expected


@pytest.mark.parametrize("undone", [False, True])
def test_what_was_corrected_is_summed_up_at_once(path, undone):
    running = campaign(path)
    play(running, 3)
    running.tell({}, running.ask())
    running.correct({}, running.history()[-1]["ticket"])
    if undone:
        running.undo()
    assert str(running.summary()) == str(campaign(path).summary())


def test_a_changed_k_is_listed_beside_new_names(path):
    """New names explain another number of arms, but not another k."""
    Campaign(CTS(TopK(3, k=1).named(["a", "b", "c"])), path, rng=0).ask()
    wider = TopK(4, k=2).named(["a", "b", "c", "d"])
    with pytest.raises(ValueError, match=r"1 base arm is new.*oracle\.k 1 in the file, 2 here") as caught:
        Campaign(CTS(wider), path)
    assert "n_arms" not in str(caught.value)
