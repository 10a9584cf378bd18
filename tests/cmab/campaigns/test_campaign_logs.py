"""What is read of a journal without a learner, and what a campaign says of itself."""

import csv
import sys
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

import numpy as np
import pytest
from cases import EXPLORERS, GROWING, POLICIES

from cmab import CUCB, Campaign, Context, Policy, read_journal
from cmab.exploration.rejects import SuccessiveRejects
from cmab.statistics import ArmStatistics
from oracles import TopK
from tests.cmab.campaigns.test_campaigns import NAMES, Named, Noisy, campaign, outcome, play


@pytest.fixture
def path(tmp_path):
    return tmp_path / "campaign.jsonl"


def test_rounds_are_read_as_they_stand_at_last(path):
    running = campaign(path)
    play(running, 6)  # every third ticket is late
    running.cancel(0)
    first = running.history()[2]["names"][0]
    running.correct({first: 0.25}, 1, reward=7.0)
    running.correct({read_journal(path)[2].names[0]: 0.75}, 2)
    running.undo()
    log = read_journal(path)
    assert [row.state for row in log] == ["cancelled", "told", "told", "pending", "told", "told"]
    assert (log[1].outcomes, log[1].reward) == ({first: 0.25}, 7.0)
    assert log[2].outcomes == {name: outcome(name, 2) for name in log[2].names}
    assert log[3].outcomes == {}
    assert np.isnan(log[3].reward)
    assert log[3].told is None
    assert all(row.asked.utcoffset().total_seconds() == 0 for row in log)
    assert log.arms == log.choices == NAMES
    assert repr(log) == "Log(rounds=6, told=4, arms=5)"
    assert len(log[1:3]) == 2


def test_the_log_is_what_the_learner_learned(path):
    running = campaign(path)
    play(running, 10)
    running = campaign(path, ["zoe", *NAMES[::-1]], accept_changes=True)
    play(running, 8)
    log = read_journal(path)
    stats = ArmStatistics.empty(6)
    number = {name: arm for arm, name in enumerate(running.policy.oracle.names)}
    for row in log:
        if row.state == "told":
            for name, value in row.outcomes.items():
                stats.counters[number[name]] += 1
                stats.means[number[name]] += value
    state = running.session.state
    assert np.array_equal(stats.counters, state.counts)
    assert np.allclose(stats.means, state.means * state.counts)
    assert log.arms == [*NAMES, "zoe"]


def test_contexts_and_batches_are_logged(path):
    running = campaign(path)
    running.ask(available=["cy", "bob"])
    (row,) = read_journal(path)
    assert row.context.available.tolist() == [name in ("cy", "bob") for name in NAMES]
    exploring = Campaign(SuccessiveRejects(4, budget=60), path.with_name("other"), rng=0)
    request = exploring.ask()
    exploring.tell({arm: [1.0] * request.ticket.pulls for arm in request}, request)
    (row,) = read_journal(path.with_name("other"))
    assert row.pulls == request.ticket.pulls > 1
    assert row.outcomes == dict.fromkeys(request, float(row.pulls))


@dataclass(frozen=True, eq=False)
class AnyPair(Policy):
    """A pair of arms, drawn."""

    oracle: TopK

    def initial_state(self, rng=None):
        return ArmStatistics.empty(self.oracle.n_arms)

    def select(self, state, rng, context=None):
        return np.array(list(combinations(range(self.oracle.n_arms), 2))[rng.integers(6)])

    def update(self, state, feedback, ticket=None, rng=None):
        state.update(feedback)

    def propensity(self, state, super_arm, context):
        assert len(super_arm) == 2
        return 1 / 6


@dataclass(frozen=True, eq=False)
class Sure(AnyPair):
    def propensity(self, state, super_arm, context):
        return 1.5


def test_propensities_are_logged_where_they_are_known(path):
    running = Campaign(AnyPair(TopK(4, 2)), path, rng=0)
    running.ask()
    assert [row.propensity for row in read_journal(path)] == [1 / 6]
    again = Campaign(AnyPair(TopK(4, 2)), path)
    assert again.pending == (0,)
    campaign(path.with_name("other")).ask()
    assert read_journal(path.with_name("other"))[0].propensity is None
    with pytest.raises(ValueError, match="propensity"):
        Campaign(Sure(TopK(4, 2)), path.with_name("third"), rng=0).ask()


def test_a_log_becomes_a_frame(path):
    pandas = pytest.importorskip("pandas")
    running = campaign(path, NAMES[:3])
    assert read_journal(path).to_frame().columns.tolist()[-2:] == ["arm", "outcome"]
    play(running, 3)
    log = read_journal(path)
    frame = log.to_frame()
    assert frame["number"].tolist() == [0, 1, 1, 2, 2]
    assert frame["state"].tolist() == ["pending", *["told"] * 4]
    assert isinstance(frame["asked"].dtype, pandas.DatetimeTZDtype)
    assert not any(isinstance(cell, dict | list | tuple) for cell in frame.to_numpy().reshape(-1))
    told = frame.dropna(subset=["outcome"])
    for row in log:
        own = told[told["number"] == row.number]
        assert dict(zip(own["arm"], own["outcome"], strict=True)) == row.outcomes
        assert all(own["chosen_1"] == row.names[0])
        assert all(own["chosen_2"] == row.names[1])


