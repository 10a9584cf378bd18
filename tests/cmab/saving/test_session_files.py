"""Sessions in files and bytes, unavailable entries, derived attributes of states, and sums of outcomes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from cases import POLICIES

from cmab import CTS, Context, Feedback, Policy, Session
from oracles import TopK


def learner():
    return CTS(TopK(6, k=2))


@pytest.fixture
def session():
    running = Session(learner(), rng=3)
    for _ in range(4):
        ticket = running.ask()
        running.tell(Feedback(ticket, [1.0, 0.0]), ticket)
    running.ask()
    return running


def test_a_file_and_bytes_are_the_same(session, tmp_path):
    path = tmp_path / "s.npz"
    session.save(path)
    assert path.read_bytes() == session.to_bytes()
    loaded = [Session.load(source, learner()) for source in (session.to_bytes(), path, str(path))]
    for one in loaded:
        assert one.pending == session.pending
        assert one.state.means.tolist() == session.state.means.tolist()
    answers = [one.ask().super_arm.tolist() for one in (*loaded, session)]
    assert all(answer == answers[0] for answer in answers)


def test_unavailable_entries_are_not_chosen():
    flags = np.array([False, True, False, True, True, False])
    one, other = Session(learner(), rng=0), Session(learner(), rng=0)
    for _ in range(20):
        ticket = one.ask(available=[4, 1, 3])
        assert ticket.super_arm.tolist() == other.ask(Context(available=flags)).super_arm.tolist()
        assert set(ticket) <= {1, 3, 4}
    both = one.ask(Context(values=np.ones(6)), available=np.array([1, 3]))
    assert both.context.parts == ("available", "values")


@pytest.mark.parametrize("available", [[6], [-1], [1, 1], ["x"], "12", 3, [0.5, 1.0]])
def test_unknown_entries_are_refused(available):
    running = Session(learner(), rng=0)
    with pytest.raises(ValueError, match="available must"):
        running.ask(available=available)
    with pytest.raises(ValueError, match="available must be given once"):
        running.ask(Context(available=np.ones(6, bool)), available=[1])
    assert running.pending == ()


@dataclass
class Trend:
    """Levels of three arms; `best` is derived."""

    level: np.ndarray

    @cached_property
    def best(self) -> int:
        return int(np.argmax(self.level))


@dataclass(frozen=True, eq=False)
class Follower(Policy):
    """The best arm of the levels, which `update` changes."""

    oracle: TopK

    def initial_state(self, rng=None):
        return Trend(np.ones(self.oracle.n_arms))

    def select(self, state, rng, context=None):
        return np.array([int(np.argmax(state.level))])

    def update(self, state, feedback, ticket=None, rng=None):
        state.level[feedback.arms] = feedback.outcomes
        state.__dict__.pop("best", None)
        assert 0 <= state.best < len(state.level)


def test_a_derived_attribute_is_computed_again(tmp_path):
    session = Session(Follower(TopK(3, k=1)), rng=0)
    session.tell(Feedback(session.ask(), [0.25]))
    session.save(tmp_path / "run")
    loaded = Session.load(tmp_path / "run", session.policy)
    assert loaded.state.best == session.state.best
    np.testing.assert_array_equal(loaded.ask().super_arm, session.ask().super_arm)


def sums(ticket, pulls):
    n = len(ticket.super_arm)
    outcomes, squares = np.full(n, 0.5 * pulls), np.full(n, 0.4 * pulls)
    return Feedback(ticket.super_arm, outcomes, pulls=np.full(n, pulls), squares=squares, reward=0.5 * n)


@pytest.mark.parametrize("case", POLICIES, ids=lambda case: case.name)
def test_policies_of_this_library_learn_sums_or_reject_them(case):
    session = Session(case.make(TopK(6, 2)), rng=0)
    ticket = session.ask()
    try:
        session.tell(sums(ticket, 3), ticket)
    except ValueError as error:
        assert "feedback.pulls must be None" in str(error)
        n = len(ticket.super_arm)
        session.tell(Feedback(ticket.super_arm, np.full(n, 0.5), reward=0.5 * n), ticket)
