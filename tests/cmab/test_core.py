"""The core: statistics, feedback, CUCB against its formula, sessions, the regret loop."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmab import CUCB, ArmStatistics, Feedback, LinearOracle, Session, SimulationInterrupted, simulate
from cmab.bounds.radii import LogRadius
from cmab.run.simulate import check_rounds
from instances import BernoulliArms, SemiBandit
from oracles import TopK


def bandit(n_arms=8, k=3):
    oracle = TopK(n_arms, k)
    return oracle, SemiBandit(BernoulliArms(np.linspace(0.9, 0.1, n_arms)), oracle)


# Statistics ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(-5, 5)), min_size=1, max_size=60))
def test_statistics_match_numpy(history):
    stats = ArmStatistics.empty(3)
    for arm, outcome in history:
        stats.update(Feedback([arm], [outcome]))
    for arm in range(3):
        seen = [x for a, x in history if a == arm]
        assert stats.counts[arm] == len(seen)
        if seen:
            assert stats.means[arm] == pytest.approx(np.mean(seen), abs=1e-9)
        if len(seen) > 1:
            assert stats.variances[arm] == pytest.approx(np.var(seen, ddof=1), abs=1e-8)


def test_batches_equal_single_outcomes():
    rng = np.random.default_rng(0)
    one, batched = ArmStatistics.empty(2), ArmStatistics.empty(2)
    for size in (1, 5, 3):
        draws = rng.random((2, size))
        for x in draws.T:
            one.update(Feedback([0, 1], x))
        sums, squares = draws.sum(1), (draws**2).sum(1)
        batched.update(Feedback([0, 1], sums, pulls=[size, size], squares=squares))
    assert np.array_equal(one.counts, batched.counts)
    assert np.allclose([one.means, one.variances], [batched.means, batched.variances])


def test_coins_that_are_added_are_coins_that_are_learned():
    stats, won, lost = ArmStatistics.empty(4), np.array([2.0, 0.0, 3.0, 0.0]), np.array([1.0, 2.0, 4.0, 0.0])
    stats.update(Feedback([0, 1, 3], [2.0, 1.0, 1.0], pulls=[3, 3, 4], squares=[2.0, 1.0, 1.0]))
    completed = stats.with_coins(won, lost, stats.memory)
    stats.update(Feedback([0, 1, 2], won[:3], pulls=[3, 2, 7], squares=won[:3]))
    assert completed.counts.tolist() == stats.counts.tolist() == [6, 5, 7, 4]
    assert np.allclose([completed.means, completed.deviations], [stats.means, stats.deviations])


# CUCB ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize(
    ("radius", "numerator"),
    [
        (LogRadius(), lambda t: 3 * math.log(t) / 2),
        (LogRadius.wide(2.0), lambda t: 3 * math.log(t) / 2),
        (LogRadius.wide(5.0), lambda t: 6 * math.log(t) / 2),
        (LogRadius.tight(), lambda t: (2 * math.log(t) + (math.log(math.log(t)) if t > 2 else 0)) / 2),
    ],
)
def test_cucb_is_algorithm_1(sense, radius, numerator):
    """Every index of a run against the formula, written out arm by arm."""
    oracle = TopK(4, 2, sense=sense)
    policy = CUCB(oracle, radius=radius)
    rng = np.random.default_rng(5)
    state = policy.initial_state()
    history = [[] for _ in range(4)]
    for t in range(1, 60):
        expected = []
        for seen in history:
            if not seen:
                expected.append(1.0 if sense == "max" else 0.0)
                continue
            r = math.sqrt(numerator(t) / len(seen))
            mean = sum(seen) / len(seen)
            expected.append(min(mean + r, 1.0) if sense == "max" else max(mean - r, 0.0))
        assert np.allclose(policy.indices(state, rng), expected, atol=1e-12)
        arms = policy.select(state, rng)
        outcomes = (rng.random(2) < 0.5).astype(float)
        for arm, x in zip(arms, outcomes, strict=True):
            history[arm].append(x)
        policy.update(state, Feedback(arms, outcomes))


def test_prior_is_pseudo_outcomes():
    policy = CUCB(TopK(2, 1), radius_factor=0.5, prior_mean=[0.1, 0.4], prior_weight=10.0)
    state = policy.initial_state()
    state.update(Feedback([0], [1.0]))
    radius = 0.5 * np.sqrt(1.5 * math.log(2) / np.array([11.0, 10.0]))
    assert np.allclose(policy.indices(state, None), np.minimum(np.array([2.0 / 11, 0.4]) + radius, 1))


# Sessions ------------------------------------------------------------------------------------------------


def test_late_feedback_in_any_order_is_the_same_knowledge():
    oracle, environment = bandit()
    rng = np.random.default_rng(0)
    early, late = Session(CUCB(oracle), rng=0), Session(CUCB(oracle), rng=0)
    tickets = [late.ask() for _ in range(5)]
    feedback = [environment.play(ticket.super_arm, rng) for ticket in tickets]
    for ticket, told in zip(reversed(tickets), reversed(feedback), strict=True):
        late.tell(told, ticket)
    for told in feedback:
        early.ask()
        early.tell(told)
    assert np.allclose(early.state.means, late.state.means)
    assert np.array_equal(early.state.counts, late.state.counts)
    assert late.pending == ()


def test_tickets_are_checked():
    oracle, environment = bandit()
    session = Session(CUCB(oracle), rng=0)
    told = environment.play(np.arange(3), np.random.default_rng(0))
    with pytest.raises(ValueError, match="0 pending"):
        session.tell(told)
    first, _ = session.ask(), session.ask()
    with pytest.raises(ValueError, match="2 pending"):
        session.tell(told)
    session.tell(told, first)
    with pytest.raises(ValueError, match="must be pending"):
        session.tell(told, first)


class Faulty(LinearOracle):
    n_arms = 4

    def __init__(self, answer):
        self.answer = answer

    def solve(self, means, rng):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.array([0.0, 1.0]), "integers"),
        (np.array([1, 1]), "must not repeat"),
        (np.array([0, 4]), r"range\(4\)"),
        (np.array([-1]), r"range\(4\)"),
        (np.array([[0, 1]]), "1-D"),
    ],
)
def test_a_users_faulty_oracle_is_named(answer, message):
    with pytest.raises(ValueError, match=message) as caught:
        Session(CUCB(Faulty(answer)), rng=0).ask()
    assert "Faulty.solve" in str(caught.value)


# The loop ------------------------------------------------------------------------------------------------


def test_regret_is_definition_4():
    """Regret of a constant policy by hand, for an oracle that declares (0.5, 0.8)."""
    oracle, environment = bandit(4, 2)
    oracle.alpha, oracle.beta = 0.5, 0.8

    class Fixed(CUCB):
        def select(self, state, rng, context=None):
            return np.array([1, 3])

    environment.optimum = 1.5
    result = simulate(Fixed(oracle), environment, 10, rng=0)
    value = environment.means[[1, 3]].sum()
    assert np.allclose(result.regret, np.arange(1, 11) * (0.4 * 1.5 - value))
    assert np.allclose(result.exact_regret, np.arange(1, 11) * (1.5 - value))


def test_any_number_of_workers_gives_the_same_numbers():
    oracle, environment = bandit()
    runs = [simulate(CUCB(oracle), environment, 100, replications=4, rng=3, n_jobs=n) for n in (1, 2)]
    assert np.array_equal(runs[0].rewards, runs[1].rewards)
    assert np.array_equal(runs[0].regret, runs[1].regret)
    assert len({tuple(row) for row in runs[0].rewards}) == 4


def test_interruption_keeps_what_was_finished():
    oracle, environment = bandit()
    count = 0

    class Interrupting(CUCB):
        def update(self, state, feedback, ticket=None, rng=None):
            nonlocal count
            count += 1
            if count == 150:
                raise KeyboardInterrupt
            super().update(state, feedback)

    with pytest.raises(SimulationInterrupted) as caught:
        simulate(Interrupting(oracle), environment, 100, replications=5, rng=0)
    kept = caught.value.partial
    complete = simulate(CUCB(oracle), environment, 100, replications=5, rng=0)
    assert kept.rewards.shape == (2, 100)
    assert np.array_equal(kept.rewards[0], complete.rewards[0])
    assert np.array_equal(kept.rewards[1, :49], complete.rewards[1, :49])
    assert np.isnan(kept.rewards[1, 49:]).all()


def test_an_error_names_its_replication():
    oracle, environment = bandit()

    class Failing(CUCB):
        def select(self, state, rng, context=None):
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom") as caught:
        simulate(Failing(oracle), environment, 5, rng=0)
    assert any("replication 0 of Failing" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizon": 5, "checkpoints": [3, 2]}, "checkpoints"),
        ({"horizon": 5, "checkpoints": [6]}, "checkpoints"),
        ({"horizon": 5, "rng": -1}, "rng"),
        *(({"horizon": 5, "n_jobs": n}, "n_jobs") for n in (0, -2, 1.5, True, None, "2", 10**9)),
    ],
)
def test_simulate_refuses(arguments, message):
    oracle, environment = bandit()
    with pytest.raises(ValueError, match=message):
        simulate(CUCB(oracle), environment, **arguments)


@pytest.mark.slow
@given(st.integers(1, 10**7))
@settings(max_examples=50)
def test_default_checkpoints_end_at_the_horizon(horizon):
    rounds = check_rounds(None, horizon)
    assert rounds[0] == 1
    assert rounds[-1] == horizon
    assert (np.diff(rounds) > 0).all()
    assert len(rounds) <= 1000


def test_cucb_regret_is_logarithmic():
    """From 4,000 to 64,000 rounds ln t grows by 1.3, sqrt t by 4 and t by 16; the regret by less than 2."""
    oracle = TopK(6, 2)
    environment = SemiBandit(BernoulliArms([0.95, 0.9, 0.2, 0.15, 0.1, 0.05]), oracle)
    result = simulate(CUCB(oracle), environment, 64_000, replications=2, checkpoints=[4000, 64_000], rng=1)
    early, late = result.regret.mean(axis=0)
    assert 0 < late < 2 * early


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_every_bit_generator_survives_a_file(bits, tmp_path):
    oracle, _ = bandit()
    session = Session(CUCB(oracle), rng=np.random.Generator(getattr(np.random, bits)(5)))
    session.rng.random(3)
    session.save(tmp_path / "session")
    restored = Session.load(tmp_path / "session", CUCB(oracle))
    assert np.array_equal(restored.rng.random(5), session.rng.random(5))
