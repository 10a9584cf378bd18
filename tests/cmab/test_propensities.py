"""Propensities of random policies: exact values, estimates, logs and off-policy values."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from models import Constant, LeastSquares

from cmab import (
    CTS,
    CUCB,
    Campaign,
    Context,
    EpsilonGreedy,
    Feedback,
    Greedy,
    ModelPolicy,
    RandomPolicy,
    estimate_propensity,
    off_policy_value,
    read_campaign,
)
from cmab.propensities import chance_within
from oracles import Knapsack, TopK
from oracles.lists import RankedTopK, Slate
from oracles.matroids import PartitionMatroid

ORACLE = TopK(5, k=2)
PAIRS = [np.array(pair) for pair in itertools.combinations(range(5), 2)]


def learned(policy, rounds=12):
    """Return the state after feedback on all arms."""
    state, rng = policy.initial_state(), np.random.default_rng(4)
    for t in range(rounds):
        arms = np.array([t % 5, (t + 1) % 5])
        policy.update(state, Feedback(arms, rng.integers(0, 2, 2).astype(float)), None, rng)
    return state


EXACT = {
    "random": RandomPolicy(ORACLE),
    "epsilon": EpsilonGreedy(ORACLE, 0.3),
    "decay": EpsilonGreedy(ORACLE, 3.0, decay=True),
    **{
        name: ModelPolicy(ORACLE, LeastSquares(0.1), np.eye(5), exploration=name, members=4)
        for name in ("mixture", "epsilon", "none")
    },
    "ties": ModelPolicy(ORACLE, Constant(), np.eye(5), members=3),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("available", [None, [True, True, False, True, True]])
def test_exact_propensities_agree_with_frequencies(name, available):
    """They sum to 1, and each is within six standard deviations (and 12 / n) of 1,000 draws."""
    policy, context = EXACT[name], None if available is None else Context(available=available)
    state = learned(policy)
    chances = {tuple(pair): policy.propensity(state, pair, context) for pair in PAIRS}
    assert sum(chances.values()) == pytest.approx(1.0)
    draws = Counter(
        tuple(policy.select(state, np.random.default_rng(seed), context).tolist()) for seed in range(1000)
    )
    for pair, chance in chances.items():
        slack = 6.0 * math.sqrt(chance * (1.0 - chance) / 1000) + 0.012
        assert abs(draws[pair] / 1000 - chance) <= slack, pair


@pytest.mark.parametrize("make", [RandomPolicy, lambda oracle: EpsilonGreedy(oracle, 0.4)])
@pytest.mark.parametrize(
    ("oracle", "free"),
    [
        (RankedTopK(4, 2), [True, True, False, True]),
        (PartitionMatroid(["a", "a", "b", "b", "b"], {"a": 1, "b": 2}), [True, True, True, True, True]),
        (PartitionMatroid(["a", "a", "b"], {"a": 1, "b": 5}), [True, False, True]),
        (Slate(3, 2), [True, True, True, True, True, True]),
        (Slate(3, 2), [True, True, False, False, False, False]),
    ],
)
def test_lists_classes_and_slates_have_exact_propensities(make, oracle, free):
    """The propensities of the drawn super arms sum to 1. Each is within six deviations of 600 draws."""
    policy, context = make(oracle), Context(available=free)
    state, rng = policy.initial_state(), np.random.default_rng(0)
    policy.update(state, Feedback(np.arange(oracle.n_arms), rng.random(oracle.n_arms)))
    draws = Counter(
        tuple(policy.select(state, np.random.default_rng(seed), context).tolist()) for seed in range(600)
    )
    chances = {arm: policy.propensity(state, np.array(arm), context) for arm in draws}
    assert sum(chances.values()) == pytest.approx(1.0)
    for arm, chance in chances.items():
        assert abs(draws[arm] / 600 - chance) <= 6.0 * math.sqrt(chance * (1 - chance) / 600)


def test_ties_share_the_probability_of_a_set():
    """Compared with all orders of six arms."""
    values, free = np.array([0.5, 0.2, 0.5, 0.9, 0.5, 0.2]), np.ones(6, bool)
    orders = list(itertools.permutations(range(6)))
    for size in (1, 2, 3, 5):
        best = Counter(frozenset(sorted(order, key=lambda arm: -values[arm])[:size]) for order in orders)
        for some in itertools.combinations(range(6), size):
            found = chance_within(values, size, np.array(some), free, 1.0)
            assert found == pytest.approx(best[frozenset(some)] / len(orders))
            assert chance_within(-values, size, np.array(some), free, -1.0) == found


@pytest.mark.parametrize(
    ("policy", "context"),
    [
        (RandomPolicy(Knapsack([1, 2, 3], 3)), None),
        (RandomPolicy(TopK(3, 1)), Context(values=[1.0, 2.0, 3.0])),
        (CTS(TopK(3, 1)), None),
        (EpsilonGreedy(TopK(3, 1)), None),
        (RandomPolicy(Slate(3, 2, groups=["a", "a", "b"], quotas=1)), Context(available=np.arange(6) != 1)),
        (RandomPolicy(Slate(2, 2)), Context(available=np.arange(4) != 1)),
    ],
)
def test_unknown_propensities_are_none(policy, context):
    assert policy.propensity(policy.initial_state(), np.array([0]), context) is None


def test_choices_without_random_numbers_are_certain():
    policy = Greedy(ORACLE)
    state = learned(policy)
    chosen = policy.select(state, rng=0)
    found = estimate_propensity(policy, state, chosen, rng=1)
    assert (found.chance, found.error, found.draws) == (1.0, 0.0, 0)
    other = np.array([arm for arm in range(5) if arm not in chosen][:2])
    assert estimate_propensity(policy, state, other, rng=1).chance == 0.0


def test_estimates_have_the_stated_expectation():
    """The mean of 1 / chance over 800 estimates is (1 - (1 - p)^(n + 1)) / p, up to six standard errors."""
    policy, p, n = RandomPolicy(TopK(6, 1)), 1 / 6, 9
    state = policy.initial_state()

    class Unknown(RandomPolicy):
        def propensity(self, state, super_arm, context):
            return None

    hidden = Unknown(TopK(6, 1))
    inverse = np.array(
        [
            1.0 / estimate_propensity(hidden, state, np.array([2]), draws=n, rng=seed).chance
            for seed in range(800)
        ]
    )
    expected = (1.0 - (1.0 - p) ** (n + 1)) / p
    assert abs(inverse.mean() - expected) < 6.0 * inverse.std() / math.sqrt(800)


def test_marginals_of_a_list():
    """A list of 2 of 4 in random order: each entry is at its place with 1/4, in the list with 1/2."""
    policy = RandomPolicy(RankedTopK(4, 2))
    found = estimate_propensity(policy, policy.initial_state(), np.array([3, 1]), draws=4000, rng=0)
    assert (found.chance, found.error) == (pytest.approx(1 / 12), 0.0)
    assert np.abs(found.by_position - 1 / 4).max() < 6 * math.sqrt(3 / 16 / 4000)


@pytest.mark.slow
@pytest.mark.parametrize("make", [RandomPolicy, CTS, lambda oracle: EpsilonGreedy(oracle, 0.8)])
def test_logs_of_random_policies_are_evaluated(make, tmp_path):
    """The interval of 99.9 % contains the value of the best pair, 1.2, for a fixed seed."""
    means = np.array([0.2, 0.3, 0.5, 0.7, 0.1])
    running = Campaign(make(ORACLE), tmp_path / "log.db", rng=3, propensity_draws=60)
    coins = np.random.default_rng(1)
    for _ in range(200):
        request = running.ask()
        told = {name: float(coins.random() < means[name]) for name in request.names}
        running.tell(told, request, reward=sum(told.values()))
    log = read_campaign(tmp_path / "log.db")
    assert all(row.propensity > 0 and len(row.by_position) == 2 for row in log)
    low, high = off_policy_value(log, {(2, 3): 1.0}, level=0.999).interval
    assert low < 1.2 < high


def test_draws_change_neither_the_choices_nor_the_replay(tmp_path):
    plain = Campaign(CTS(ORACLE), tmp_path / "plain.db", rng=3)
    drawing = Campaign(CTS(ORACLE), tmp_path / "drawing.db", rng=3, propensity_draws=5)
    for _ in range(20):
        one, other = plain.ask(), drawing.ask()
        assert one.names == other.names
        for running, request in ((plain, one), (drawing, other)):
            running.tell(dict.fromkeys(request.names, 1.0), request)
    again = Campaign(CTS(ORACLE), tmp_path / "drawing.db")
    assert again.ask().names == plain.ask().names
    assert CUCB(ORACLE).propensity(CUCB(ORACLE).initial_state(), np.array([0, 1]), None) is None
