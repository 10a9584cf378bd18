"""Campaigns that are told who joined, without the ties that carried the message."""

import shutil

import networkx as nx
import numpy as np
import pytest

from cmab import (
    CTS,
    CUCB,
    AdaptiveCTS,
    Campaign,
    HierarchicalCTS,
    read_campaign,
)
from cmab.campaign import replica as module
from cmab.campaign.posterior import CascadeFeedback, HiddenOutcomes
from oracles import DegreeHeuristic

FRIENDS = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan"), ("cy", "dan"), ("dan", "eve")])
TIES = list(FRIENDS.edges)
LEARNERS = [CTS, *(pytest.param(one, marks=pytest.mark.slow) for one in (AdaptiveCTS, HierarchicalCTS))]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "campaign.db"


def oracle(graph=FRIENDS, k=1):
    return DegreeHeuristic(graph, k=k)


def all_in(campaign, seed, n=10, graph=FRIENDS):
    """Tell reports of all kinds about random cascades, late and in another order."""
    rng, waiting = np.random.default_rng(seed), []
    for number in range(n):
        waiting.append(campaign.ask())
        if len(waiting) < 3 and number < n - 1:
            continue
        request = waiting.pop(int(rng.integers(len(waiting))))
        live = {tie for tie in graph.edges if rng.random() < 0.5}
        steps = nx.multi_source_dijkstra_path_length(
            nx.DiGraph([*live, *((v, v) for v in graph)]), set(request)
        )
        people = {name: step for name, step in steps.items() if step}
        report = number % 7
        if report == 0:
            campaign.tell(ticket=request, reward=float(len(people) + 1))
        elif report == 1:
            carried = [tie for tie in live if tie[0] in people or tie[0] in request.names]
            campaign.tell(ticket=request, joined=list(people), carried=carried)
        elif report == 2:
            campaign.tell(ticket=request, joined=people)
        elif report == 3:
            campaign.tell(
                ticket=request,
                joined={name: step if rng.random() < 0.5 else None for name, step in people.items()},
            )
        elif report == 4:
            unseen = [name for name in graph if name not in request.names and rng.random() < 0.5]
            campaign.tell(
                ticket=request, joined=[name for name in people if name not in unseen], unseen=unseen
            )
        elif report == 5 and people:
            tie = next(tie for tie in graph.edges if tie[0] in request.names)
            campaign.tell(ticket=request, joined=list(people), known={tie: int(tie in live)})
        else:
            campaign.tell(ticket=request, joined=list(people))


def hidden(campaign):
    return campaign._replica.current().hidden.chain()


