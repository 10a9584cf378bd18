"""Environments of users: those that declare or answer what cannot be are refused, changes are found."""

import itertools
import threading
from collections import deque
from functools import cached_property
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from cases import ENVIRONMENTS
from scipy import sparse

from cmab import CUCB, Environment, Feedback, Greedy, HoeffdingRace, RandomPolicy, identify, simulate
from cmab.testing import environment_checks
from oracles import TopK

# What changes while it is played: check_environment finds it ----------------------------------------------


class Part:
    """An object with a number, and a cache."""

    def __init__(self):
        self.t = 0

    def tick(self):
        self.t += 1

    @cached_property
    def table(self):
        return np.arange(3)


def closing():
    """Return a function that counts in what it closes over."""
    t = 0

    def count():
        nonlocal t
        t += 1

    return count


def on_the_class(environment):
    type(environment).t += 1


# What an environment may keep, and how it changes it in a round.
CLOCKS = {
    "number": (lambda: 0, lambda e: setattr(e, "clock", e.clock + 1)),
    "from nothing": (lambda: None, lambda e: setattr(e, "clock", (e.clock or 0) + 1)),
    "array": (lambda: np.zeros(10_000), lambda e: e.clock.__iadd__(1.0)),
    "generator": (lambda: np.random.default_rng(0), lambda e: e.clock.random()),
    "queue": (lambda: deque([0, 1, 2, 3]), lambda e: e.clock.rotate(1)),
    "dict": (lambda: {"t": 0}, lambda e: e.clock.update(t=e.clock["t"] + 1)),
    "iterator": (itertools.count, lambda e: next(e.clock)),
    "part": (lambda: [Part()], lambda e: e.clock[0].tick()),
    "bound method": (lambda: Part().tick, lambda e: e.clock()),
    "closure": (closing, lambda e: e.clock()),
    "class": (lambda: None, on_the_class),
    "running generator": (lambda: (t for t in itertools.count()), lambda e: next(e.clock)),
    "beside a lock": (
        lambda: SimpleNamespace(lock=threading.Lock(), part=Part()),
        lambda e: e.clock.part.tick(),
    ),
}


def with_clock(make, tick, **attributes):
    """Return a check of an environment that does something more in each round."""
    case = ENVIRONMENTS[0]
    environment = case.make()

    class Own(type(environment)):
        t = 0

        def play(self, super_arm, rng):
            tick(self)
            return super().play(super_arm, rng)

    for name, value in attributes.items():
        setattr(Own, name, value)
    environment.__class__ = Own
    environment.clock = make()
    checks = environment_checks(environment, case.super_arms, seconds=0.2, draws=50)
    return environment, next(check for check in checks if check.title == "stationarity")


@pytest.mark.parametrize("clock", CLOCKS)
def test_what_changes_while_it_is_played_is_found(clock):
    _, check = with_clock(*CLOCKS[clock])
    with pytest.raises(AssertionError, match=r"^stationarity: .* once more changed (clock|t) of"):
        check.run()


def remember(environment):
    """Fill all kinds of caches."""
    assert environment.own_table.sum() == 3
    environment.clock.setdefault(len(environment.clock) % 7, np.zeros(3))
    environment.lazily = np.ones(2)
    environment.graph_of_its_own.adj, environment.graph_of_its_own.nodes  # noqa: B018
    environment.left_out += 1
    with environment.lock:
        pass
    nested = environment.nested
    nested.table = np.ones(3)
    nested.others[0].table.sum()
    nested.by_name["a"]["b"] = 2
    nested.matrix.max(), nested.matrix.multiply(nested.matrix)


def test_caches_are_not_taken_for_a_change():
    """By `cached_property`, in a dict, made once, left out of pickles, with a lock: here and in parts."""
    cached = cached_property(lambda self: np.arange(3))
    cached.__set_name__(Environment, "own_table")

    def state(self):
        return {n: v for n, v in vars(self).items() if n not in ("left_out", "lock")}

    environment, check = with_clock(dict, remember, own_table=cached, __getstate__=state, lazily=None)
    environment.left_out, environment.lock = 0, threading.Lock()
    environment.graph_of_its_own = nx.path_graph(3)
    nested = SimpleNamespace(table=None, others=[Part()], by_name={"a": {}}, whose=environment)
    environment.nested = nested.itself = nested
    nested.matrix = sparse.csr_array((np.ones(3), ([0, 1, 2], [2, 1, 0])))
    check.run()


# What it declares and answers ------------------------------------------------------------------------------


class Plain(Environment):
    """Three certain arms, of which one attribute is not as it should be."""

    n_arms, means, optimum = 3, np.array([0.9, 0.5, 0.1]), 0.9

    def __init__(self, **wrong):
        for name, value in wrong.items():
            setattr(self, name, value)

    def play(self, super_arm, rng):
        return (
            self.shown if hasattr(self, "shown") else Feedback(super_arm, Plain.means[super_arm], reward=0.5)
        )

    def pull(self, arms, rng):
        return Plain.means[arms]

    def sample(self, arms, pulls, rng):
        return self.shown if hasattr(self, "shown") else super().sample(arms, pulls, rng)

    def expected_reward(self, super_arm):
        return self.earned if hasattr(self, "earned") else float(Plain.means[super_arm].sum())


