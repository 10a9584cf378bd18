"""Rounds that differ: sleeping arms, drift, learning from tickets, late feedback."""

from itertools import count
from typing import ClassVar

import numpy as np
import pytest
from cmab.studies import _registry
from refusals import refused

from cmab import (
    CTS,
    CUCB,
    LUCB1,
    Context,
    IndexPolicy,
    Study,
    identify,
    simulate,
)
from cmab.testing import checks
from instances import BernoulliArms, GaussianArms, SemiBandit
from oracles import TopK

MEANS = np.array([0.2, 0.9, 0.1, 0.8, 0.3])
ORACLE = TopK(5, k=2)
PLACE = SemiBandit(BernoulliArms(MEANS), ORACLE)


STILL = {
    "oracle": {"class": "TopK", "n_arms": 3, "k": 1},
    "environment": {
        "class": "SemiBandit",
        "arms": {"class": "BernoulliArms", "means": [0.1, 0.2, 0.3]},
        "oracle": "$oracle",
    },
}


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
    """A policy that knows everything has none; the oracle calls of all rounds are counted."""

    class Knowing(IndexPolicy):
        def indices(self, stats, rng):
            return np.array(MEANS)

    told = simulate(Knowing(ORACLE), Sleeping(), 200, replications=2, rng=1)
    assert np.abs(told.regret).max() < 1e-9
    assert told.oracle_calls.tolist() == [200, 200]
    assert told.optimum == pytest.approx(told.optima[:, -1].mean() / 200)
    # Means that change places: the optimum stays, and who does not follow loses.
    drifting = Drifting(BernoulliArms(MEANS), ORACLE)
    stubborn = simulate(Knowing(ORACLE), drifting, 250, rng=1)
    lost = [MEANS[[1, 3]].sum() - np.roll(MEANS, place)[[1, 3]].sum() for place in range(5)]
    assert np.allclose(stubborn.regret[0, 49::50], 50 * np.cumsum(lost))
    assert np.allclose(stubborn.optima[0], stubborn.rounds * MEANS[[1, 3]].sum())


def test_a_constant_context_needs_no_in_round():
    place = Sleeping(np.array([True, False, True, True, False]))
    place.in_round = lambda t, rng: place
    told = simulate(CUCB(ORACLE), place, 50, rng=0)
    alike = SemiBandit(BernoulliArms(MEANS), ORACLE)
    alike.context = place.context
    other = simulate(CUCB(ORACLE), alike, 50, rng=0)
    assert (told.path, other.path, other.optima) == ("python", "python", None)
    assert np.array_equal(told.expected_rewards, other.expected_rewards)
    assert np.allclose(told.regret, other.regret)
    alike.context = within(np.ones(4, bool))
    with pytest.raises(ValueError, match=r"context\.available must have 5 rows"):
        simulate(CUCB(ORACLE), alike, 5, rng=0)
    alike.context = [True] * 5
    with pytest.raises(ValueError, match=r"environment\.context must be a Context or None"):
        simulate(CUCB(ORACLE), alike, 5, rng=0)


def test_an_optimum_of_what_is_not_available_is_found():
    """Regret against it would be false."""
    alike = SemiBandit(BernoulliArms(MEANS), ORACLE)
    alike.context = within(np.array([True, False, True, True, False]))
    (check,) = (check for check in checks(alike, [[0, 2], [0, 3]]) if check.title == "optimum")
    alike.optimum = 1.7
    with pytest.raises(AssertionError, match=r"^optimum: the optimum is 1.7, but the best super arm .* has"):
        check.run()
    alike.optimum = 1.0
    check.run()
    alike.optimum = np.nan  # unknown
    check.run()
    assert np.isnan(simulate(CUCB(ORACLE), alike, 5, rng=0).regret).all()


def test_an_in_round_that_changes_its_environment_is_found():
    class Moved(Drifting):
        def in_round(self, t, rng):
            self.means = np.roll(self.means, 1)
            return self

    with pytest.raises(ValueError, match=r"^environment must keep its means"):
        simulate(CUCB(ORACLE), Moved(BernoulliArms(MEANS), ORACLE), 38, rng=0)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "must return an Environment, got None"),
        (SemiBandit(BernoulliArms([0.5, 0.6]), TopK(2, 1)), "must have 5 base arms, got 2"),
    ],
)
def test_rounds_are_checked(answer, message):
    place = SemiBandit(BernoulliArms(MEANS), ORACLE)
    place.in_round = lambda t, rng: answer
    with pytest.raises(ValueError, match=rf"environment.in_round\(1, rng\) {message}"):
        simulate(CUCB(ORACLE), place, 5, rng=0)


@pytest.mark.parametrize("is_other", [True, False])
@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"available": [True] * 5}, "environment.context must be a Context"),
        (within(np.ones(3, bool)), "5 rows"),
    ],
)
def test_contexts_of_one_object_are_checked_in_each_round(is_other, context, message):
    """A new context may be told by the object that was given before, or by the environment itself."""
    place = SemiBandit(BernoulliArms(MEANS), ORACLE)
    told = SemiBandit(BernoulliArms(MEANS), ORACLE) if is_other else place

    def in_round(t, rng):
        told.context = context if t == 3 else None
        return told

    place.in_round = in_round
    with pytest.raises(ValueError, match=message):
        simulate(CUCB(ORACLE), place, 5, rng=0)


def test_explorers_without_an_oracle_are_not_simulated():
    with pytest.raises(TypeError, match="policy must have an oracle, got LUCB1 without one"):
        simulate(LUCB1(5, 2, delta=0.1), PLACE, 5, rng=0)