def future(campaign, n=6):
    return [campaign.ask().names for _ in range(n)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("every", [1_000, 7])
def test_a_new_process_has_the_reports_and_their_chain(path, learner, every, monkeypatch):
    monkeypatch.setattr(module, "_EVERY_HIDDEN", every)
    running = Campaign(learner(oracle()), path, rng=3)
    all_in(running, 0, 24)
    running.close()
    shutil.copy(path, path.with_name("copy.db"))
    again = Campaign(learner(oracle()), path)
    assert (again.health().since_snapshot < 7) == (every == 7)
    once = [again._replica.completed(again._replica.replay, np.random.default_rng(0)) for _ in range(2)]
    here = running._replica.completed(running._replica.replay, np.random.default_rng(0))
    assert once[0].counts.tolist() == once[1].counts.tolist() == here.counts.tolist()
    assert future(Campaign(learner(oracle()), path.with_name("copy.db"))) == future(running)


def test_the_reports_reach_the_default_learner(path):
    running = Campaign(oracle(), path, rng=0)
    for _ in range(8):
        request = running.ask(available=["ann"])
        running.tell(ticket=request, joined=["bob"])
    chain = hidden(running)
    # ann -> bob is the only tie that can have told bob; ann -> cy and bob -> dan have failed in all rounds.
    assert chain.won.tolist() == [8, 0, 0, 0, 0]
    assert chain.lost.tolist() == [0, 8, 8, 0, 0]
    # The observed statistics are unchanged, so certificates do not count hidden outcomes.
    assert running.state.counts.sum() == 0
    assert running.state.rounds == 8
    assert running.regret_bound(reward_range=(0.0, 5.0)).unseen == 5


def test_correct_and_undo_give_the_state_of_the_reports_that_stand(tmp_path):
    one, other = (Campaign(oracle(), tmp_path / f"{name}.db", rng=0) for name in ("one", "other"))
    for campaign in (one, other):
        requests = [campaign.ask(available=["ann"]) for _ in range(3)]
        if campaign is one:
            campaign.tell(ticket=requests[0], joined=["cy"])
            campaign.correct(ticket=requests[0], joined=["bob", "cy", "dan"])
        else:
            campaign.tell(ticket=requests[0], joined=["bob", "cy", "dan"])
        campaign.tell(ticket=requests[1], joined=["bob"])
        if campaign is one:
            campaign.tell(ticket=requests[2], joined=["cy"])
            campaign.undo()
    chains = [hidden(campaign) for campaign in (one, other)]
    assert (chains[0].won == chains[1].won).all()
    assert (chains[0].lost == chains[1].lost).all()
    assert future(one) == future(other)


def test_people_and_ties_of_later_networks_took_no_part(path):
    running = Campaign(oracle(), path, rng=0)
    running.tell(ticket=running.ask(available=["ann"]), joined=["bob", "dan"])
    grown = FRIENDS.copy()
    grown.add_edges_from([("ann", "zoe"), ("ann", "dan")])
    running = Campaign(oracle(grown), path, accept_changes=True)
    names = oracle(grown)._arm_labels()
    chain = hidden(running)
    assert {names[arm] for arm in np.flatnonzero(chain.won + chain.lost)} == {*TIES} - {("cy", "dan")}
    running.tell(ticket=running.ask(available=["ann"]), joined=["zoe"])
    chain = hidden(running)
    assert chain.won[names.index(("ann", "zoe"))] == 1
    # Without bob, nothing explains dan: then dan counts as a seed, and the tie to eve has failed.
    smaller = FRIENDS.subgraph(["ann", "cy", "dan", "eve"])
    running = Campaign(oracle(nx.DiGraph(smaller)), path, accept_changes=True)
    names = oracle(nx.DiGraph(smaller))._arm_labels()
    chain = hidden(running)
    assert chain.lost[names.index(("dan", "eve"))] == 1
    assert chain.won.sum() == 0


#: Ties that leave the network for a while, and ties that come with the other network.
CHANGES = {
    "a person leaves": ([("ann", "cy"), ("cy", "dan")], []),
    "a tie leaves": ([("bob", "dan")], []),
    "the last person leaves": ([("dan", "eve")], []),
    "one leaves and one comes": ([("ann", "cy"), ("cy", "dan")], [("ann", "zoe"), ("bob", "zoe")]),
}


def counted(graph, joined):
    """Return how often each tie has succeeded and failed after reports in this network."""
    policy = CTS(oracle(graph))
    seed = policy.oracle.labels(np.arange(len(graph))).index("ann")
    told = HiddenOutcomes(policy.beta_prior(), policy.initial_state())
    for people in joined:
        told.tell(policy.oracle.feedback_of(np.array([seed]), joined=people))
    return by_tie(told.chain(), policy)


def by_tie(chain, policy):
    names = policy.oracle._arm_labels()
    counts = dict(zip(names, zip(chain.won.tolist(), chain.lost.tolist(), strict=True), strict=True))
    return {name: count for name, count in counts.items() if any(count)}


def added(*counts):
    ties = {tie for count in counts for tie in count}
    pairs = {tie: [count.get(tie, (0, 0)) for count in counts] for tie in ties}
    return {tie: tuple(map(sum, zip(*pair, strict=True))) for tie, pair in pairs.items()}


@pytest.mark.parametrize("way", ["replayed", "corrected", "resumed"])
@pytest.mark.parametrize("change", CHANGES)
def test_people_and_ties_that_had_left_took_no_part(path, change, way, monkeypatch):
    """Two processes with different networks tell, one after the other, and a third one has all ties."""
    if way == "resumed":
        monkeypatch.setattr(module, "_EVERY_HIDDEN", 3)
    leaving, coming = CHANGES[change]
    other = nx.DiGraph([*(tie for tie in TIES if tie not in leaving), *coming])
    former = Campaign(CTS(oracle()), path, rng=0)
    here = [["bob"], ["bob"], []]
    first = former.ask(available=["ann"])
    former.tell(ticket=first, joined=here[0])
    present = Campaign(CTS(oracle(other)), path, accept_changes=True)
    away = [["bob"], [], ["bob"]]
    for people in away:
        present.tell(ticket=present.ask(available=["ann"]), joined=people)
    for people in here[1:]:  # this process does not know that the network was changed
        former.tell(ticket=former.ask(available=["ann"]), joined=people)
    if way == "corrected":
        again = [end for _, end in coming if ("ann", end) in coming]  # a person who came since the report
        present.correct(ticket=first, joined=again)
        away, here = [*away, again], here[1:]
    found = [counted(FRIENDS, here), counted(other, away)]
    both = nx.compose(FRIENDS, other)
    for _ in range(2):  # the second one continues from a checkpoint
        last = Campaign(CTS(oracle(both)), path, accept_changes=True)
        assert by_tie(hidden(last), last.policy) == added(*found)
    assert way != "resumed" or last.health().since_snapshot < 3
    ties = set(other.edges)
    assert by_tie(hidden(present), present.policy) == {
        tie: n for tie, n in added(*found).items() if tie in ties
    }


def test_policies_that_count_outcomes_refuse_lists_in_words(path):
    running = Campaign(CUCB(oracle()), path, rng=0)
    request = running.ask()
    before = running.n_events
    for report in ({"joined": []}, {"joined": ["bob"], "unseen": ["cy"]}):
        with pytest.raises(ValueError, match=r"for CUCB, which .* AdaptiveCTS .the default.*"):
            running.tell(ticket=request, **report)
    assert running.n_events == before
    running.tell(ticket=request, joined={"bob": 1})
    with pytest.raises(ValueError, match="AdaptiveCTS"):
        running.correct(ticket=request, joined=["bob"])
    with pytest.raises(ValueError, match="hidden outcomes; tell it to a Campaign"):
        running.policy.update(running.policy.initial_state(), oracle().feedback_of([0], joined=["bob"]))


def test_only_the_number_of_people_is_kept(path):
    running = Campaign(oracle(), path, rng=0)
    running.tell(reward=3, ticket=running.ask())
    assert read_campaign(path)[0].reward == 3.0
    assert running.summary().reward == 3.0
    assert running.state.rounds == 1
    assert running.state.counts.sum() == 0


def test_feedback_of_complete_steps_has_the_outcomes_of_ties_that_were_alone():
    told = oracle().feedback_of([0], joined={"bob": 1, "cy": 1, "dan": 2})
    assert isinstance(told, CascadeFeedback)
    assert (told.arms.tolist(), told.outcomes.tolist()) == ([0, 1, 4], [1.0, 1.0, 0.0])
    assert told.problem.n_hidden == 2
    assert told.problem.sure.tolist() == []


@pytest.mark.slow
def test_estimates_are_those_of_the_exact_posterior(path):
    running = Campaign(CTS(oracle()), path, rng=0)
    running.tell(ticket=running.ask(available=["ann"]), joined=["bob", "cy", "dan"])
    # At least one of the ties to dan succeeded: three pairs, which are equally probable under Beta(1, 1).
    means = [mean for _, mean, _, _ in running.estimates()]
    # 400 draws of means in [1/3, 2/3] have a standard error below 0.01; five of these are never seen.
    assert means == pytest.approx([2 / 3, 2 / 3, 5 / 9, 5 / 9, 1 / 3], abs=0.05)
    low, high = np.array([one[2:] for one in running.estimates(level=0.5)]).T
    assert (low < means).all() and (means < high).all()
    with pytest.raises(ValueError, match="level must"):
        running.estimates(level=1.0)


def test_the_history_has_the_reports_by_name(path):
    running = Campaign(oracle(), path, rng=0)
    reports = [
        {"joined": ("bob", "dan"), "unseen": ("eve",)},
        {"joined": {"bob": 1, "dan": None}, "known": {("bob", "dan"): 1, ("ann", "cy"): 0}},
    ]
    for report in reports:
        running.tell(ticket=running.ask(available=["ann"]), **report)
    rows = [row for row in running.history() if row["event"] == "tell"]
    assert [{key: row[key] for key in report} for row, report in zip(rows, reports, strict=True)] == reports


@pytest.mark.parametrize(
    ("joined", "unseen", "is_possible"),
    [
        ({"D": 1}, ["B", "C"], False),
        ({"D": 2}, ["B", "C"], False),
        ({"D": 3}, ["B", "C"], True),
        ({"D": 5}, ["B", "C"], True),
        ({"B": None, "C": None, "D": 2}, [], False),
        ({"B": 2, "D": 3}, ["C"], False),
        ({"B": None, "D": 3}, ["C"], True),
        ({"B": 1, "D": 2}, ["C"], False),
    ],
)
def test_nobody_joins_before_the_message_can_arrive(joined, unseen, is_possible, tmp_path):
    import networkx as nx

    from cmab import Campaign
    from oracles.influence.maximization import InfluenceMaximization

    graph = nx.DiGraph([("A", "B"), ("B", "C"), ("C", "D"), ("E", "F")])
    campaign = Campaign(InfluenceMaximization(graph, k=1), tmp_path / "x.db", rng=0)
    while (request := campaign.ask(available=["A"])).names != ("A",):
        campaign.cancel(request)
    before = campaign.history()
    if is_possible:
        campaign.tell(ticket=request, joined=joined, unseen=unseen)
        assert len(campaign.history()) == len(before) + 1
    else:
        with pytest.raises(ValueError, match="step"):
            campaign.tell(ticket=request, joined=joined, unseen=unseen)
        assert campaign.history() == before
