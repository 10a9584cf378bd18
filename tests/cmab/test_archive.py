"""Archives: a saved session plays the identical future, and what cannot be one is refused."""

from collections import namedtuple
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from cases import EXPLORERS, GROWING, JOINT, ORACLES, POLICIES

from cmab import CTS, CUCB, Context, Feedback, Session, archive
from cmab.explorer import Explorer
from oracles import DegreeHeuristic, GraphicMatroid, InfluenceMaximization, ShortestPath, TopK

LIMITED = {case.name: case for case in ORACLES}
# The families that differ in what a state looks like: linear, clustered, spreading.
FAMILIES = ("top_k", "influence")
LINEAR_ONLY = JOINT | {"ftpl", "llr"}
LEARNERS = {
    f"{case.name}-{family}": (lambda case=case, family=family: case.make(LIMITED[family].make()))
    for case in POLICIES
    for family in FAMILIES
    if family == "top_k" or case.name not in LINEAR_ONLY
} | {case.name: case.make for case in EXPLORERS}
LEARNERS |= {case.name: (lambda case=case: case.make(case.family(6, 2))) for case in GROWING}


def answer(session, ticket, rng):
    """Return feedback of some outcomes to a ticket."""
    if isinstance(session.policy, Explorer):
        sums = rng.binomial(ticket.pulls, 0.4, len(ticket)).astype(float)
        if ticket.pulls == 1:
            return Feedback(ticket, sums)
        return Feedback(ticket, sums, pulls=np.full(len(ticket), ticket.pulls), squares=sums)
    arms = session.policy.oracle.triggered_arms(ticket.super_arm)
    return Feedback(arms, rng.integers(0, 2, len(arms)) * (session.support or (0, 1.0))[1], reward=1.0)


def played(session, rounds, seed=5):
    """Play on and return what was asked for."""
    rng, asked = np.random.default_rng(seed), []
    for _ in range(rounds):
        if session.is_done:
            break
        ticket = session.ask()
        asked.append((ticket.number, ticket.super_arm.tolist(), ticket.pulls))
        session.tell(answer(session, ticket, rng), ticket)
    return asked


@pytest.mark.parametrize("name", LEARNERS)
def test_a_saved_session_plays_the_identical_future(name):
    session = Session(LEARNERS[name](), rng=3)
    played(session, 7)
    if not session.is_done:
        session.ask()
    data = session.to_bytes()
    loaded = Session.load(data, LEARNERS[name]())
    assert loaded.pending == session.pending
    assert played(loaded, 6) == played(session, 6)


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
    played(session, 4)
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
    from cmab import RandomPolicy

    found = {}
    for name, case in LIMITED.items():
        policy = RandomPolicy(case.make(), support=(case.low, case.high))
        session, fresh = Session(policy, rng=0), archive.described(case.make())
        played(session, 2)
        assert archive.differences(fresh, archive.described(policy.oracle)) == [], name
        found[name] = str(fresh) + str(session._labels())
    assert len(set(found.values())) == len(found)


Pair = namedtuple("Pair", "first second")


@dataclass
class State:
    pair: Pair
    parts: list
    name: str | None = None


def test_states_of_all_forms_are_restored():
    state, arrays = State(Pair(1, np.arange(3)), [Pair(2.0, None), "x", np.float64(3)], "n"), {}
    node = archive.flattened(state, "state", arrays)
    document, read = archive.unpacked(archive.packed(node, arrays))
    again = archive.filled(State(Pair(0, np.zeros(0, np.int64)), []), document, read)
    assert (again.pair.first, again.pair.second.tolist(), again.name) == (1, [0, 1, 2], "n")
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
