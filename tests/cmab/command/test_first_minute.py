"""The first minute: one line while code is compiled, and a command that compiles it ahead."""

import inspect
import pickle
from types import SimpleNamespace

import pytest
from refusals import refused

from cmab import CUCB, LUCB1, Campaign, Session, compare, identify, simulate
from cmab import compiled as _watch
from instances import BernoulliArms, SemiBandit
from oracles import TopK

TOP = TopK(3, 1)
PLAIN = SemiBandit(BernoulliArms([0.2, 0.7, 0.4]), TOP)


class Worker:
    def __init__(self, name):
        self.name = name


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands at the seconds in a list."""
    now = [0.0]
    monkeypatch.setattr(_watch, "perf_counter", lambda: now[0])
    monkeypatch.delenv("CMAB_QUIET", raising=False)
    return now


def compile_for(clock, stopwatch, seconds):
    with stopwatch:
        with stopwatch:  # what is called is compiled within it, and counts once
            clock[0] += seconds / 2
        clock[0] += seconds / 2


class Compiled:
    """What numba's events say of a function."""

    stats = SimpleNamespace(cache_path=None)


@pytest.mark.parametrize("is_ours", [True, False])
def test_functions_of_the_program_itself_are_not_told_of(clock, capsys, is_ours):
    listener, function = _watch._Listener(), Compiled()
    if is_ours:
        _watch.watch(function)
    event = SimpleNamespace(kind="numba:compile", data={"dispatcher": function})
    listener.on_start(event)
    clock[0] += 3.0
    listener.on_end(event)
    assert ("cmab: compiling" in capsys.readouterr().err) == is_ours


def test_compiling_is_told_once_and_only_where_it_takes_long(clock, capsys):
    stopwatch = _watch.Stopwatch("/somewhere")
    compile_for(clock, stopwatch, 1.5)
    clock[0] += 100.0
    assert capsys.readouterr().err == ""
    for _ in range(3):
        compile_for(clock, stopwatch, 1.0)
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert "cmab: compiling" in told.err
    assert "cached in /somewhere" in told.err
    assert "`cmab warmup`" in told.err


@pytest.mark.parametrize(
    ("process", "quiet", "is_told"),
    [("MainProcess", "", 1), ("LokyProcess-1", "", 1), ("LokyProcess-2", "", 0), ("MainProcess", "1", 0)],
)
def test_who_tells_it(process, quiet, is_told, clock, capsys, monkeypatch):
    monkeypatch.setattr(_watch, "current_process", lambda: Worker(process))
    monkeypatch.setenv("CMAB_QUIET", quiet)
    compile_for(clock, _watch.Stopwatch(""), 5.0)
    assert capsys.readouterr().err.count("each process compiles it again") == is_told


test_names_of_others_are_asked_back = refused(
    (lambda: simulate(CUCB(TOP), PLAIN, seed=0), r"simulate has no .* 'seed' \(did you mean 'rng'\?\)"),
    (lambda: simulate(CUCB(TOP), PLAIN, rounds=9), "did you mean 'horizon'"),
    (lambda: simulate(CUCB(TOP), PLAIN, 9, replicatons=9), "did you mean 'replications'"),
    (lambda: identify(LUCB1(3, 1, delta=0.1), PLAIN, jobs=2), "did you mean 'n_jobs'"),
    (
        lambda: identify(LUCB1(3, 1, delta=0.1), PLAIN, colour=2),
        "'colour'; its arguments are explorer, environment",
    ),
    (lambda: compare({"a": CUCB(TOP)}, PLAIN, rounds=9), "did you mean 'horizon'"),
    (lambda: compare(policies={"a": CUCB(TOP)}, environment=PLAIN), "did you mean 'learners'"),
    (lambda: Session(CUCB(TOP), seed=0), r"Session has no argument 'seed' \(did you mean 'rng'\?\)"),
    (lambda: Campaign(CUCB(TOP), file="campaign"), "did you mean 'where'"),
    error=TypeError,
)


def test_signatures_are_still_those_of_the_functions():
    assert list(inspect.signature(simulate).parameters)[:3] == ["policy", "environment", "horizon"]
    assert pickle.loads(pickle.dumps(simulate)) is simulate


def test_the_packages_beside_have_a_name_in_cmab():
    from cmab import instances, oracles

    assert oracles.TopK is TopK
    assert instances.BernoulliArms is BernoulliArms
