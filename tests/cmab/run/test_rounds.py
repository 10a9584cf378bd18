"""Rounds that differ, users' environments, late feedback and proved ratios, in the Python loop."""

from typing import ClassVar

import numpy as np
import pytest
from refusals import refused

from cmab import (
    CTS,
    CUCB,
    LUCB1,
    BernsteinLUCB,
    Context,
    Environment,
    Feedback,
    Greedy,
    IndexPolicy,
    RandomPolicy,
    identify,
    simulate,
)
from cmab.guarantees import SolverCertificate, proved_ratio
from instances import BernoulliArms, SemiBandit
from oracles import MultidimensionalKnapsack, TopK

MEANS = np.array([0.2, 0.9, 0.1, 0.8, 0.3])
ORACLE = TopK(5, k=2)
PLACE = SemiBandit(BernoulliArms(MEANS), ORACLE)


def within(available):
    return Context(available=available)


# Environments whose rounds differ ----------------------------------------------------------------------


class Sleeping(SemiBandit):
    """In each round, an arm is awake with probability 0.7, the first two always."""

    def __init__(self, awake=None):
        super().__init__(PLACE.arms, ORACLE)
        if awake is not None:
            self.context = within(awake)

    def in_round(self, t, rng):
        awake = rng.random(5) < 0.7
        awake[:2] = True
        return Sleeping(awake)


class Drifting(SemiBandit):
    """The means change places every 50 rounds."""

    def in_round(self, t, rng):
        return SemiBandit(BernoulliArms(np.roll(self.means, (t - 1) // 50)), self.oracle)


@pytest.mark.slow
def test_all_policies_meet_the_same_rounds_for_any_number_of_workers():
    runs = [
        simulate(policy, Sleeping(), 120, replications=3, rng=0, n_jobs=n_jobs)
        for policy, n_jobs in ((CUCB(ORACLE), 1), (CTS(ORACLE), 1), (CUCB(ORACLE), 2))
    ]
    assert {run.path for run in runs} == {"python"}
    for run in runs[1:]:
        assert np.array_equal(run.optima, runs[0].optima)
    assert np.array_equal(runs[0].expected_rewards, runs[2].expected_rewards)
    assert not np.array_equal(runs[0].optima[0], runs[0].optima[1])


def test_regret_is_against_the_optimum_of_each_round():
    """A policy that knows everything has none."""

    class Knowing(IndexPolicy):
        def indices(self, stats, rng):
            return np.array(MEANS)

    told = simulate(Knowing(ORACLE), Sleeping(), 200, replications=2, rng=1)
    assert np.abs(told.regret).max() < 1e-9
    assert told.optimum == pytest.approx(told.optima[:, -1].mean() / 200)
    # Means that change places: the optimum stays, and who does not follow loses.
    drifting = Drifting(BernoulliArms(MEANS), ORACLE)
    stubborn = simulate(Knowing(ORACLE), drifting, 250, rng=1)
    lost = [MEANS[[1, 3]].sum() - np.roll(MEANS, place)[[1, 3]].sum() for place in range(5)]
    assert np.allclose(stubborn.regret[0, 49::50], 50 * np.cumsum(lost))
    assert np.allclose(stubborn.optima[0], stubborn.rounds * MEANS[[1, 3]].sum())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "must return an Environment, got None"),
        (SemiBandit(BernoulliArms([0.5, 0.6]), TopK(2, 1)), "must have 5 base arms, got 2"),
    ],
)
def test_rounds_are_checked(answer, message):
    class Place(SemiBandit):
        def in_round(self, t, rng):
            return answer

    place = Place(BernoulliArms(MEANS), ORACLE)
    with pytest.raises(ValueError, match=rf"environment.in_round\(1, rng\) {message}"):
        simulate(CUCB(ORACLE), place, 5, rng=0)


# Learning by tickets, and late feedback ----------------------------------------------------------------


class ByTicket(CUCB):
    """Learns as CUCB does, by way of `learn`; remembers nothing else."""

    def update(self, state, feedback, ticket=None, rng=None):
        assert set(feedback.arms.tolist()) == set(ticket)
        super().update(state, feedback)


class Chosen(CUCB):
    def select(self, state, rng, context=None):
        return super().select(state, rng)