def test_outcomes_of_a_round_stay_in_the_declared_support():
    place = SemiBandit(BernoulliArms(MEANS), ORACLE)
    wider = SemiBandit(BernoulliArms(MEANS), ORACLE)
    wider.support = (0.0, 2.0)
    place.in_round = lambda t, rng: wider if t == 3 else place
    with pytest.raises(ValueError, match=r"in_round\(3, rng\) must have outcomes in \(0.0, 1.0\)"):
        simulate(CUCB(ORACLE), place, 5, rng=0)


def test_means_of_a_round_must_fit_the_policy():
    """Gaussian outcomes are without bounds, but CUCB caps its indices to the support that it was given."""
    oracle = TopK(2, 1)
    place = SemiBandit(GaussianArms([0.4, 0.6], sigma=0.4), oracle)
    place.in_round = lambda t, rng: SemiBandit(GaussianArms([0.4, 0.6 + t / 10], sigma=0.4), oracle)
    with pytest.raises(ValueError, match=r"means from 0\.4 to 1\.1"):
        simulate(CUCB(oracle), place, 10, rng=0)
    noisy = SemiBandit(GaussianArms([0.4, 0.6], sigma=0.5), oracle)
    place.in_round = lambda t, rng: noisy
    with pytest.raises(ValueError, match=r"must have a sigma of at most 0\.4, got 0\.5"):
        simulate(CUCB(oracle), place, 10, rng=0)


def test_explorers_are_not_for_rounds_that_differ():
    with pytest.raises(ValueError, match="environment must be the same in all rounds"):
        identify(LUCB1(n_arms=5, k=2, delta=0.1), Sleeping(), rng=0)


@pytest.mark.slow
def test_studies_keep_the_optima_of_rounds_that_differ(monkeypatch, tmp_path):
    entries, entry = _registry.entries, _registry.metadata.EntryPoint
    ours = {"Sleeping": entry("Sleeping", f"{__name__}:Sleeping", "cmab.instances")}
    monkeypatch.setattr(_registry, "entries", lambda group: entries(group) | ours)
    naps = {"oracle": {"class": "TopK", "n_arms": 5, "k": 2}, "environment": {"class": "Sleeping"}}
    tables = {"instances": {"naps": naps, "still": STILL}, "learners": {"CUCB": {"class": "CUCB"}}}
    study = Study({"horizon": 30, "replications": 2, "seed": 7, **tables})
    study.run(tmp_path)
    kept = study.results(tmp_path)
    told = simulate(CUCB(ORACLE), Sleeping(), 30, replications=2, rng=7)
    assert np.array_equal(kept["naps", "CUCB"].optima, told.optima)
    assert np.array_equal(kept["naps", "CUCB"].regret, told.regret)
    assert kept["naps", "CUCB"].optimum == pytest.approx(told.optimum)
    assert kept["still", "CUCB"].optima is None


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
    rounds, found = 0, []
    for entry in Logged.log:
        if entry == "played":
            rounds += 1
        else:
            found.append((rounds, entry))
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


class Taking:
    """A delay that takes the next number of its own, whatever it is asked."""

    def __init__(self, numbers, modulus=99):
        self.numbers, self.modulus = numbers, modulus

    def __call__(self, t, rng):
        return next(self.numbers) % self.modulus


test_delays_that_are_none_are_refused = refused(
    ({"batch": 0}, "batch must be an integer in"),
    ({"batch": 1.5}, "batch must be an integer"),
    ({"delay": -1}, "delay must be None, a nonnegative integer, or a function"),
    ({"delay": "2"}, "delay must be None"),
    ({"delay": lambda t, rng: -1}, "the return value of delay must be an integer"),
    ({"delay": lambda t, rng: 0.5}, "the return value of delay must be an integer"),
    ({"delay": lambda t, rng: None}, "the return value of delay must be an integer"),
    ({"delay": Taking(count(), modulus=7)}, "delay must return the same number for the same round"),
    ({"delay": Taking(n // 14 for n in count())}, "got first 0 and then 1 for round 1"),
    ({"delay": Taking(map(int, np.random.default_rng(0).integers(9, size=99)))}, "delay must return"),
    by=lambda named: simulate(CUCB(ORACLE), PLACE, 10, rng=0, **named),
)


@pytest.mark.slow
def test_studies_tell_feedback_late(tmp_path):
    late = {"batch": 4, "delay": 7}
    study = {
        "horizon": 60,
        "replications": 2,
        "instances": {"still": STILL},
        "learners": {"a": {"class": "CUCB"}},
    }
    Study(study | late).run(tmp_path)
    Study(study).run(tmp_path)  # other numbers, under other keys
    arms = SemiBandit(BernoulliArms([0.1, 0.2, 0.3]), TopK(3, 1))
    for spec, settings in ((study | late, late), (study, {})):
        result = Study(spec).results(tmp_path)["still", "a"]
        expected = simulate(CUCB(arms.oracle), arms, 60, replications=2, rng=0, **settings)
        assert np.array_equal(result.rewards, expected.rewards)
    for wrong in ({"batch": 0}, {"delay": -1}, {"delay": "late"}):
        with pytest.raises(ValueError, match=r"(batch|delay) must"):
            Study(study | wrong)


def test_rules_that_draw_suffer_least_from_delays():
    """Between feedback, a rule without randomness plays one super arm."""
    oracle = TopK(12, k=3)
    arms = BernoulliArms(np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 12)))
    settings = {"replications": 2, "checkpoints": [500], "rng": 0, "delay": 100}
    cucb, shared, drawn = (
        simulate(policy, SemiBandit(arms, oracle), 500, **settings).regret.mean()
        for policy in (CUCB(oracle), CTS(oracle, coupling="shared"), CTS(oracle))
    )
    # Over 20 replications 119 and 135 against 368, each with a standard deviation of 10 at most.
    assert max(drawn, shared) < 0.6 * cucb
