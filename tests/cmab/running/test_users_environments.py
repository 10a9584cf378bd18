"""Environments of users: those that change while they are played, or declare what cannot be, are refused."""

import itertools
import random
import threading
from collections import OrderedDict, defaultdict, deque
from functools import cached_property
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from cases import ENVIRONMENTS
from scipy import sparse

from cmab import CUCB, Environment, Feedback, Greedy, HoeffdingRace, RandomPolicy, identify, simulate
from instances import BernoulliArms
from oracles import BruteForce, TopK

# What changes while it is played --------------------------------------------------------------------------


class Part:
    """An object with a number, and a cache."""

    def __init__(self):
        self.t = 0

    def tick(self):
        self.t += 1

    @cached_property
    def table(self):
        return np.arange(3)


class Slotted:
    __slots__ = ("t",)

    def __init__(self):
        self.t = 0


def nested(environment):
    environment.clock[0].t += 1


def closing():
    """Return a function that counts in what it closes over."""
    t = 0

    def count():
        nonlocal t
        t += 1

    return count


def written_on(environment):
    environment.clock.t = getattr(environment.clock, "t", 0) + 1


# What an environment may keep, and how it changes it in a round.
CLOCKS = {
    "number": (lambda: 0, lambda e: setattr(e, "clock", e.clock + 1)),
    "from nothing": (lambda: None, lambda e: setattr(e, "clock", (e.clock or 0) + 1)),
    "array": (lambda: np.zeros(10_000), lambda e: e.clock.__iadd__(1.0)),
    "array of objects": (
        lambda: np.array([[0], [1]], object),
        lambda e: e.clock.__setitem__(0, e.clock[0] + 1),
    ),
    "generator": (lambda: np.random.default_rng(0), lambda e: e.clock.random()),
    "random": (lambda: random.Random(0), lambda e: e.clock.random()),
    "bits": (lambda: np.random.PCG64(0), lambda e: e.clock.random_raw()),
    "list": (list, lambda e: e.clock.append(0)),
    "set": (set, lambda e: e.clock.add(len(e.clock))),
    "queue": (lambda: deque([0, 1, 2, 3]), lambda e: e.clock.rotate(1)),
    "dict": (lambda: {"t": 0}, lambda e: e.clock.update(t=e.clock["t"] + 1)),
    "iterator": (itertools.count, lambda e: next(e.clock)),
    "rows": (lambda: iter(list(range(1000))), lambda e: next(e.clock)),
    "part": (lambda: [Part()], nested),
    "slots": (lambda: (Slotted(),), nested),
    "steps": (lambda: (t for t in itertools.count()), lambda e: next(e.clock)),
    "closure": (closing, lambda e: e.clock()),
    "bound method": (lambda: Part().tick, lambda e: e.clock()),
    "dicts": (lambda: {"a": {"b": [0]}}, lambda e: e.clock["a"]["b"].append(0)),
    "ordered dict": (lambda: OrderedDict(a=0, b=1), lambda e: e.clock.update(b=e.clock["b"] + 1)),
    "part's part": (
        lambda: SimpleNamespace(part=Part()),
        lambda e: setattr(e.clock.part, "t", e.clock.part.t + 1),
    ),
    "on a function": (closing, written_on),
    "matrix": (lambda: sparse.eye_array(3, format="csr"), lambda e: e.clock.data.__iadd__(1.0)),
    "graph": (nx.Graph, lambda e: e.clock.add_edge(len(e.clock), len(e.clock) + 1)),
}
PAIRS = [
    *((ENVIRONMENTS[0], clock) for clock in CLOCKS),
    # Of an environment with rounds of its own, those are played, and it is not.
    *(
        (case, clock)
        for case in ENVIRONMENTS[1:]
        if type(case.make()).in_round is Environment.in_round
        for clock in ("number", "generator", "dicts")
    ),
]


class Anything(RandomPolicy):
    """Plays in rounds of any kind, blindly."""

    def select_for(self, state, context, rng):
        return self.select(state, rng)


def with_clock(case, make=None, tick=None, **attributes):
    """Return an environment of the table, played by Python, that does something more in each round."""
    plain = case.make()

    class Own(type(plain)):
        def play(self, super_arm, rng):
            if tick is not None:
                tick(self)
            return super().play(super_arm, rng)

    plain.__class__ = Own
    if make is not None:
        plain.clock = make()
    for name, value in attributes.items():
        setattr(Own, name, value)
    return Anything(BruteForce(plain.n_arms, case.super_arms)), plain


