"""Sessions in files and bytes: what cannot be one is refused. That a loaded one goes on is a common check."""

from collections import namedtuple
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
import pytest
from cases import ORACLES

from cmab import CTS, CUCB, Context, Feedback, RandomPolicy, Session, archive
from oracles import DegreeHeuristic, GraphicMatroid, InfluenceMaximization, ShortestPath, TopK


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


def test_tickets_of_a_saved_session_keep_their_context(tmp_path):
    session = Session(CTS(TopK(4, 2)), rng=0, support=(-np.inf, 2.0))
    session.ask(Context(available=[True, True, False, True]))
    session.save(tmp_path / "s.npz")
    loaded = Session.load(tmp_path / "s.npz", CTS(TopK(4, 2)))
    assert loaded._open[0].context.available.tolist() == [True, True, False, True]
    assert loaded.support == (-np.inf, 2.0)


def test_damaged_bytes_are_refused():
    data, rng = Session(CUCB(TopK(5, 2)), rng=0).to_bytes(), np.random.default_rng(0)
    torn = [data[:n] for n in rng.integers(0, len(data), 30)] + [b"hello", b""]
    for place in rng.integers(0, len(data), 60):
        turned = bytearray(data)
        turned[place] ^= 1
        torn.append(bytes(turned))
    refused = 0
    for each in torn:
        try:
            Session.load(each, CUCB(TopK(5, 2)))
        except ValueError:
            refused += 1
    assert refused > 70  # some bits of a zip file have no meaning
    document, arrays = archive.unpacked(data)
    for name, wrong in (("state.means", arrays["state.means"][None]), ("state.counters", np.ones(5))):
        with pytest.raises(ValueError, match="must hold a state of this policy"):
            Session.load(archive.packed(document, arrays | {name: wrong}), CUCB(TopK(5, 2)))


FRIENDS = [("ann", "bob"), ("ann", "cy"), ("dan", "eve"), ("dan", "fay"), ("dan", "gus"), ("cy", "dan")]
ORDERED = {
    "influence": lambda g: InfluenceMaximization(g.to_directed(), k=1, epsilon=0.3),
    "matroid": GraphicMatroid,
    "path": lambda g: ShortestPath(g, "ann", "gus"),
    "heuristic": lambda g: DegreeHeuristic(g.to_directed(), k=1),
}


@pytest.mark.parametrize("family", ORDERED)
def test_a_graph_read_in_another_order_is_refused(family):
    make = ORDERED[family]
    data = Session(CTS(make(nx.Graph(FRIENDS))), rng=0).to_bytes()
    for accept in (False, True):
        with pytest.raises(ValueError, match="same order"):
            Session.load(data, CTS(make(nx.Graph(FRIENDS[::-1]))), accept_changes=accept)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda: CUCB(TopK(5, 2), radius_factor=0.5), "radius_factor"),
        (lambda: CUCB(TopK(5, 2), prior_mean=0.5, prior_weight=1.0), "prior_mean"),
        (lambda: CUCB(TopK(5, 3)), "oracle.k"),
        (lambda: CUCB(TopK(5, 2, sense="min")), "sense"),
        (lambda: CUCB(TopK(5, 2), support=(0.0, 2.0)), "support"),
    ],
)
def test_other_parameters_are_refused_unless_accepted(other, said):
    session = Session(CUCB(TopK(5, 2)), rng=0)
    for _ in range(4):
        session.tell(Feedback(session.ask(), [1.0, 0.0]))
    data = session.to_bytes()
    with pytest.raises(ValueError, match=rf"{said}.*accept_changes"):
        Session.load(data, other())
    changed = Session.load(data, other(), accept_changes=True)
    assert changed.state.rounds == 4
    assert changed.support == other().support
    with pytest.raises(ValueError, match="must be a session of CTS"):
        Session.load(data, CTS(TopK(5, 2)), accept_changes=True)


@pytest.mark.slow
def test_descriptions_tell_all_oracles_apart_and_stay_the_same_in_use():
    found = {}
    for case in ORACLES:
        policy = RandomPolicy(case.make(), support=(case.low, case.high))
        session, fresh = Session(policy, rng=0), archive.described(case.make())
        for _ in range(2):
            session.ask()
        assert archive.differences(fresh, archive.described(policy.oracle)) == [], case.name
        found[case.name] = str(fresh) + str(session._labels())
    assert len(set(found.values())) == len(found)


Pair = namedtuple("Pair", "first second")


@dataclass
class State:
    pair: Pair
    parts: list
    name: str | None = None

    @cached_property
    def first(self):
        return self.pair.first


def test_states_of_all_forms_are_restored():
    """A derived attribute is computed again."""
    state, arrays = State(Pair(1, np.arange(3)), [Pair(2.0, None), "x", np.float64(3)], "n"), {}
    assert state.first == 1
    node = archive.flattened(state, "state", arrays)
    document, read = archive.unpacked(archive.packed(node, arrays))
    again = archive.filled(State(Pair(0, np.zeros(0, np.int64)), []), document, read)
    assert (again.pair.first, again.pair.second.tolist(), again.name, again.first) == (1, [0, 1, 2], "n", 1)
    assert again.parts[1:] == ["x", 3.0]
    with pytest.raises(ValueError, match=r"state.name must be a dataclass, array"):
        archive.flattened(State(Pair(1, 2), [], object()), "state", {})


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "s.npz"
    archive.write_bytes(path, b"old")
    path.chmod(0o640)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(OSError, match="No space"):
            archive.write_bytes(path, b"new")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]
    (tmp_path / "link").symlink_to(path)
    archive.write_bytes(tmp_path / "link", b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