class Unscaled(Plain):
    """Another scale than that of its support."""

    sigma = np.nan


inf, nan = np.inf, np.nan
DECLARED = [
    *(
        {"support": wrong}
        for wrong in ((nan, 1.0), (0.0, nan), (1.0, 0.0), (inf, inf), (-inf, -inf), None, 1.0)
    ),
    *({"support": wrong} for wrong in ((0.0,), ("0", "1"), (0.0, 0.5, 1.0), (False, True))),
    *({"means": np.array(wrong)} for wrong in ([0.9, nan, 0.1], [0.9, inf, 0.1], [0.9, 0.1], 0.5, ["a"] * 3)),
    *({"means": wrong} for wrong in ([0.9, 0.5, 0.1], None, "means", [0.9])),
    {"means": np.array([0.9, 0.5, 1j])},
]
ANSWERED = [
    *({"optimum": wrong} for wrong in (inf, -inf, "x", None, [0.9], np.array([0.9]), True)),
    *({"earned": wrong} for wrong in (inf, -inf, "1", None, [0.5], np.array([0.5]), np.ones(2), True, 1j)),
]
SHOWN = [
    None,
    (np.array([0]), np.array([1.0])),
    Feedback([0], [1.5]),
    Feedback([0], [-0.5]),
    Feedback([0, 1], [1.0, 1.1]),
    Feedback.unchecked(np.array([0]), np.array([nan]), 0.0),
    Feedback.unchecked([0], [1.0], 0.0),
    Feedback.unchecked(np.arange(3).repeat(20), np.linspace(0.0, 1.001, 60), 0.0),
]


def named(wrong):
    return f"{next(iter(wrong))}-{next(iter(wrong.values()))!r:.30}"


@pytest.mark.parametrize("wrong", [*DECLARED, *ANSWERED], ids=named)
def test_what_cannot_be_is_refused_by_name(wrong):
    name = next(iter(wrong)).replace("earned", "expected_reward")
    with pytest.raises(ValueError, match=rf"environment\.{name}\b.* must"):
        simulate(Greedy(TopK(3, 1)), Plain(**wrong), 5, rng=0)


@pytest.mark.parametrize("wrong", DECLARED, ids=named)
def test_explorers_refuse_what_cannot_be(wrong):
    with pytest.raises(ValueError, match=rf"environment\.{next(iter(wrong))}\b.* must"):
        identify(HoeffdingRace(3, 1, delta=0.1, max_pulls=10), Plain(**wrong), rng=0)


@pytest.mark.parametrize("sigma", [nan, -1.0, "1", None])
def test_a_scale_that_is_none_is_refused(sigma):
    environment = Unscaled()
    Unscaled.sigma = sigma
    with pytest.raises(ValueError, match=r"environment\.sigma must"):
        simulate(Greedy(TopK(3, 1)), environment, 5, rng=0)


@pytest.mark.parametrize("shown", SHOWN, ids=range(len(SHOWN)))
def test_feedback_that_cannot_be_is_refused(shown):
    for run in (
        lambda environment: simulate(CUCB(TopK(3, 1)), environment, 5, rng=0),
        lambda environment: simulate(RandomPolicy(TopK(3, 1)), environment, 5, rng=0),
        lambda environment: identify(HoeffdingRace(3, 1, delta=0.1, max_pulls=10), environment, rng=0),
    ):
        run(Plain())
        with pytest.raises(
            ValueError, match=r"must (return a Feedback|lie in \[0, 1\], the support|hold int64)"
        ):
            run(Plain(shown=shown))


def test_what_is_unknown_or_unbounded_is_allowed():
    for right in (
        {"optimum": nan},
        {"optimum": np.float32(1.0)},
        {"optimum": np.array(1.0)},
        {"support": (0, 1)},
        {"support": (0.0, inf)},
        {"support": np.array([0.0, 1.0])},
        {"earned": nan},
        {"earned": 1},
        {"earned": np.float32(1.0)},
    ):
        simulate(RandomPolicy(TopK(3, 1)), Plain(**right), 5, rng=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["policy", "environment", "explorer"])
def test_what_cannot_go_to_workers_is_named(kind):
    class Held(Plain):
        kept = threading.Lock() if kind == "environment" else None

    class Learner(RandomPolicy):
        kept = threading.Lock() if kind == "policy" else None

    class Racer(HoeffdingRace):
        kept = threading.Lock() if kind == "explorer" else None

    with pytest.raises(TypeError, match=f"^{kind} must be picklable to run in worker processes, got .*"):
        if kind == "explorer":
            identify(Racer(3, 1, delta=0.1, max_pulls=10), Plain(), replications=2, n_jobs=2)
        else:
            simulate(Learner(TopK(3, 1)), Held(), 5, replications=2, n_jobs=2)