@pytest.mark.parametrize(("case", "clock"), PAIRS, ids=lambda given: getattr(given, "name", given))
def test_what_changes_while_it_is_played_is_refused(case, clock):
    policy, environment = with_clock(case, *CLOCKS[clock])
    with pytest.raises(ValueError, match=r"environment must not change while it is played.*'clock'"):
        simulate(policy, environment, 5, replications=2, rng=0)


@pytest.mark.parametrize("clock", ["number", "generator"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_it_is_refused_by_all_numbers_of_workers(clock, n_jobs):
    policy, environment = with_clock(ENVIRONMENTS[0], *CLOCKS[clock])
    with pytest.raises(ValueError, match="environment must not change while it is played"):
        simulate(policy, environment, 5, replications=4, rng=0, n_jobs=n_jobs)


def test_a_clock_of_the_class_is_refused():
    def tick(environment):
        type(environment).t += 1

    policy, environment = with_clock(ENVIRONMENTS[0], tick=tick, t=0)
    with pytest.raises(ValueError, match=r"environment must not change while it is played.*'t'"):
        simulate(policy, environment, 5, rng=0)


@pytest.mark.parametrize("batch", [1, 3])
def test_explorers_refuse_it_as_well(batch):
    class Counting(BernoulliArms):
        t = 0

        def sample(self, arms, pulls, rng):
            self.t += 1
            return super().sample(arms, pulls, rng)

    explorer = HoeffdingRace(3, 1, delta=0.1, max_pulls=60)
    assert identify(explorer, BernoulliArms([0.9, 0.5, 0.1]), rng=0).stopped.all()
    with pytest.raises(ValueError, match="environment must not change while it is played"):
        identify(explorer, Counting([0.9, 0.5, 0.1]), replications=batch, rng=0)


def remember(environment):
    """Fill all kinds of caches."""
    assert environment.own_table.sum() == 3
    environment.clock.setdefault(len(environment.clock) % 7, np.zeros(3))
    environment.lazily = np.ones(2)
    environment.part.table.sum()
    environment.graph_of_its_own.adj, environment.graph_of_its_own.nodes  # noqa: B018
    environment.left_out += 1
    with environment.lock:
        pass
    nested = environment.nested
    nested.table = np.ones(3)
    nested.others[0].later = 1
    nested.by_name["a"]["b"] = 2
    nested.counts[len(nested.counts) % 5] += 0
    nested.ordered.setdefault("b", 0)
    nested.matrix.max(), nested.matrix.multiply(nested.matrix)


# Except the one where an arm may be unavailable, which the policy of this test plays all the same.
@pytest.mark.parametrize(
    "case", [case for case in ENVIRONMENTS if case.name != "sleeping"], ids=lambda case: case.name
)
def test_caches_are_not_taken_for_a_change(case):
    """By `cached_property`, in a dict, made once, left out of pickles, with a lock: here and in parts."""

    def table(self):
        return np.arange(3)

    cached = cached_property(table)
    cached.__set_name__(Environment, "own_table")

    def state(self):
        return {n: v for n, v in vars(self).items() if n not in ("left_out", "lock")}

    policy, environment = with_clock(case, dict, remember, own_table=cached, __getstate__=state, lazily=None)
    environment.part, environment.graph_of_its_own = Part(), nx.path_graph(3)
    environment.left_out, environment.lock = 0, threading.Lock()
    environment.nested = SimpleNamespace(
        table=None, others=[Part()], by_name={"a": {}}, counts=defaultdict(int), ordered=OrderedDict(a=1)
    )
    environment.nested.itself, environment.nested.whose = environment.nested, environment
    environment.nested.matrix = sparse.csr_array((np.ones(3), ([0, 1, 2], [2, 1, 0])))
    found = simulate(policy, environment, 20, replications=3, rng=0)
    plain = simulate(policy, case.make(), 20, replications=3, rng=0)
    assert found.path == "python"
    assert np.array_equal(found.rewards, plain.rewards)


def test_a_lock_alone_is_no_change():
    policy, environment = with_clock(
        ENVIRONMENTS[0], threading.Lock, lambda e: e.clock.acquire(blocking=False)
    )
    simulate(policy, environment, 5, replications=2, rng=0)


def test_a_long_chain_of_objects_is_no_obstacle():
    policy, environment = with_clock(ENVIRONMENTS[0], lambda: None)
    for _ in range(5_000):
        environment.clock = SimpleNamespace(next=environment.clock)
    simulate(policy, environment, 5, rng=0)


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

    with pytest.raises(
        TypeError, match=f"^{kind} must be picklable to go to worker processes, which .* is not"
    ):
        if kind == "explorer":
            identify(Racer(3, 1, delta=0.1, max_pulls=10), Plain(), replications=2, n_jobs=2)
        else:
            simulate(Learner(TopK(3, 1)), Held(), 5, replications=2, n_jobs=2)
