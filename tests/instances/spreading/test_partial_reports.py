"""Reports of some ties, of all, by steps and late: every learner counts each tie by itself."""

import re

import networkx as nx
import pytest
from cases import JOINT, POLICIES, assert_same_state

from cmab import (
    ArmStatistics,
    Campaign,
    HierarchicalCTS,
    read_campaign,
)
from oracles import DegreeHeuristic, InfluenceMaximization

TIES = [
    ("ann", "bob"),
    ("ann", "cy"),
    ("ann", "eve"),
    ("bob", "ann"),
    ("bob", "dan"),
    ("cy", "dan"),
    ("dan", "eve"),
]
FRIENDS = nx.DiGraph(TIES)
# Rules for other families.
OTHERS = JOINT | {"ftpl", "llr"}


def reports(names):
    """Yield reports in all forms of a round with these seeds, each with the outcomes that it tells."""
    own = [tie for tie in TIES if tie[0] in names]
    yield {"outcomes": {own[0]: 1.0}}, {own[0]: 1.0}
    yield {"outcomes": {own[-1]: 0.0}}, {own[-1]: 0.0}
    yield {"outcomes": dict.fromkeys(own, 1.0)}, dict.fromkeys(own, 1.0)
    yield {"outcomes": {}}, {}
    yield {"joined": [], "carried": []}, dict.fromkeys(own, 0.0)
    yield {"joined": [], "carried": [], "unseen": names[:1]}, {tie: 0.0 for tie in own if tie[0] != names[0]}
    heads = [head for _, head in own]
    # Nobody joined: a tie that was alone at somebody failed, for certain; others are not learned from.
    alone = {tie: 0.0 for tie in own if tie[1] not in names and heads.count(tie[1]) == 1}
    yield {"joined": {}}, alone


@pytest.mark.parametrize("case", [c for c in POLICIES if c.name not in OTHERS], ids=lambda case: case.name)
def test_every_learner_of_a_network_takes_every_report(case, tmp_path):
    """Against a dictionary of what was told, in a campaign, a session, and the campaign read again."""
    path = tmp_path / "journal.db"
    oracle = DegreeHeuristic(FRIENDS, k=2)
    assert oracle.clusters is not None  # what the regret bounds go by is no learner's matter
    running = Campaign(case.make(oracle), path, rng=3)
    watching = Campaign(case.make(oracle), path)  # as another process does
    number = {tie: arm for arm, tie in enumerate(oracle._arm_labels())}
    asked = [running.ask() for _ in range(7)]
    told = []
    for place in (2, 0, 1, 3, 6, 4, 5):  # late, and out of order
        request = asked[place]
        report, outcomes = list(reports(request.names))[place]
        running.tell(ticket=request, **report)
        if "joined" in report:
            feedback = oracle.feedback_of(request.ticket.super_arm, **report)
            assert dict(zip(feedback.arms.tolist(), feedback.outcomes, strict=True)) == {
                number[tie]: value for tie, value in outcomes.items()
            }
        told.append(outcomes)
    before = running.state
    assert_same_state(watching.state, before)
    counted(running, told)
    # A correction and what takes it back: only the last form of a round counts.
    request = asked[0]
    running.correct({}, request)
    counted(running, [*told[:1], {}, *told[2:]])
    running.undo()
    again = Campaign(case.make(oracle), path)
    for one in (running, again, watching):
        counted(one, told)
        assert_same_state(one.state, before)


def counted(running, told):
    """Compare log and state with the outcomes of each tie that were told."""
    seen = {tie: [each[tie] for each in told if tie in each] for tie in TIES}
    log = read_campaign(running.address)
    rows = [row for row in log.rows() if row["outcome"] is not None]
    assert sorted((row["arm_1"], row["arm_2"], row["outcome"]) for row in rows) == sorted(
        (*tie, outcome) for tie, each in seen.items() for outcome in each
    )
    state = running.state
    if type(state) is ArmStatistics and running.policy.learns:
        counts = dict(zip(running.policy.oracle._arm_labels(), state.counts.tolist(), strict=True))
        assert counts == {tie: len(each) for tie, each in seen.items()}


# What is missing in the network -----------------------------------------------------------------------------


def told_wrong(running, **report):
    request = running.ask()
    with pytest.raises(ValueError) as error:
        running.tell(ticket=request, **report)
    return str(error.value)


def test_a_tie_that_is_missing_is_said_to_be_and_can_be_added(tmp_path):
    path = tmp_path / "journal.db"
    running = Campaign(HierarchicalCTS(InfluenceMaximization(FRIENDS, k=1)), path, rng=0)
    for missing in (("eve", "cy"), ("cy", "zed"), ("eve", "dan")):
        for report in ({"outcomes": {missing: 1.0}}, {"joined": list(missing), "carried": [missing]}):
            text = told_wrong(running, **report)
            assert "add it to the graph" in text
            assert "accept_changes=True" in text
            assert ("is ('dan', 'eve') meant" in text) == (missing == ("eve", "dan"))
    for misspelt in (("anna", "bob"), ("ann", "bobb")):
        text = told_wrong(running, outcomes={misspelt: 1.0})
        assert re.search(r"did you mean '(ann|bob)'\?", text)
        assert re.search("'(anna|bobb)' is not in the network", text)
    assert "add it" in told_wrong(running, joined=["zed"], carried=[])
    request = running.ask()
    new = [(request.names[0], "nina"), ("nina", "ann")]
    later = InfluenceMaximization(nx.DiGraph([*TIES, *new]), k=1)
    with pytest.raises(ValueError, match=r"nodes: 1 new .*'nina'.*ties: 2 new .*accept_changes=True"):
        Campaign(HierarchicalCTS(later), path)
    running = Campaign(HierarchicalCTS(later), path, accept_changes=True)
    running.tell(ticket=request.number, joined=["nina"], carried=new[:1])
    assert running.history()[-1]["outcomes"][new[0]] == 1.0
