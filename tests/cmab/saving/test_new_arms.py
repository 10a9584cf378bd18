"""Arms that are new or gone: what was learned stays with its name, in sessions as in journals."""

import networkx as nx
import numpy as np
import pytest

from cmab import (
    CTS,
    CUCB,
    LUCB1,
    ArmStatistics,
    Campaign,
    CombLinTS,
    Feedback,
    HierarchicalCTS,
    RarelySwitchingCUCB,
    Session,
)
from oracles import GraphicMatroid, InfluenceMaximization, Knapsack, Matching, TopK, UniformMatroid

SHOP, LATER = ["tea", "milk", "juice", "water"], ["cola", "water", "tea", "juice", "soda"]


def listed(names, policy=CUCB):
    return policy(TopK(len(names), k=2).named(names))


def outcome(name, number):
    return float((sum(map(ord, str(name))) + number) % 3 == 0)


def by_name(session):
    state, names = session.state, session.policy.oracle._arm_labels()
    learned = zip(state.counts.tolist(), state.means.tolist(), state.deviations.tolist(), strict=True)
    return dict(zip(names, learned, strict=True))


def test_a_list_of_arms_goes_on_by_name_in_a_journal(tmp_path):
    """Milk goes, cola and soda come; all that was told stays with its name, and milk's comes back with it."""
    path = tmp_path / "shop.db"
    running = Campaign(listed(SHOP), path, rng=0)
    for number in range(9):
        request = running.ask()
        running.tell({name: outcome(name, number) for name in request.names}, request)
    late = running.ask()
    before = by_name(running.session)
    with pytest.raises(
        ValueError, match=r"2 base arms are new \(\['cola', 'soda'\]\); 1 base arm is gone \(\['milk'\]\)"
    ):
        Campaign(listed(LATER), path)
    changed = Campaign(listed(LATER), path, accept_changes=True)
    assert by_name(changed.session) == {name: before.get(name, (0, 0.0, 0.0)) for name in LATER}
    changed.tell({name: 1.0 for name in late.names if name in LATER}, late.number)
    again = Campaign(listed([*SHOP, "soda"]), path, accept_changes=True)
    assert by_name(again.session)["milk"] == before["milk"]
    # Each arm's history, added up from the journal, is what is known of it.
    told = [event["outcomes"] for event in again.history() if event["event"] == "tell"]
    for name, (count, mean, _) in by_name(again.session).items():
        seen = [outcomes[name] for outcomes in told if name in outcomes]
        assert len(seen) == count
        assert mean == pytest.approx(np.mean(seen) if seen else 0.0)


def test_a_session_goes_on_as_the_journal_does(tmp_path):
    """With another network of people, ties new and gone, in another order."""
    ties = [(a, b) for a, b in nx.karate_club_graph().to_directed().edges if max(a, b) < 12]
    graph, later = nx.DiGraph(ties), nx.DiGraph([*[("new", 0), (1, "new")], *ties[:10:-1]])

    def learner(graph):
        return CTS(InfluenceMaximization(graph, k=2, epsilon=0.3))

    running, session = Campaign(learner(graph), tmp_path / "j", rng=3), Session(learner(graph), rng=3)
    arms = {tie: arm for arm, tie in enumerate(session.policy.oracle._arm_labels())}
    for number in range(12):
        request, ticket = running.ask(), session.ask()
        assert list(request.names) == session.policy.oracle.labels(ticket.super_arm)
        told = {tie: outcome(tie, number) for tie in graph.out_edges(request.names)}
        running.tell(told, request)
        session.tell(Feedback([arms[tie] for tie in told], list(told.values())), ticket)
    moved = session.with_policy(learner(later))
    journal = Campaign(learner(later), tmp_path / "j", accept_changes=True).session
    assert by_name(moved) == by_name(journal)
    assert set(by_name(moved)) == set(later.edges)
    assert moved.state.rounds == journal.state.rounds == 12
    for _ in range(3):  # and both play the same future
        assert moved.ask().super_arm.tolist() == journal.ask().super_arm.tolist()
    assert by_name(session).keys() == set(graph.edges)  # which stays as it was


def test_edges_without_direction_are_matched_from_either_end():
    session = Session(CUCB(GraphicMatroid(nx.path_graph(3))), rng=0)
    session.tell(Feedback(session.ask(), [1.0, 0.0]))
    turned = session.with_policy(CUCB(GraphicMatroid(nx.Graph([(2, 1), (3, 2), (1, 0)]))))
    assert by_name(turned) == {(2, 1): (1, 0.0, 0.0), (2, 3): (0, 0.0, 0.0), (1, 0): (1, 1.0, 0.0)}


def test_open_tickets_keep_their_numbers_or_are_told_before():
    session = Session(listed(SHOP), rng=0)
    ticket = session.ask()
    with pytest.raises(ValueError, match=r"tickets must be reported or cancelled .* got \(0,\) pending"):
        session.with_policy(listed(LATER))
    longer = session.with_policy(listed([*SHOP, "soda"], CTS))
    longer.tell(Feedback(ticket, [1.0, 1.0]), ticket)
    assert by_name(longer)["tea"][0] == 1
    assert session.pending == (0,)


@pytest.mark.parametrize(
    "policy",
    [
        HierarchicalCTS(TopK(4, 2)),
        RarelySwitchingCUCB(TopK(4, 2)),
        CombLinTS(TopK(4, 2), np.eye(4)),
        LUCB1(4, 2, delta=0.1),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_states_that_hold_more_are_refused(policy):
    for one, other in ((policy, listed(SHOP)), (listed(SHOP), policy)):
        with pytest.raises(ValueError, match="policy must have plain ArmStatistics"):
            Session(one, rng=0).with_policy(other)


def test_what_relabelled_refuses():
    stats = ArmStatistics.empty(2)
    for old, new in (("ab", "cc"), ("aa", "b"), ("a", "b")):
        with pytest.raises(ValueError, match="old must be 2 different names"):
            stats.relabelled(old, new)
    with pytest.raises(ValueError, match="counts, means and deviations alone"):
        ArmStatistics.empty(2, memory=np.zeros(3)).relabelled("ab", "ab")


def test_names_are_those_of_base_arms():
    oracle = TopK(3, k=1)
    named = oracle.named(iter(["tea", ("milk", 1), 7]))
    assert named.labels(np.array([2, 1])) == [7, ("milk", 1)]
    assert named._arm_labels() == ["tea", ("milk", 1), 7]
    assert oracle._arm_labels() == [0, 1, 2]
    for other in (Knapsack([1, 1, 1], 2), UniformMatroid(3, 1)):
        assert other.named(["a", "b", "c"])._arm_labels() == ["a", "b", "c"]
    refused = (list("ab"), "3 different"), (list("abb"), "3 different"), ("abc", "must be a list of names")
    for names, message in (*refused, ([[], 1, 2], "strings, finite numbers")):
        with pytest.raises(ValueError, match=message):
            oracle.named(names)
    edges = Matching(nx.path_graph(4))
    for graph in (edges,):
        with pytest.raises(TypeError, match="names must be given only for base arms without names"):
            graph.named(list("abc"))


def test_a_file_of_a_session_knows_the_names(tmp_path):
    session = Session(listed(SHOP), rng=0)
    session.save(tmp_path / "s.npz")
    assert Session.load(tmp_path / "s.npz", listed(SHOP)).pending == ()
    with pytest.raises(ValueError, match="labels"):
        Session.load(tmp_path / "s.npz", listed(SHOP[::-1]))
