"""A memoised oracle works wherever the oracle does that it stands for."""

import copy
import dataclasses
import pickle
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from cases import ENVIRONMENTS, EXPLORERS, MEANS, ORACLES, POLICIES, pages
from fuzzing import Subject, outcome

from cmab import (
    CLUCB,
    CSAR,
    CUCB,
    Feedback,
    LinearOracle,
    MemoisedOracle,
    Session,
    identify,
    simulate,
)
from cmab.policies.ucb import LLR
from cmab.studies._bounds import regret_bounds
from cmab.testing import check_environment, check_oracle
from cmab.theory import reward_gaps
from instances import BernoulliArms, SemiBandit
from oracles import MaxCoverage, TopK

CERTAIN = [case for case in ORACLES if case.make().beta == 1.0]


def consumers(oracle, case):
    """Return what each user of oracles makes of one: an answer, or the refusal."""
    arms = BernoulliArms(np.linspace(0.2, 0.8, oracle.n_arms))

    def gaps():
        found = reward_gaps(oracle, arms.means, super_arms=case.super_arms())
        return repr(vars(found))  # nan is not equal to itself

    def learned(make):
        session = Session(make(oracle), rng=0)
        for i in range(20):
            ticket = session.ask()
            arms = (
                ticket.super_arm
                if isinstance(oracle, LinearOracle)
                else oracle.triggered_arms(ticket.super_arm)
            )
            session.tell(Feedback(arms, np.full(len(arms), i / 20)))
        return session.ask().super_arm.tolist()

    def regret():
        return simulate(CUCB(oracle), SemiBandit(arms, oracle), 50, rng=0).rewards.tolist()

    found = {}
    for name, use in {
        "gaps": gaps,
        "cucb": lambda: learned(CUCB),
        "llr": lambda: learned(LLR),
        "clucb": lambda: learned(lambda oracle: CLUCB(oracle, delta=0.1, support=(0, 1))),
        "csar": lambda: learned(lambda oracle: CSAR(oracle, budget=100)),
        "semi_bandit": regret,
    }.items():
        try:
            found[name] = use()
        except (TypeError, ValueError) as error:
            found[name] = type(error)
    return found


@pytest.mark.parametrize("case", CERTAIN, ids=lambda case: case.name)
def test_whoever_takes_an_oracle_takes_its_memoised_form(case):
    plain, memoised = case.make(), MemoisedOracle(case.make())
    assert isinstance(memoised, LinearOracle) == memoised.is_linear == plain.is_linear
    assert consumers(memoised, case) == consumers(plain, case)
    assert memoised.solved <= memoised.calls
    for twin in (copy.deepcopy(memoised), copy.copy(memoised)):  # by the protocol of pickle
        assert type(twin) is type(memoised)
        assert twin.calls == 0
        assert (
            twin.solve(np.full(plain.n_arms, 0.25), 0).tolist()
            == plain.solve(np.full(plain.n_arms, 0.25), 0).tolist()
        )


@pytest.mark.parametrize("case", CERTAIN, ids=lambda case: case.name)
def test_every_method_of_oracles_is_passed_on(case):
    subject, memoised = Subject("ORACLES", case), Subject("ORACLES", case)
    memoised.thing = MemoisedOracle(memoised.thing)
    # Of two problems a drawing oracle answers the second with what is left of its numbers.
    # A named copy is memoised like its original: see below.
    left_out = {"kernel", "check_super_arm", "solve_batch", "named"}
    shared = [name for name in subject.methods() if name in memoised.methods() and name not in left_out]
    assert {"solve", "expected_reward", "labels", "triggering_probabilities"} <= set(shared)
    for method in shared:
        good = {name: partial(subject.good, method, name) for name in subject.methods()[method]}
        good |= {"rng": lambda: np.random.default_rng(0)} if "rng" in good else {}
        assert outcome(memoised.thing, method, good) == outcome(subject.thing, method, good)


@pytest.mark.parametrize("case", POLICIES, ids=lambda case: case.name)
def test_every_policy_plays_the_same_with_a_memoised_oracle(case):
    """In simulate, compiled with the plain one and in Python with the other, and in a session."""
    found = []
    for oracle in (TopK(5, 2), MemoisedOracle(TopK(5, 2))):
        policy = case.make(oracle)
        result = simulate(policy, SemiBandit(BernoulliArms(MEANS), oracle), 30, replications=2, rng=0)
        session = Session(policy, rng=1)
        for i in range(12):
            arms = session.ask().super_arm
            session.tell(Feedback(arms, np.full(len(arms), i / 12)))
        asked = session.ask().super_arm
        found.append((result.rewards.tolist(), result.regret.tolist(), result.optimum, asked.tolist()))
    assert found[0] == found[1]


