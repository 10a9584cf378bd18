"""Environments of users: those that declare or answer what cannot be are refused, changes are found."""

import threading

import numpy as np
import pytest

from cmab import CUCB, Environment, Feedback, Greedy, HoeffdingRace, RandomPolicy, identify, simulate
from oracles import TopK

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
