"""The conformance checks catch a stranger's oracle, environment or policy with a planted fault, by name."""

import random
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from cases import NETWORK, pages
from planted_oracles import FAMILY, Best, HalfOptimal, InputSorted, K, N, SeedsGlobal

import cmab.testing
from cmab import CUCB, LUCBPlusPlus, Oracle, Policy
from cmab.testing import (
    ConformanceError,
    check_environment,
    check_explorer,
    check_policy,
    environment_checks,
    oracle_checks,
    parametrize_with_checks,
    policy_checks,
)
from cmab.testing._statistics import require_mean
from cmab.theory import Smoothness
from instances import BernoulliArms, MultinomialLogit, SemiBandit
from oracles import Assortment, InfluenceMaximization, MaxCoverage, TopK

# These faults show at once, and all checks run to their end.
check_oracle = partial(cmab.testing.check_oracle, seconds=0.2)


class AlphaTooHigh(HalfOptimal):
    alpha = 0.9


class OtherTies(Best):
    """Breaks ties another way when it solves many problems at once."""

    def solve_batch(self, means, rng):
        return list(np.argsort(-means[:, ::-1], axis=1, kind="stable")[:, :K] * -1 + N - 1)


@pytest.mark.parametrize("sound", [Best, HalfOptimal])
def test_a_sound_oracle_passes(sound):
    report = check_oracle(sound(), super_arms=FAMILY)
    assert report.exhaustive
    assert report.seconds_per_call > 0
    assert report.bytes_per_call > 0


class SquareRoot(Oracle):
    """A reward that is infinitely steep at 0."""

    n_arms = N

    def solve(self, means, rng):
        return np.sort(np.argsort(-means, kind="stable")[:K])

    def expected_reward(self, super_arm, means):
        return float(np.sqrt(means[super_arm].sum()))


@pytest.mark.slow
def test_smoothness_is_searched_for_a_counterexample():
    with pytest.raises(AssertionError, match=r"^smoothness: .* no triggered mean moved by more than"):
        check_oracle(SquareRoot(), super_arms=FAMILY, smoothness=Smoothness.linear(K))
    check_oracle(SquareRoot(), super_arms=FAMILY, smoothness=Smoothness(K**0.5, omega=0.5))
    with pytest.raises(AssertionError, match="smoothness"):
        check_oracle(SquareRoot(), super_arms=FAMILY, smoothness=Smoothness(0.9 * K**0.5, omega=0.5))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "smoothness"),
    [
        (lambda: MaxCoverage(pages(), k=2), Smoothness.coverage(5)),
        (lambda: InfluenceMaximization(NETWORK, k=2, epsilon=0.3), Smoothness.influence(8, 7)),
    ],
    ids=["coverage", "influence"],
)
def test_smoothness_constants_of_the_papers(make, smoothness):
    for check in oracle_checks(make(), trials=1, smoothness=smoothness):
        if check.name.endswith("-smoothness"):
            check.run()
    with pytest.raises(AssertionError, match="smoothness"):
        check_oracle(make(), trials=1, smoothness=Smoothness(smoothness.gamma / 20))


@pytest.mark.slow
def test_the_counterexample_is_shrunk():
    """The means in the message are at the ends or in the middle, except for what the fault needs."""
    with pytest.raises(AssertionError) as caught:
        check_oracle(AlphaTooHigh(), super_arms=FAMILY)
    text = str(caught.value)
    numbers = text[text.index("means [") + 7 : text.index("] the answer")].split()
    assert len({float(number) for number in numbers} - {0.0, 0.5, 1.0}) <= 1


@pytest.mark.slow
def test_a_family_can_be_given_by_a_predicate():
    with pytest.raises(AssertionError, match="guarantee"):
        check_oracle(AlphaTooHigh(), is_feasible=lambda arm: len(arm) == K)
    check_oracle(Best(), is_feasible=lambda arm: len(arm) == K)


@pytest.mark.slow
def test_a_large_family_is_checked_against_its_own_answers():
    class Large(AlphaTooHigh):
        n_arms = 40

        def solve(self, means, rng):
            return np.array([int(np.argmin(means)), int(np.argmax(means))])[: 1 + (means.max() > means.min())]

    with pytest.raises(AssertionError, match=r"guarantee|sense"):
        check_oracle(Large())


@pytest.mark.slow
def test_a_promise_with_probability_is_a_binomial_test():
    class Sometimes(Best):
        """Optimal with probability 0.7, whatever it declares."""

        beta = 0.7

        def solve(self, means, rng):
            return super().solve(means, rng) if rng.random() < 0.7 else np.argsort(means, kind="stable")[:K]

    check_oracle(Sometimes(), super_arms=FAMILY)
    Sometimes.beta = 0.99
    with pytest.raises(AssertionError, match="guarantee"):
        check_oracle(Sometimes(), super_arms=FAMILY)


# Environments --------------------------------------------------------------------------------------------