@pytest.mark.parametrize("make", [ByTicket, Chosen])
def test_policies_with_hooks_of_their_own_are_played_in_python(make):
    usual = simulate(CUCB(ORACLE), PLACE, 300, replications=2, rng=0)
    own = simulate(make(ORACLE), PLACE, 300, replications=2, rng=0)
    assert (usual.path, own.path) == ("compiled", "python")
    assert np.array_equal(usual.expected_rewards, own.expected_rewards)
    assert np.array_equal(usual.rewards, own.rewards)


class SamplesByTicket(LUCB1):
    def update(self, state, feedback, ticket=None, rng=None):
        assert feedback.arms.tolist() == list(ticket)
        super().update(state, feedback)


def test_explorers_with_learn_of_their_own_are_played_in_python():
    usual, own = (
        identify(make(n_arms=5, k=2, delta=0.1), PLACE.arms, replications=2, rng=0)
        for make in (LUCB1, SamplesByTicket)
    )
    assert (usual.path, own.path) == ("compiled", "python")
    assert usual.samples.tolist() == own.samples.tolist()


def test_no_delay_is_the_compiled_path_and_its_numbers():
    usual = simulate(CUCB(ORACLE), PLACE, 300, replications=2, rng=0)
    for named in ({"batch": 1}, {"delay": None}, {"delay": 0}):
        same = simulate(CUCB(ORACLE), PLACE, 300, replications=2, rng=0, **named)
        assert same.path == "compiled"
        assert np.array_equal(usual.rewards, same.rewards)
    nothing = simulate(CUCB(ORACLE), PLACE, 300, replications=2, rng=0, delay=lambda t, rng: 0)
    assert nothing.path == "python"
    assert np.array_equal(usual.rewards, nothing.rewards)


