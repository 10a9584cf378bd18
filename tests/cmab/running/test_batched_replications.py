"""Replications side by side give the numbers of replications one by one, whatever their oracle answers."""

import signal

import numpy as np
import pytest
from cases import JOINT, POLICIES, UNIFORM, assert_same_state, rows

from cmab import CUCB, LinearOracle, SimulationInterrupted, simulate
from cmab.running._batched_replications import WIDEST, groups
from instances import BernoulliArms, GaussianArms, SemiBandit
from oracles import TopK

MEANS = np.random.default_rng(3).permutation(np.linspace(0.1, 0.9, 30))


class OneByOne(LinearOracle):
    """All arms above the mean one, or the first if there are none."""

    def __init__(self):
        self.n_arms, self.calls = 30, 0

    def solve(self, means, rng):
        self.calls += 1
        chosen = np.flatnonzero(means > means.mean())
        return chosen if len(chosen) else np.arange(3)


class AtOnce(OneByOne):
    """The same, and for many problems at once."""

    def solve_batch(self, means, rng):
        self.calls += 1
        return [self.solve(row, rng) for row in means]


class Drawing(AtOnce):
    """One that draws: from the generator of its replication, whoever asks."""

    def solve(self, means, rng):
        return rng.permutation(super().solve(means, rng))[:2] if means.max() > 0.95 else np.array([3])


class EqualOneByOne(TopK):
    """Super arms of one size."""

    def solve(self, means, rng):
        return np.sort(np.argsort(-means, kind="stable")[: self.k])


class Equal(EqualOneByOne):
    """The same, and for many problems at once, as a table."""

    def solve_batch(self, means, rng):
        return np.sort(np.argsort(-means, axis=1, kind="stable")[:, : self.k], axis=1)


class Failing(Equal):
    """Does something else at its 50th call."""

    calls = 0

    def __init__(self, fault):
        super().__init__(30, 4)
        self.fault = fault

    def solve_batch(self, means, rng):
        self.calls += 1
        answers = super().solve_batch(means, rng)
        return self.fault(answers) if self.calls == 50 else answers


def both(make_policy, batch, alone, arms=None, **settings):
    runs = []
    for oracle in (batch, alone):
        environment = SemiBandit(arms or BernoulliArms(MEANS), oracle)
        runs.append(simulate(make_policy(oracle), environment, 300, rng=4, **settings))
    return runs


def assert_same(run, other):
    for name in ("rewards", "expected_rewards", "oracle_calls", "rounds"):
        assert np.array_equal(getattr(run, name), getattr(other, name)), name
    for state, its in zip(run.states, other.states, strict=True):
        assert_same_state(state, its)
    for chosen, its in zip(run.super_arms, other.super_arms, strict=True):
        assert np.array_equal(chosen, its)


@pytest.mark.parametrize("case", rows([c for c in POLICIES if c.name not in JOINT | UNIFORM], "runs"))
def test_every_policy_on_super_arms_of_many_sizes(case):
    batch, alone = both(case.make, AtOnce(), OneByOne(), replications=5, checkpoints=[1, 7, 100, 300])
    assert batch.path == {"mixed": "batch", "python": "python"}[alone.path]
    assert_same(batch, alone)
    assert (batch.oracle_seconds > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("arms", [BernoulliArms(MEANS), GaussianArms(MEANS, 0.3)])
def test_tables_and_workers(arms, n_jobs):
    batch, alone = both(CUCB, Equal(30, 4), EqualOneByOne(30, 4), arms, replications=7, n_jobs=n_jobs)
    assert (batch.path, alone.path) == ("batch", "mixed")
    assert_same(batch, alone)


def test_an_oracle_that_draws_is_asked_for_each_replication_with_its_own_generator():
    batch, alone = both(CUCB, Drawing(), Drawing(), replications=4)
    single = [simulate(CUCB(Drawing()), SemiBandit(BernoulliArms(MEANS), Drawing()), 300, rng=4)]
    assert batch.path == "mixed"
    assert_same(batch, alone)
    assert np.array_equal(batch.rewards[0], single[0].rewards[0])


def test_the_oracle_is_asked_once_a_round():
    oracle = Failing(lambda answers: answers)
    simulate(CUCB(oracle), SemiBandit(BernoulliArms(MEANS), oracle), 200, replications=9, rng=0)
    assert oracle.calls == 200


def test_who_is_played_side_by_side():
    def sizes(oracle, replications, n_jobs=1):
        environment = SemiBandit(BernoulliArms(MEANS), oracle)
        return [len(group) for group in groups(CUCB(oracle), environment, replications, n_jobs)]

    class Mine(Equal):
        def solve(self, means, rng):
            return np.arange(self.k)

    assert sizes(Equal(30, 4), 5) == [5]
    assert sizes(Equal(30, 4), 5, n_jobs=2) == [3, 2]
    assert sizes(Equal(30, 4), 2 * WIDEST + 1) == [86, 86, 85]
    for oracle in (TopK(30, 4), OneByOne(), Mine(30, 4)):
        assert sizes(oracle, 5) == [1] * 5


def too_few(answers):
    return answers[1:]


def out_of_range(answers):
    answers[3, 1] = 30
    return answers


def repeated(answers):
    answers[0, 1] = answers[0, 0]
    return answers


def of_reals(answers):
    return answers + 0.5


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (too_few, "solve_batch must return 5 super arms, got 4"),
        (out_of_range, r"the super arm of solve_batch must lie in range\(30\)"),
        (repeated, "the super arm of solve_batch must not repeat an entry"),
        (of_reals, "the super arm of solve_batch must hold integers"),
    ],
)
def test_wrong_answers_are_refused(fault, message):
    oracle = Failing(fault)
    with pytest.raises(ValueError, match=message) as caught:
        simulate(CUCB(oracle), SemiBandit(BernoulliArms(MEANS), TopK(30, 4)), 100, replications=5, rng=0)
    assert caught.value.__notes__ == ["in replications 0 to 4 of CUCB"]


def test_infeasible_super_arms_are_refused():
    class Picky(Equal):
        has_membership = True

        def is_feasible(self, super_arm):
            return 7 not in super_arm

    oracle = Picky(30, 4)
    with pytest.raises(ValueError, match="must be feasible"):
        simulate(CUCB(oracle), SemiBandit(BernoulliArms(MEANS), TopK(30, 4)), 100, replications=5, rng=0)


def test_ctrl_c_keeps_the_rounds_before():
    def interrupt(answers):
        signal.raise_signal(signal.SIGINT)
        return answers

    oracle, environment = Failing(interrupt), SemiBandit(BernoulliArms(MEANS), TopK(30, 4))
    whole = simulate(CUCB(TopK(30, 4)), environment, 100, replications=3, rng=0)
    with pytest.raises(SimulationInterrupted) as caught:
        simulate(CUCB(oracle), environment, 100, replications=3, rng=0)
    partial = caught.value.partial
    assert np.array_equal(partial.rewards[:, :49], whole.rewards[:, :49])
    assert np.isnan(partial.rewards[:, 49:]).all()
    assert [state.rounds for state in partial.states] == [49] * 3
