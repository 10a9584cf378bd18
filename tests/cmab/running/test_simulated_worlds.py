"""What `simulate` may be given: environments that change are refused, wrapping policies are metered."""

from dataclasses import dataclass

import cloudpickle
import numpy as np
import pytest
from cases import ORACLES

from cmab import (
    CUCB,
    Greedy,
    LinearOracle,
    Oracle,
    Policy,
    RandomPolicy,
    RarelySwitchingCUCB,
    Study,
    simulate,
)
from cmab.seeding import Purpose, stream
from instances import BernoulliArms, SemiBandit
from oracles import BruteForce, TopK

MEANS = np.array([0.9, 0.1, 0.1, 0.1])


class Clock(SemiBandit):
    """Something changes when `play` was called often enough, and changes back where `period` says so.

    The count itself is left out of pickles: what is refused is refused for the truth that it changes.
    """

    def __init__(self, what, at, period=None):
        super().__init__(BernoulliArms(MEANS), TopK(4, 1))
        self.what, self.at, self.period, self.t = what, at, period, 0

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "t"}

    @property
    def has_changed(self):
        return self.t >= self.at if self.period is None else (self.t // self.period) % 2 == 1

    def play(self, super_arm, rng):
        self.t += 1
        return super().play(super_arm, rng)

    @property
    def means(self):
        return MEANS[::-1] if self.what == "means" and self.has_changed else MEANS

    @means.setter
    def means(self, value):
        pass

    @property
    def optimum(self):
        return 0.5 if self.what == "optimum" and self.has_changed else 0.9

    def expected_reward(self, super_arm):
        changed = self.what in ("means", "expected_reward") and self.has_changed
        return float((MEANS[::-1] if changed else MEANS)[super_arm].sum())


@pytest.mark.parametrize("what", ["means", "optimum", "expected_reward"])
@pytest.mark.parametrize(("at", "period"), [(2, None), (50, None), (99, None), (0, 7), (0, 50)])
@pytest.mark.parametrize("replications", [1, 3])
def test_clocks_are_refused(what, at, period, replications):
    environment = Clock(what, at, period)
    with pytest.raises(ValueError, match="must keep its means, optimum and expected rewards"):
        simulate(Greedy(environment.oracle), environment, 100, replications=replications, rng=0)


def test_rewards_that_jump_while_others_are_played_are_refused():
    """Whenever the last super arm was asked about after the jump, the first one still tells it."""
    environment = Clock("expected_reward", 50)
    with pytest.raises(ValueError, match="must keep its means, optimum and expected rewards"):
        simulate(RandomPolicy(environment.oracle), environment, 100, rng=0)


def test_what_stands_still_is_not_taken_for_a_clock():
    still, plain = Clock("means", at=10**9), SemiBandit(BernoulliArms(MEANS), TopK(4, 1))
    found, fused = (simulate(Greedy(e.oracle), e, 100, replications=2, rng=0) for e in (still, plain))
    assert (found.path, fused.path) == ("python", "compiled")
    assert np.array_equal(found.expected_rewards, fused.expected_rewards)


# Metering --------------------------------------------------------------------------------------------------


class Counting(BruteForce):
    """Counts for itself."""

    calls = 0

    def solve(self, means, rng):
        self.calls += 1
        return super().solve(means, rng)


@dataclass(frozen=True, eq=False)
class Wrapper(Policy):
    """Another policy, and every third time the oracle's answer to what was learned."""

    inner: Policy

    @property
    def oracle(self):
        return self.inner.oracle

    def initial_state(self, rng=None):
        assert isinstance(self.oracle, LinearOracle)
        return self.inner.initial_state()

    def select(self, state, rng, context=None):
        assert type(self.oracle).__name__ in ("Counting", "MemoisedOracle")
        return self.oracle.solve(state.means, rng) if state.rounds % 3 == 0 else self.inner.select(state, rng)

    def update(self, state, feedback, ticket=None, rng=None):
        self.inner.update(state, feedback)


@pytest.mark.parametrize(
    "make", [CUCB, RarelySwitchingCUCB, lambda o: Wrapper(CUCB(o)), lambda o: Wrapper(RarelySwitchingCUCB(o))]
)
def test_all_calls_of_the_oracle_are_counted_where_they_are_made(make):
    """By whatever policy, on whatever path: the meter agrees with the oracle's own count."""
    oracle = Counting(4, [(0, 1), (2, 3), (1, 2)])
    environment = SemiBandit(BernoulliArms(MEANS), BruteForce(4, oracle.super_arms))
    found = simulate(make(oracle), environment, 60, rng=0)
    assert found.oracle_calls.tolist() == [oracle.calls]
    assert 0.0 < found.oracle_seconds[0] <= found.seconds[0]
    assert not vars(oracle).keys() & {"solve"}


def test_the_policy_sees_its_own_oracle():
    """No stand-in: what a policy finds in `self.oracle` is the object that it was given."""
    oracle, seen = TopK(4, 1), set()

    class Looking(Greedy):
        def select(self, state, rng, context=None):
            seen.add(id(self.oracle))
            return super().select(state, rng)

    simulate(Looking(oracle), SemiBandit(BernoulliArms(MEANS), TopK(4, 1)), 3, rng=0)
    assert seen == {id(oracle)}


@pytest.mark.parametrize(
    "case", [c for c in ORACLES if c.name in ("top_k", "matching", "memoised")], ids=lambda c: c.name
)
def test_a_bad_answer_is_blamed_on_the_same_name_everywhere(case):
    class Bad(type(case.make())):
        def solve(self, means, rng):
            return np.array([10**6])

    oracle = case.make()
    oracle.__class__ = Bad
    environment = SemiBandit(BernoulliArms(np.full(oracle.n_arms, 0.5)), TopK(oracle.n_arms, 1))
    for policy in (
        CUCB(oracle),
        Wrapper(CUCB(oracle)) if case.name == "none" else RarelySwitchingCUCB(oracle),
    ):
        with pytest.raises(ValueError, match=r"the super arm of Bad\.solve"):
            simulate(policy, environment, 3, rng=0)


# Randomness of an oracle that is called when feedback comes in -------------------------------------------


class Drawing(Oracle):
    """Notes what its generator gives first, and answers at random."""

    n_arms = 6

    def __init__(self):
        self.drawn = []

    def solve(self, means, rng):
        self.drawn.append(float(rng.random()))
        return np.array([int(self.drawn[-1] * 6)])

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].sum())