def test_a_log_becomes_a_csv_file(path, tmp_path):
    running = campaign(path)  # with names that are pairs, and numbers
    file = tmp_path / "log.csv"
    read_journal(path).to_csv(file)
    assert file.read_text(encoding="utf-8").startswith("number,state,reward")
    play(running, 5)
    log = read_journal(path)
    log.to_csv(file)
    with file.open(encoding="utf-8", newline="") as lines:
        found = list(csv.DictReader(lines))
    assert len(found) == len(log.rows()) == sum(max(len(row.outcomes), 1) for row in log)
    for read, row in zip(found, log.rows(), strict=True):
        assert read.keys() == row.keys()
        for name, cell in row.items():
            if cell is None or cell != cell:
                assert read[name] == ""
            elif name in ("asked", "told"):
                assert datetime.fromisoformat(read[name]) == cell
            else:
                assert read[name] == str(cell)


def test_frames_without_pandas_name_the_extra(path, monkeypatch):
    play(campaign(path), 1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"cmab\[frames\].*to_csv"):
        read_journal(path).to_frame()
    assert len(read_journal(path).rows()) == 1


@pytest.mark.parametrize(
    ("case", "policy"),
    [pytest.param(c, c.make(c.family(6, 2)), id=c.name) for c in (*POLICIES, *GROWING)]
    + [pytest.param(c, c.make(), id=c.name) for c in EXPLORERS],
)
def test_a_summary_counts_reports_whichever_policy_plays(case, policy, path):
    """Against a dictionary, for states of all kinds; outcomes are those of one purchase."""
    running, told, rounds = Campaign(policy, path, rng=0), {}, 0
    while rounds < 3 and not running.is_done:
        request, rounds = running.ask(), rounds + 1
        pulls = request.ticket.pulls
        outcomes = {name: [float(place == 0 and rounds > 1)] * pulls for place, name in enumerate(request)}
        running.tell({name: o if pulls > 1 else o[0] for name, o in outcomes.items()}, request, reward=rounds)
        for name, values in outcomes.items():
            told.setdefault(name, []).extend(values)
    for one in (running, Campaign(policy, path)):
        summary = one.summary()
        assert (summary.told, summary.reward) == (rounds, (rounds + 1) / 2)
        assert {arm.name: arm.seen for arm in summary.learned} == {name: len(o) for name, o in told.items()}
        for arm in summary.learned:
            assert arm.mean == pytest.approx(np.mean(told[arm.name]))


def test_a_summary_is_by_name(path):
    running = campaign(path)
    play(running, 9)
    running.cancel(0)
    running.tell({}, 3, reward=2.0)
    summary = running.summary()
    assert (summary.told, summary.pending, summary.cancelled) == (7, 1, 1)
    assert summary.reward == 2.0
    state, names = running.session.state, running.policy.oracle.names
    assert {arm.name: arm.seen for arm in summary.learned} == {
        name: count for name, count in zip(names, state.counts.tolist(), strict=True) if count
    }
    assert [arm.seen for arm in summary.learned] == sorted(state.counts[state.counts > 0].tolist())[::-1]
    seen = [outcome(row.names[i], row.number) for row in read_journal(path) for i in (0, 1) if row.outcomes]
    assert sum(arm.mean * arm.seen for arm in summary.learned) == pytest.approx(sum(seen))
    assert str(summary).startswith("rounds reported: 7, pending: 1, cancelled: 1, last report ")
    assert "dan – 4" in str(summary)


@pytest.mark.parametrize("rounds", [0, 9])
def test_a_campaign_is_drawn(path, rounds):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    running = Campaign(CUCB(TopK(5, 2)), path, rng=0) if rounds == 0 else campaign(path)
    play(running, rounds)
    axes = running.plot(most=3)
    assert len(axes.patches) == (3 if rounds else 0)
    assert axes.get_title("left").startswith(
        f"rounds reported: {6 if rounds else 0}, pending: {3 if rounds else 0}"
    )
    own = pyplot.figure().add_subplot()
    assert running.plot(ax=own) is own
    pyplot.close("all")
    with pytest.raises(ValueError, match="most must be"):
        running.plot(most=0)


def test_contexts_of_a_log_are_contexts(path):
    learner = Noisy(Named(NAMES))
    running = Campaign(learner, path, rng=0)
    running.ask(Context(available=np.ones(5, bool)))
    assert isinstance(read_journal(path)[0].context, Context)
