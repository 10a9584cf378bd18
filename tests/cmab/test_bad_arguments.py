"""No public callable takes nonsense in silence: every array-like, numeric and boolean parameter is tried."""

import bad_arguments
import numpy as np
import pytest
from refusals import refused

from cmab import (
    C2UCB,
    CTS,
    SAR,
    AdaptiveTopK,
    ArmStatistics,
    EpsilonGreedy,
    Feedback,
    GaussianCTS,
    Greedy,
    HierarchicalCTS,
    LoggedRound,
    Session,
    Smoothness,
    clcb,
    simulate,
)
from cmab.bounds import hardness
from cmab.exploration.phases import Halving
from instances import BernoulliArms, SemiBandit
from oracles import TopK

PUBLIC = bad_arguments.public()
#: Runs of hundreds of rounds: their other arguments are tried by the tests of their families.
LONG = {"cmab.plan", "cmab.compare", "cmab.identify", "cmab.simulate", "cmab.replay_value"}


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in LONG])
def test_bad_arguments_are_refused_by_name(name):
    assert list(bad_arguments.faults(name, PUBLIC[name])) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LONG))
def test_bad_arguments_of_runs_are_refused_by_name(name):
    assert list(bad_arguments.faults(name, PUBLIC[name])) == []


@pytest.mark.slow
def test_public_callables_that_are_not_tried_are_known():
    """The others have an example that calls them. What `cmab` makes and hands out is in `RESULTS`."""
    untried = {
        name
        for name, thing in PUBLIC.items()
        if not bad_arguments.RESULTS.fullmatch(name.rpartition(".")[2])
        and bad_arguments.example_call(name, thing) is None
    }
    called_without_checks = {"cmab.bounds.kl.bernoulli_divergence"}
    assert untried | called_without_checks == set(bad_arguments.UNTRIED)


@pytest.mark.parametrize("seed", [2**100, np.uint64(2**64 - 1), np.random.SeedSequence(2**100)])
def test_seeds_may_be_larger_than_64_bits(seed):
    """They are no counts: a seed sequence takes integers of any size, and saves them."""
    ours, rng = EpsilonGreedy(TopK(5, 2)), np.random.default_rng(seed)
    session = Session(ours, rng=seed)
    assert session.ask().super_arm.tolist() == Session(ours, rng=rng).ask().super_arm.tolist()
    found = [
        simulate(ours, SemiBandit(BernoulliArms(np.full(5, 0.5)), ours.oracle), 5, rng=seed) for _ in "ab"
    ]
    assert repr(found[0]) == repr(found[1])


def test_numbers_of_numpy_do_not_overflow():
    """Eight bits hold -128 to 127: products of them are wrong without a conversion to Python's integers."""
    few, many = np.int8(100), np.int8(10)
    for small, usual in (
        (AdaptiveTopK(few, many, epsilon=0.1, delta=0.1), AdaptiveTopK(100, 10, epsilon=0.1, delta=0.1)),
        (Halving(few, many, epsilon=0.1, delta=0.1), Halving(100, 10, epsilon=0.1, delta=0.1)),
        (SAR(few, many, budget=1000), SAR(100, 10, budget=1000)),
    ):
        assert repr(small) == repr(usual)
        first, second = (
            small.initial_state(np.random.default_rng(0)),
            usual.initial_state(np.random.default_rng(0)),
        )
        assert small.pulls(first) == usual.pulls(second)
    environment, policy = SemiBandit(BernoulliArms(np.full(4, 0.5)), TopK(4, 2)), CTS(TopK(4, 2))
    late = [
        simulate(policy, environment, 200, batch=n, delay=d, rng=0).regret.tolist()
        for n, d in ((np.int8(100), np.int8(100)), (100, 100))
    ]
    assert late[0] == late[1]


@pytest.mark.parametrize("chance", [-5, 1.5, float("nan"), "0.5", 1j])
@pytest.mark.parametrize("name", ["propensity", "by_position"])
def test_logs_hold_probabilities(name, chance):
    with pytest.raises(ValueError, match=name):
        LoggedRound(
            0, "told", ("tea",), {"tea": 1.0}, **{name: chance if name == "propensity" else (chance,)}
        )


SEEN = ArmStatistics(np.ones(3, int), np.full(3, -7.0), np.zeros(3))
test_values_that_are_wrong_together_are_refused = refused(
    (lambda: CTS(TopK(3, 1), 0.0, prior_weight=1.0), "prior_mean must"),
    (lambda: Greedy(TopK(3, 1), prior_mean=0.5), "together"),
    (lambda: GaussianCTS(TopK(3, 1), support=None), "sigma must be given if support is None"),
    (lambda: HierarchicalCTS(TopK(3, 1), [1, 2]), "groups must be 3 integers"),
    (lambda: HierarchicalCTS(TopK(3, 1), means=[0.0]), "means must lie strictly inside"),
    (lambda: C2UCB(TopK(3, 1), np.full((3, 1), np.nan)), "features must be finite, got nan"),
    (lambda: C2UCB(TopK(3, 1), np.ones(3)), r"features must have shape \(3, d\)"),
    (lambda: Feedback([0, 0], [1.0, 1.0]), "must not repeat"),
    (lambda: Smoothness(1.0, 0.0), "omega"),
    (lambda: hardness([0.1, -0.1]), "gaps must be"),
    (lambda: clcb(TopK(3, 1), ArmStatistics.empty(2)), "ArmStatistics of 3 arms"),
    (lambda: clcb(TopK(3, 1), SEEN), "means must lie in support"),
)