class CommonCoins(BernoulliArms):
    """The pulls of an arm have the numbers of those of the next one."""

    def pull(self, arms, rng):
        numbers = np.resize(rng.random(max(1, len(arms) // self.n_arms)), len(arms))
        return (numbers < self.means[arms]).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_rare_outcomes_that_never_meet_are_no_dependence(seed):
    """At means of 0.007 two arms both succeed in 2 of 40,000 pulls: often never, which is no fault."""

    def independence(kind):
        checks = environment_checks(kind([0.007] * 10), [(0, 1)], rng=seed)
        return next(check for check in checks if check.name.endswith("independence"))

    assert independence(BernoulliArms).find().false_alarm < 1e-8
    with pytest.raises(AssertionError, match=r"independence: products of"):
        independence(CommonCoins).run()


@pytest.mark.slow
def test_constant_samples_are_judged_by_their_size():
    """Of 4,000 shoppers all buy, where one in a million goes: no fault at any revenue; a tenth is one."""
    for revenue in (1e-100, 1.0, 1e100):
        shop = MultinomialLogit([1e6, 1.0], Assortment([revenue, revenue / 2], k=2, max_attraction=1e6))
        check_environment(shop, [(0,), (0, 1)], rng=0)
    with pytest.raises(AssertionError, match="average"):
        require_mean("rewards", "rewards", np.full(4000, 1e100), 0.9e100)


# Lists of faults, expected failures, power ------------------------------------------------------------------


class Twice(InputSorted):
    """Two faults that have nothing to do with each other."""

    alpha = 1.5


@pytest.mark.slow
def test_all_faults_are_listed_at_once():
    with pytest.raises(ConformanceError) as caught:
        check_oracle(Twice(), super_arms=FAMILY)
    assert {"declaration", "input"} <= set(caught.value.faults)
    assert str(caught.value).startswith(caught.value.faults["declaration"])
    lines = str(caught.value).splitlines()
    assert any(line.startswith("input: ") for line in lines)
    assert "declaration, input" in lines[-1]


@pytest.mark.slow
def test_failures_may_be_expected_with_a_reason():
    known = dict.fromkeys(["batch", "duplication"], "ties fall otherwise in batches")
    report = check_oracle(OtherTies(), super_arms=FAMILY, expected_failures=known)
    assert "batch: failed as expected (ties fall otherwise in batches): batch: solve_batch" in str(report)
    with pytest.raises(ConformanceError, match=r"^expected failures: batch passed"):
        check_oracle(Best(), super_arms=FAMILY, expected_failures={"batch": "ties fall otherwise"})
    with pytest.raises(ValueError, match="expected_failures must name checks"):
        oracle_checks(Best(), FAMILY, expected_failures={"batches": "no such check"})
    with pytest.raises(ValueError, match="expected_failures must give a reason"):
        oracle_checks(Best(), FAMILY, expected_failures={"batch": ""})


def test_pytest_marks_expected_failures():
    known = {"global randomness": "why not"}
    decorator = parametrize_with_checks(oracle_checks(SeedsGlobal(), FAMILY, expected_failures=known))
    marked = [item for item in decorator.mark.args[1] if item.marks]
    assert [item.id for item in marked] == ["SeedsGlobal-global_randomness"]
    assert marked[0].marks[0].kwargs["strict"]


@pytest.mark.slow
@pytest.mark.usefixtures("counted_seconds")
def test_a_report_states_its_power_and_its_false_alarms():
    report = check_oracle(Best(), super_arms=FAMILY)
    assert "would be detected with probability .99" in str(report)
    oracle = TopK(N, K)
    bandit = SemiBandit(BernoulliArms(np.linspace(0.1, 0.9, N)), oracle)
    arms = BernoulliArms([0.95, 0.05])
    reports = [
        report,
        check_policy(CUCB(oracle), bandit, seconds=0.2),
        check_environment(bandit, FAMILY[:2], seconds=0.2),
        check_explorer(LUCBPlusPlus(2, 1, delta=0.1), arms, delta=0.1, seconds=0.2),
    ]
    assert all(report.false_alarm < 1e-6 for report in reports)
    assert "0 of 90 runs failed; the permitted rate is 0.1, and a rate of 0.15" in str(reports[-1])


class Slow(Best):
    def solve(self, means, rng):
        time.sleep(1e-3)
        return super().solve(means, rng)


def test_a_slow_oracle_is_tried_on_fewer_problems_and_the_check_says_so():
    tried = []
    for seconds in (0.001, 10.0):
        (form,) = (check for check in oracle_checks(Slow(), FAMILY, seconds=seconds) if check.title == "form")
        tried.append([int(word) for word in form.find().text.split() if word.isdigit()])
    (few, of), (more, all_of_them) = tried
    assert 8 <= few < more == of == all_of_them


# A state may hold any object ------------------------------------------------------------------------------


class Ridge:
    """A model as of another library: with a dtype and a view among its attributes, copies of which differ."""

    def __init__(self):
        self.dtype, self.rows, self.weights = np.dtype("f8"), np.zeros((40, N)), np.zeros(2 * N)[::2]
        self.looks = 0

    def fit(self, arms, outcomes):
        self.weights[arms] += 0.1 * (outcomes - self.weights[arms])


class Untold(Ridge):
    """A model that is pickled into other bytes each time."""

    def __reduce__(self):
        return Untold, (), {"salt": random.SystemRandom().random()}


@dataclass
class Models:
    models: list


class ByModel(Policy):
    """Chooses by the model, with some noise; `writes` says what `select` does to the model."""

    def __init__(self, make=Ridge, writes=False):
        self.make, self.writes, self.oracle = make, writes, TopK(N, K)

    def initial_state(self, rng=None):
        return Models([self.make()])

    def select(self, state, rng, context=None):
        (model,) = state.models
        if self.writes:
            model.looks += 1
        return self.oracle.solve(model.weights + rng.random(N), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state.models[0].fit(feedback.arms, feedback.outcomes)


def the_state_check(policy):
    place = SemiBandit(BernoulliArms(np.linspace(0.1, 0.9, N)), TopK(N, K))
    return next(check for check in policy_checks(policy, place, rounds=5) if check.name.endswith("-state"))


def test_a_model_in_the_state_is_compared_with_itself():
    assert "not compared" not in str(the_state_check(ByModel()).find())
    with pytest.raises(AssertionError, match=r"must leave the state unchanged, but changed .*state\.models"):
        the_state_check(ByModel(writes=True)).run()
    assert "state.models" in str(the_state_check(ByModel(Untold)).find())
