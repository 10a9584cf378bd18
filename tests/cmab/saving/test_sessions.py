"""Sessions and feedback under abuse, threads and strange numbers: refused with nothing changed."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest
from cases import EXPLORERS, GROWING, JOINT, ORACLES, POLICIES
from refusals import refused

from cmab import CTS, CUCB, ArmStatistics, Feedback, Session, simulate
from cmab.explorer import Explorer
from instances import BernoulliArms, SemiBandit
from oracles import TopK

FAMILIES = {case.name: case for case in ORACLES if case.name in ("top_k", "influence")}
LINEAR_ONLY = JOINT | {"ftpl", "llr"}
LEARNERS = {
    f"{case.name}-{family}": (lambda case=case, family=family: case.make(FAMILIES[family].make()))
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


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


# What may be told --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arms_and_pulls_mean_the_same_in_every_integer_type(dtype):
    """Whatever a number is in its own type, it is that number or refused: casts never wrap."""
    limits = np.iinfo(dtype)
    for number in {limits.min, limits.max, limits.max - 4, limits.max // 2 + 1, 5, 4, 1, 0}:
        values = np.array([number], dtype)
        stats = ArmStatistics.empty(5)
        try:
            stats.update(Feedback(values, [0.5]))
            assert 0 <= number < 5
            assert stats.counts[int(number)] == 1 == stats.counts.sum()
        except ValueError:
            assert not 0 <= number < 5
            assert stats.counts.sum() == 0
        try:
            stats.update(Feedback([1], [0.0], pulls=values))
            assert stats.counts.sum() >= number > 0
        except ValueError:
            assert number < 1 or number > 2**52


BAD = [
    {"arms": [0, -1]},
    {"arms": [0.0, 1.0]},
    {"arms": [True, False]},
    {"arms": [0, 0]},
    {"arms": [[0, 1]]},
    {"arms": np.ma.array([0, 1], mask=[0, 1])},
    {"arms": np.array([0, 2**63 + 7], np.uint64)},
    {"outcomes": [0.0, np.nan]},
    {"outcomes": [0.0, np.inf]},
    {"outcomes": [0.0, 1e308]},
    {"outcomes": [0.0]},
    {"outcomes": np.ma.array([0.0, 1.0], mask=[0, 1])},
    {"reward": np.inf},
    {"pulls": [1]},
    {"pulls": [0, 1]},
    {"pulls": [1.0, 1.0]},
    {"pulls": np.array([1, 2**63 + 5], np.uint64)},
    {"pulls": [1, 2**63 - 1]},
    {"squares": [np.nan, 0.0]},
    {"squares": [1e300, 0.0]},
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{next(iter(bad))}-{next(iter(bad.values()))!r:.25}")
def test_bad_feedback_is_refused(bad):
    with pytest.raises(ValueError, match=list(bad)[-1]):
        Feedback(**{"arms": [0, 1], "outcomes": [0.0, 1.0], "reward": 1.0} | bad)


def test_feedback_keeps_copies():
    arms, outcomes, pulls, squares = np.array([0, 1]), np.array([1.0, 2.0]), np.array([2, 2]), np.full(2, 2.0)
    told = Feedback(arms, outcomes, pulls=pulls, squares=squares)
    for array in (arms, outcomes, pulls, squares):
        array[:] = -7
    for kept in (told.arms, told.outcomes, told.pulls, told.squares):
        assert (kept >= 0).all()


def test_counts_do_not_overflow():
    stats = ArmStatistics.empty(2)
    stats.update(Feedback([0], [0.0], pulls=[2**53]))
    with pytest.raises(ValueError, match="pulls"):
        stats.update(Feedback([0], [0.0], pulls=[1]))
    assert stats.counts.tolist() == [2**53, 0]


def snapshot(session):
    return pickle.dumps((session.state, session.pending, session._asked, session.rng.bit_generator.state))


def abuses(session, ticket, other):
    """Yield calls of `tell` that must be refused."""
    good = answer(session, ticket, np.random.default_rng(0))
    n_arms = getattr(session.policy, "oracle", session.policy).n_arms
    yield lambda: session.tell([1, 2, 3], ticket)
    yield lambda: session.tell(good, True)
    yield lambda: session.tell(good, np.True_)
    yield lambda: session.tell(good, float(ticket.number))
    yield lambda: session.tell(good, -1)
    yield lambda: session.tell(good, 10**30)
    yield lambda: session.tell(good, "0")
    yield lambda: session.tell(good, other)
    yield lambda: session.tell(Feedback([n_arms], [0.0]), ticket)
    yield lambda: session.tell(Feedback([2**40], [0.0]), ticket)
    if session.support is not None and len(good.arms):
        beyond = session.support[1] + 16.0
        pulls = good.pulls if good.pulls is not None else 1
        yield lambda: session.tell(
            Feedback(good.arms, beyond * pulls + good.outcomes, pulls=good.pulls), ticket
        )
    if len(good.arms) > 1 and good.pulls is not None:
        yield lambda: session.tell(Feedback(good.arms[1:], good.outcomes[1:]), ticket)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_refused_changes_nothing(name):
    """Over all learners: every abuse raises, and the future is that of a session which was never abused."""
    session, twin = (Session(LEARNERS[name](), rng=1) for _ in range(2))
    other = Session(LEARNERS[name](), rng=1)
    played(session, 4), played(twin, 4), played(other, 4)
    if session.is_done:
        return
    ticket, twins, foreign = session.ask(), twin.ask(), other.ask()
    before = snapshot(session)
    for number, abuse in enumerate(abuses(session, ticket, foreign)):
        with pytest.raises((ValueError, TypeError)):
            abuse()
        assert snapshot(session) == before, number
    for each, asked in ((session, ticket), (twin, twins)):
        each.tell(answer(each, asked, np.random.default_rng(2)), asked)
    assert played(session, 5) == played(twin, 5)


@pytest.mark.parametrize("case", [c for c in ORACLES if c.high == 1.0], ids=lambda case: case.name)
def test_arms_that_a_ticket_cannot_trigger_are_refused(case):
    oracle = case.make()
    session = Session(CTS(oracle), rng=0)
    ticket = session.ask()
    possible = oracle.triggered_arms(ticket.super_arm)
    for arm in set(range(oracle.n_arms)) - set(possible.tolist()):
        with pytest.raises(ValueError, match="can trigger"):
            session.tell(Feedback([arm], [0.0]), ticket)
    session.tell(Feedback(possible, np.zeros(len(possible))), ticket)


def test_callers_may_write_to_what_they_get():
    session = Session(CUCB(TopK(5, 2)), rng=0)
    ticket = session.ask()
    ticket.super_arm[:] = 4
    with pytest.raises(ValueError, match="can trigger"):
        session.tell(Feedback([4], [0.0]), ticket)
    session.tell(Feedback([0, 1], [0.0, 1.0]), ticket)


def test_a_wider_support_may_be_declared():
    told = Feedback([0, 1], [-0.2, 1.3])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        strict = Session(CUCB(TopK(3, 2)), rng=0)
        strict.tell(told, strict.ask())
    free = Session(CUCB(TopK(3, 2)), rng=0, support=(-np.inf, np.inf))
    free.tell(told, free.ask())
    assert free.state.means[1] == 1.3


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


# Threads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cucb-top_k", "cts-top_k", "rarely_switching-top_k", "lucb1", "sar"])
def test_threads_share_a_session(name, tmp_path):
    """Four threads ask, tell, save and look: every number once, every outcome counted, the file whole."""
    session, numbers, errors = Session(LEARNERS[name](), rng=0), [], []

    def work(which):
        rng = np.random.default_rng(which)
        try:
            for step in range(25):
                if session.is_done:
                    return
                ticket = session.ask()
                numbers.append(ticket.number)
                if step % 8 == 0:
                    session.save(tmp_path / "s.npz")
                    repr(session)
                session.tell(answer(session, ticket, rng), ticket)
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(which,)) for which in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert sorted(numbers) == list(range(len(numbers)))
    assert session.pending == ()
    assert len(Session.load(tmp_path / "s.npz", LEARNERS[name]()).pending) <= 4
    if name == "cucb-top_k":
        assert session.state.rounds == 100
        assert session.state.counts.sum() == 200


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_told_to_a_copy_does_not_reach_the_session(name, twin):
    session = Session(LEARNERS[name](), rng=0)
    played(session, 3)
    before, other = repr(vars(session)), twin(session)
    future = played(other, 4)
    assert repr(vars(session)) == before
    assert played(session, 4) == future


# Words -----------------------------------------------------------------------------------------------------


test_the_wrong_kind_of_thing_is_named = refused(
    (lambda: Session(CUCB), r"CUCB\(oracle\)"),
    (lambda: Session([0.5]), "policy must be a Policy"),
    (lambda: simulate(CUCB, BernoulliArms([0.5]), 5), r"CUCB\(oracle\)"),
    (lambda: simulate(CUCB(TopK(2, 1)), [0.9, 0.8], 5), "environment must be an Environment"),
    (lambda: SemiBandit([0.1] * 8, TopK(8, 2)), r"BernoulliArms\(\[0.1"),
    (lambda: Session(CUCB(TopK(2, 1))).tell([1, 2, 3]), r"feedback must be a Feedback\("),
    error=TypeError,
)

test_ends_that_are_no_interval_are_refused = refused(
    (lambda: Session(TopK(2, 1), support=(1.0, 1.0)), "pair of increasing numbers"),
    (lambda: Session(TopK(2, 1), support=(0.0, np.nan)), "pair of increasing numbers"),
    (lambda: Session(TopK(2, 1), support=0.5), "pair of increasing numbers"),
)


@pytest.mark.parametrize("horizon", [2**53 + 1, 2**63, 10**30, np.inf, 0, True])
def test_horizons_without_end_are_refused(horizon):
    with pytest.raises(ValueError, match="horizon"):
        simulate(CUCB(TopK(2, 1)), SemiBandit(BernoulliArms([0.5, 0.1]), TopK(2, 1)), horizon)
