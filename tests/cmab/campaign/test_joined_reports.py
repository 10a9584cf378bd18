"""Campaigns that are told who joined, without the ties that carried the message."""

import shutil

import networkx as nx
import numpy as np
import pytest

from cmab import CTS, CUCB, AdaptiveCTS, Campaign, HierarchicalCTS
from cmab.campaign.posterior import HiddenOutcomes
from oracles import DegreeHeuristic

FRIENDS = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan"), ("cy", "dan"), ("dan", "eve")])
TIES = list(FRIENDS.edges)
LEARNERS = [CTS, *(pytest.param(one, marks=pytest.mark.slow) for one in (AdaptiveCTS, HierarchicalCTS))]


def oracle(graph=FRIENDS, k=1):
    return DegreeHeuristic(graph, k=k)


def all_in(campaign, seed, n=10):
    """Tell reports of all kinds about random cascades, late and in another order."""
    rng, waiting = np.random.default_rng(seed), []
    for number in range(n):
        waiting.append(campaign.ask())
        if len(waiting) < 3 and number < n - 1:
            continue
        request = waiting.pop(int(rng.integers(len(waiting))))
        live = [tie for tie in TIES if rng.random() < 0.5]
        reached = nx.multi_source_dijkstra_path_length(
            nx.DiGraph([*live, *((v, v) for v in FRIENDS)]), {*request}
        )
        steps = {name: step for name, step in reached.items() if step}
        some = {name: step if rng.random() < 0.5 else None for name, step in steps.items()}
        unseen = [name for name in FRIENDS if name not in request.names and rng.random() < 0.5]
        known = {tie: int(tie in live) for tie in TIES if tie[0] in request.names}
        reports = [
            {"reward": float(len(reached))},
            {"joined": [*steps], "carried": [tie for tie in live if tie[0] in reached]},
            {"joined": steps},
            {"joined": some},
            {"joined": [name for name in steps if name not in unseen], "unseen": unseen},
            {"joined": [*steps], "known": known},
            {"joined": [*steps]},
        ]
        campaign.tell(ticket=request, **reports[number % 7])


def hidden(campaign):
    return campaign._replica.current().hidden.chain()


def future(campaign, n=6):
    return [campaign.ask().names for _ in range(n)]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_new_process_has_the_reports_and_their_chain(path, learner):
    running = Campaign(learner(oracle()), path, rng=3)
    all_in(running, 0, 24)
    running.close()
    shutil.copy(path, path.with_name("copy.db"))
    again = Campaign(learner(oracle()), path)
    counts = [
        one._replica.completed(one._replica.replay, np.random.default_rng(0)).counts.tolist()
        for one in (running, again, again)
    ]
    assert counts[0] == counts[1] == counts[2]
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


#: Ties that leave the network for a while, and ties that come with the other network.
CHANGES = {
    "a person and a tie come": ([], [("ann", "zoe"), ("ann", "dan")]),
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


@pytest.mark.parametrize("way", ["replayed", "corrected"])
@pytest.mark.parametrize("change", CHANGES)
def test_people_and_ties_that_had_left_took_no_part(path, change, way):
    """Two processes with different networks tell, one after the other, and a third one has all ties."""
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
    last = Campaign(CTS(oracle(both)), path, accept_changes=True)
    assert by_tie(hidden(last), last.policy) == added(*found)
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
def test_nobody_joins_before_the_message_can_arrive(joined, unseen, is_possible, path):
    graph = nx.DiGraph([("A", "B"), ("B", "C"), ("C", "D"), ("E", "F")])
    campaign = Campaign(oracle(graph), path, rng=0)
    request, before = campaign.ask(available=["A"]), campaign.n_events
    if is_possible:
        campaign.tell(ticket=request, joined=joined, unseen=unseen)
    else:
        with pytest.raises(ValueError, match="step"):
            campaign.tell(ticket=request, joined=joined, unseen=unseen)
    assert campaign.n_events == before + is_possible
