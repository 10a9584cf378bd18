"""Sessions in bytes and file objects, and rounds in which some entries are unavailable."""

import io

import numpy as np
import pytest

from cmab import CTS, Context, Feedback, Session
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


def test_every_form_of_a_saved_session_is_the_same(session, tmp_path):
    buffer, path = io.BytesIO(), tmp_path / "s.npz"
    session.save(buffer)
    session.save(path)
    with (tmp_path / "other.npz").open("wb") as file:
        session.save(file)
    kept = session.to_bytes()
    assert buffer.getvalue() == path.read_bytes() == (tmp_path / "other.npz").read_bytes() == kept
    buffer.seek(0)
    with path.open("rb") as file:
        sources = [kept, bytearray(kept), memoryview(kept), buffer, file, path, str(path)]
        loaded = [Session.load(source, learner()) for source in sources]
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
