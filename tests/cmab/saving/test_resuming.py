"""Sessions that are saved and loaded, and campaigns that are opened again, play the same future."""

import copy
import json
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from cmab import CTS, Campaign, Session
from cmab.saving._generators import generator_from, generator_state
from oracles import TopK
from tests.cmab.campaigns.test_campaigns import Noisy
from tests.cmab.saving.test_session_files import LEARNERS, answer, played

BITS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]


@dataclass(frozen=True, eq=False)
class Spawning(Noisy):
    """A generator of its own for each choice, and for each report."""

    def indices(self, stats, rng):
        return super().indices(stats, rng.spawn(1)[0])

    def update(self, state, feedback, ticket=None, rng=None):
        rng.spawn(2)
        super().update(state, feedback, ticket, rng)


class Seeds(np.random.SeedSequence):
    """A class of a user, which makes the same numbers."""


SPAWNING = {"spawning": lambda: Spawning(TopK(5, k=2))}


def steps(session, rounds, cut=lambda session: session):
    """Play on, every third report one round late, with a cut before each call; return what was asked for."""
    rng, asked, late = np.random.default_rng(5), [], None
    for number in range(rounds):
        session = cut(session)
        if session.is_done:
            break
        ticket = session.ask()
        asked.append((ticket.number, list(ticket), getattr(ticket, "pulls", None)))
        plain = getattr(ticket, "ticket", ticket)
        told = answer(session if isinstance(session, Session) else session.session, plain, rng)
        session = cut(session)
        if number % 3 == 1:
            late = told, ticket.number
            continue
        session.tell(told, ticket.number)
        if late is not None:
            session.tell(*late)
            late = None
    return asked


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in LEARNERS if name.endswith("-influence")]
FAST = [*SPAWNING, *(name for name in LEARNERS if not name.endswith("-influence"))]


@pytest.mark.parametrize("name", FAST + SLOW)
def test_a_session_resumes_at_every_cut(name, tmp_path):
    make, file = (LEARNERS | SPAWNING)[name], tmp_path / "session.npz"

    def cut(session):
        session.save(file)
        return Session.load(file, make())

    expected = steps(Session(make(), rng=3), 5)
    assert steps(Session(make(), rng=3), 5, cut) == expected
    for twin in (copy.copy, copy.deepcopy, lambda session: pickle.loads(pickle.dumps(session))):
        if name in SPAWNING:
            assert steps(Session(make(), rng=3), 5, twin) == expected


@pytest.mark.parametrize("name", FAST)
def test_a_campaign_resumes_at_every_cut(name, tmp_path):
    make, file = (LEARNERS | SPAWNING)[name], tmp_path / "campaign.jsonl"

    def cut(_):
        return Campaign(make(), file)

    expected = steps(Session(make(), rng=3), 4)
    Campaign(make(), file, rng=3)
    assert [entry[:2] for entry in steps(None, 4, cut)] == [entry[:2] for entry in expected]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    "seed",
    [
        3,
        [1, 2**70],
        np.random.SeedSequence().entropy,
        np.int64(7),
        [1, "0x3", "5"],
        np.random.SeedSequence(7, pool_size=8).spawn(2)[1],
        np.random.SeedSequence(7, spawn_key=(1, 2**70)),
        Seeds(7),
    ],
    ids=["number", "list", "fresh", "numpy", "texts", "spawned", "key", "own"],
)
def test_generators_of_every_kind_resume(bits, seed, tmp_path):
    file, path = tmp_path / "session.npz", tmp_path / "campaign.jsonl"

    def generator():
        return np.random.Generator(bits(copy.deepcopy(seed)))

    def cut(session):
        session.save(file)
        return Session.load(file, Spawning(TopK(5, k=2)))

    expected = steps(Session(Spawning(TopK(5, k=2)), rng=generator()), 5)
    assert steps(Session(Spawning(TopK(5, k=2)), rng=generator()), 5, cut) == expected
    Campaign(Spawning(TopK(5, k=2)), path, rng=generator())
    asked = steps(None, 5, lambda _: Campaign(Spawning(TopK(5, k=2)), path))
    assert [entry[:2] for entry in asked] == [entry[:2] for entry in expected]


def test_what_began_without_a_seed_resumes(tmp_path):
    """Fresh entropy has 128 bits."""
    learner, file, path = CTS(TopK(5, k=2)), tmp_path / "session.npz", tmp_path / "campaign.jsonl"
    session = Session(learner)
    session.save(file)
    assert played(session, 5) == played(Session.load(file, learner), 5)
    running = Campaign(learner, path)
    running.ask()
    assert played(running.session, 5) == played(Campaign(learner, path).session, 5)


def test_a_generator_without_a_seed_sequence_has_none_afterwards():
    """numpy refuses to spawn from it before as after."""
    rng = np.random.Generator(np.random.RandomState(0)._bit_generator)
    kept = json.loads(json.dumps(generator_state(rng), default=np.ndarray.tolist))
    again = generator_from(kept)
    assert again.random() == rng.random()
    for one in (rng, again):
        with pytest.raises(TypeError, match="does not implement spawning"):
            one.spawn(1)


@pytest.mark.parametrize("fails", ["ask", "tell"])
def test_a_call_that_raises_has_spawned_nothing(fails, monkeypatch):
    session, twin = (Session(Spawning(TopK(5, k=2)), rng=3) for _ in range(2))
    own = {"ask": Noisy.indices, "tell": Spawning.update}[fails]
    broken = {"ask": (Noisy, "indices"), "tell": (Spawning, "update")}[fails]

    def fail(*_):
        raise RuntimeError("no licence")

    for number in range(2):
        if fails == "tell":
            session.ask(), twin.ask()
        monkeypatch.setattr(*broken, fail)
        with pytest.raises(RuntimeError, match="no licence"):
            session.ask() if fails == "ask" else session.tell(
                answer(session, session._open[number], np.random.default_rng(0)), number
            )
        monkeypatch.setattr(*broken, own)
        if fails == "ask":
            session.ask(), twin.ask()
        for one in (session, twin):
            one.tell(answer(one, one._open[number], np.random.default_rng(0)), number)
    assert steps(session, 3) == steps(twin, 3)