def test_replications_of_a_rarely_switching_rule_draw_apart():
    """No number twice, in 40 replications of outcomes that are all alike; the same seed, the same numbers."""
    oracle = Drawing()
    environment = SemiBandit(BernoulliArms(np.ones(6)), TopK(6, 1))
    first = simulate(RarelySwitchingCUCB(oracle), environment, 20, replications=40, rng=0)
    drawn, oracle.drawn = oracle.drawn, []
    # The first two calls, before and after the first round, of each replication and all later ones.
    assert len(set(drawn)) == len(drawn) >= 80
    again = simulate(RarelySwitchingCUCB(oracle), environment, 20, replications=40, rng=0)
    assert oracle.drawn == drawn
    assert all(np.array_equal(a, b) for a, b in zip(first.super_arms, again.super_arms, strict=True))
    # What the oracle draws does not depend on what was observed: other outcomes, the same numbers at a round.
    other, oracle.drawn = SemiBandit(BernoulliArms(np.full(6, 0.5)), TopK(6, 1)), []
    simulate(RarelySwitchingCUCB(oracle), other, 1, replications=1, rng=0)
    assert oracle.drawn == drawn[:2]


def test_deterministic_oracles_are_not_concerned():
    """The key is drawn apart from everything: the super arms are those of any other key."""
    oracle = TopK(6, 2)
    states = []
    for seed in (0, 1):
        policy = RarelySwitchingCUCB(oracle)
        state = policy.initial_state(stream(np.random.SeedSequence(seed), Purpose.LEARNER, 0))
        assert state.key != 0
        states.append(policy.select(state, np.random.default_rng(seed)).tolist())
    assert states[0] == states[1]


def test_classes_that_no_module_defines_travel_to_workers():
    """In a notebook, a class is pickled with its code: the metered `solve` must go along."""

    class Local(BruteForce):
        def solve(self, means, rng):
            return super().solve(means, rng)

    oracle = cloudpickle.loads(cloudpickle.dumps(Local(4, [(0, 1), (2, 3)])))
    environment = SemiBandit(BernoulliArms(MEANS), BruteForce(4, [(0, 1), (2, 3)]))
    found = simulate(CUCB(oracle), environment, 20, replications=2, rng=0, n_jobs=2)
    assert found.oracle_calls.tolist() == [20, 20]


def test_studies_refuse_a_support_that_does_not_fit():
    means = [4.5, 0.5, 1.0]
    environment = {
        "class": "SemiBandit",
        "arms": {"class": "GaussianArms", "means": means, "sigma": 0.5},
        "oracle": "$oracle",
    }
    instance = {"oracle": {"class": "TopK", "n_arms": 3, "k": 1}, "environment": environment}
    specification = {"horizon": 5, "replications": 1, "seed": 0, "instances": {"far": instance}}
    with pytest.raises(ValueError, match=r"learners\.plain on instances\.far: .*support"):
        Study(specification | {"learners": {"plain": {"class": "CUCB"}}})
    Study(specification | {"learners": {"plain": {"class": "CUCB", "support": [0.0, 5.0]}}})