class Logged(CUCB):
    """Writes down which round each feedback is of, and how many rounds were played by then."""

    log: ClassVar = []

    def select(self, state, rng, context=None):
        self.log.append("played")
        return super().select(state, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        self.log.append(ticket.number + 1)
        super().update(state, feedback)


@pytest.mark.parametrize(
    ("named", "due"),
    [
        ({"batch": 4}, lambda t: -(-t // 4) * 4),
        ({"delay": 3}, lambda t: t + 3),
        ({"delay": 3, "batch": 4}, lambda t: -(-(t + 3) // 4) * 4),
        ({"delay": lambda t, rng: 7 - t % 8}, lambda t: t + 7 - t % 8),
    ],
)
def test_feedback_arrives_when_it_is_due(named, due):
    Logged.log.clear()
    told = simulate(Logged(ORACLE), PLACE, 22, rng=0, **named)
    found = [
        (Logged.log[:i].count("played"), entry) for i, entry in enumerate(Logged.log) if entry != "played"
    ]
    expected = sorted((due(t), t) for t in range(1, 23) if due(t) <= 22)
    assert found == expected
    assert told.states[0].rounds == len(expected)


def test_random_delays_are_the_same_for_all_policies_and_change_no_coins():
    asked = {}

    def delay(t, rng):
        later = int(rng.integers(6))
        asked.setdefault(t, set()).add(later)
        return later

    runs = [simulate(policy, Sleeping(), 60, rng=0, delay=delay) for policy in (CUCB(ORACLE), CTS(ORACLE))]
    assert all(len(found) == 1 for found in asked.values())
    assert len(set.union(*asked.values())) == 6
    at_once = simulate(CUCB(ORACLE), Sleeping(), 60, rng=0)
    for run in runs:
        assert np.array_equal(run.optima, at_once.optima)


test_delays_that_are_none_are_refused = refused(
    ({"batch": 0}, "batch must be an integer in"),
    ({"delay": -1}, "delay"),
    ({"delay": "2"}, "delay, which may be a function"),
    ({"delay": lambda t, rng: 0.5}, "the return value of delay must be an integer"),
    by=lambda named: simulate(CUCB(ORACLE), PLACE, 10, rng=0, **named),
)


# Environments of users ------------------------------------------------------------------------------


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


inf, nan = np.inf, np.nan
DECLARED = [
    *({"support": wrong} for wrong in ((nan, 1.0), (1.0, 0.0), (inf, inf), None, (0.0,), ("0", "1"))),
    *({"means": np.array(wrong)} for wrong in ([0.9, nan, 0.1], [0.9, 0.1], 0.5, ["a"] * 3)),
    *({"means": wrong} for wrong in ([0.9, 0.5, 0.1], None)),
]
ANSWERED = [
    *({"optimum": wrong} for wrong in (inf, "x", None, np.array([0.9]))),
    *({"earned": wrong} for wrong in (inf, "1", None, np.ones(2), 1j)),
]
SHOWN = [None, (np.array([0]), np.array([1.0])), Feedback([0], [1.5]), Feedback([0, 1], [1.0, 1.1])]


def named(wrong):
    return f"{next(iter(wrong))}-{next(iter(wrong.values()))!r:.30}"


@pytest.mark.parametrize("wrong", [*DECLARED, *ANSWERED], ids=named)
def test_what_cannot_be_is_refused_by_name(wrong):
    name = next(iter(wrong)).replace("earned", "expected_reward")
    with pytest.raises(ValueError, match=rf"environment\.{name}\b.* must"):
        simulate(Greedy(TopK(3, 1)), Plain(**wrong), 5, rng=0)


@pytest.mark.parametrize("shown", SHOWN, ids=range(len(SHOWN)))
def test_feedback_that_cannot_be_is_refused(shown):
    for run in (
        lambda environment: simulate(CUCB(TopK(3, 1)), environment, 5, rng=0),
        lambda environment: simulate(RandomPolicy(TopK(3, 1)), environment, 5, rng=0),
        lambda environment: identify(BernsteinLUCB(3, 1, delta=0.1), environment, rng=0),
    ):
        run(Plain())
        with pytest.raises(ValueError, match=r"must (return a Feedback|lie in \[0, 1\], the support)"):
            run(Plain(shown=shown))


@pytest.mark.slow
def test_what_cannot_go_to_workers_is_named():
    class Held(Plain):
        def __reduce__(self):
            raise TypeError("no copies")

    with pytest.raises(TypeError, match=r"environments must be picklable .* no copies; use n_jobs=1"):
        simulate(RandomPolicy(TopK(3, 1)), Held(), 5, replications=2, n_jobs=2)


def test_mistakes_of_newcomers_have_a_remedy():
    arms = BernoulliArms([0.5, 0.4])
    with pytest.raises(ValueError, match=r"such as SemiBandit\(.*, oracle\), got the base arms"):
        simulate(CUCB(TopK(2, 1)), arms, 5, rng=0)
    nearly = type("Nearly", (TopK,), {"alpha": 0.5})(2, 1)
    with pytest.warns(UserWarning, match="give the environment an exact oracle"):
        simulate(CUCB(nearly), SemiBandit(arms, nearly), 5, rng=0)


# Ratios that an oracle proves in its calls -------------------------------------------------------------


FOUR = [0.4, 0.6, 0.9, 0.3]


@pytest.mark.parametrize(
    ("value", "bound", "ratio"),
    [
        (3.0, 4.0, 0.75),
        (0.0, 4.0, 0.0),
        (0.0, 0.0, 1.0),
        (-1.0, -1.0, 1.0),
        (-1.0, 4.0, np.nan),
        (-2.0, -1.0, np.nan),
        (5.0, 4.0, 1.25),
        (5.0, 0.0, np.inf),
        (5.0, -1.0, np.inf),
        (-1.0, -2.0, np.nan),
    ],
)
def test_ratios_by_hand(value, bound, ratio):
    assert proved_ratio(value, bound) == pytest.approx(ratio, nan_ok=True)
    assert SolverCertificate(np.array([0]), value, bound, True).ratio == pytest.approx(ratio, nan_ok=True)


def test_the_optimum_of_a_limited_oracle_is_the_bound_that_it_proved():
    """If the gap is closed, it is the optimum; a greedy answer has a bound above it."""
    rows, means = ([[3, 2, 2, 1], [1, 1, 4, 1]], [5, 4]), BernoulliArms(FOUR)
    optimum = SemiBandit(means, MultidimensionalKnapsack(*rows)).optimum
    closed = MultidimensionalKnapsack(*rows, time_limit=60.0, on_limit="best")
    assert SemiBandit(means, closed).optimum == pytest.approx(optimum, rel=1e-9)
    greedy = MultidimensionalKnapsack(*rows, time_limit=0)
    answer = greedy.solve_certified(means.means, 0)
    assert SemiBandit(means, greedy).optimum == answer.bound >= optimum
    assert not SemiBandit(means, greedy).optimum_is_exact