COMBINATORIAL = [case for case in EXPLORERS if hasattr(case.make(), "oracle")]


@pytest.mark.slow
@pytest.mark.parametrize("case", COMBINATORIAL, ids=lambda case: case.name)
def test_every_explorer_finds_the_same_with_a_memoised_oracle(case):
    plain = case.make()
    memoised = dataclasses.replace(plain, oracle=MemoisedOracle(plain.oracle))
    arms = BernoulliArms(np.linspace(0.9, 0.1, plain.n_arms))
    one, other = (
        identify(explorer, arms, replications=2, rng=0, max_samples=1500) for explorer in (plain, memoised)
    )
    assert [list(found) for found in one.arms] == [list(found) for found in other.arms]
    assert one.samples.tolist() == other.samples.tolist()
    assert one.stopped.tolist() == other.stopped.tolist()


@pytest.mark.slow
def test_every_environment_of_an_oracle_takes_a_memoised_one():
    # What inherits from it may be worth something else, as rounds that use up a budget.
    rows = [(case, env) for case in ENVIRONMENTS if type(env := case.make()) is SemiBandit]
    assert len(rows) >= 3
    for case, plain in rows:
        memoised = SemiBandit(plain.arms, MemoisedOracle(plain.oracle))
        assert memoised.optimum == plain.optimum
        check_environment(memoised, case.super_arms, seconds=0.1)


@pytest.mark.slow
def test_checks_and_bounds_take_a_memoised_oracle():
    """What a plain oracle declares is declared, so that nothing is looked at less closely."""
    told = []
    for oracle in (TopK(5, 2), MemoisedOracle(TopK(5, 2))):
        report = check_oracle(oracle, super_arms=combinations(range(5), 2), seconds=0.1)
        bounds = regret_bounds(CUCB(oracle), SemiBandit(BernoulliArms(MEANS), oracle), np.array([10, 100]))
        told.append((report.exhaustive, {name: values.tolist() for name, values in bounds.items()}))
    assert told[0] == told[1]
    assert told[0][1]


@pytest.mark.parametrize("case", CERTAIN, ids=lambda case: case.name)
def test_what_is_declared_is_passed_on(case):
    plain, memoised = case.make(), MemoisedOracle(case.make())
    names = ["is_linear", "is_exact", "has_membership", "triggers_surely", "can_constrain", "sign", "alpha"]
    names += ["can_solve_root", "is_monotone"]
    names += ["least_mean", "uniform_size"] if plain.is_linear else []
    declared = [[getattr(oracle, name) for name in names] for oracle in (plain, memoised)]
    assert repr(declared[0]) == repr(declared[1])  # nan is not equal to itself


def test_names_are_given_to_the_oracle_behind():
    memoised = MemoisedOracle(TopK(3, 2), cache_size=7)
    named = memoised.named(["tea", "milk", "juice"])
    assert type(named) is type(memoised) and named.cache_size == 7
    assert named.labels(named.solve([0.1, 0.9, 0.5], 0)) == ["milk", "juice"]
    assert memoised.arm_labels() == [0, 1, 2]


def test_an_oracle_without_constraints_has_none_when_memoised():
    class First(LinearOracle):
        n_arms = 3

        def solve(self, means, rng):
            return np.array([int(np.argmax(means))])

    memoised = MemoisedOracle(First())
    assert not memoised.can_constrain
    with pytest.raises(TypeError, match="solve_constrained"):
        memoised.solve_constrained(np.ones(3), [], [], 0)


def test_memoised_oracles_travel_to_workers():
    for oracle in (TopK(4, 2), MaxCoverage(pages(), 2)):
        memoised = MemoisedOracle(oracle)
        twin = pickle.loads(pickle.dumps(memoised))
        assert type(twin) is type(memoised)
        assert repr(twin) == repr(memoised)
        assert type(twin).__name__ == "MemoisedOracle"


@pytest.mark.parametrize("kind", [set, frozenset, list, tuple, np.array])
def test_answers_of_any_kind_that_oracles_may_give(kind):
    class Answering(TopK):
        def solve(self, means, rng):
            return kind(super().solve(means, rng).tolist())

    plain, memoised = (
        Session(CUCB(make(Answering(5, k=2))), rng=0) for make in (lambda o: o, MemoisedOracle)
    )
    for _ in range(3):
        assert sorted(plain.ask()) == sorted(memoised.ask())
