"""Stops and choices of exploration against their definitions, written here once more from the papers."""

import math

import numpy as np
import pytest
from cases import EXPLORERS, rows
from references_exploration import REFERENCES, c_epsilon, closest, lil, needs, ratio, threshold

from cmab import (
    CLUCB,
    LUCB1,
    AdaptiveTopK,
    ArmStatistics,
    BernsteinLUCB,
    BestKGLR,
    Feedback,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    UGapEc,
    identify,
)
from cmab.exploration.lucb import KLLUCB, LilLUCB, LilUCB
from cmab.exploration.ugape import UGapEcV
from cmab.run import identify as _exploring
from instances import BernoulliArms, EmpiricalArms, GaussianArms
from oracles import TopK


def heard(rule, means, counts, squares=None):
    """The rule's state after `counts` outcomes of these means."""
    state = rule.initial_state()
    rule.update(state, Feedback(np.arange(len(means)), means * counts, pulls=counts, squares=squares))
    return state


def test_lil_clucb_has_the_level_of_its_theorem():
    """Theorem 4.1: the error is ``c d^(1 + e) / N^e``, each arm at ``d / N``."""
    for n, delta in [(3, 0.1), (50, 0.01)]:
        rule, counts = LilCLUCB(TopK(n, 1), delta=delta), np.arange(1, n + 1)
        d = (delta * n**0.01 / c_epsilon(0.01)) ** (1 / 1.01)
        state = heard(rule, np.zeros(n), counts)
        assert rule.radii(state) == pytest.approx(lil(counts, d / n, 0.01, 0.5), rel=1e-9)


@pytest.mark.slow
def test_likelihood_ratios_stop_when_every_pair_has_enough():
    """Also the pairs that are not the closest one."""
    rng, ends, subtle = np.random.default_rng(1), [], 0
    for _ in range(900):
        n = int(rng.integers(2, 6))
        k = int(rng.integers(1, n))
        rule, n_pairs = BestKGLR(n, k, delta=0.1, sigma=0.8), k * (n - k)
        counts = np.exp(rng.uniform(0, 14, n)).astype(np.int64) + 1
        # Evidence of about what it takes, against the first arm.
        wanted = (threshold(n_pairs, 0.1) + 10) * rng.uniform(0.9, 1.3, n)
        means = -np.sqrt(2 * 0.8**2 * (1 / counts[0] + 1 / counts) * wanted)
        means[:k] = rng.uniform(0, 2, k) * 0.8 / np.sqrt(counts[:k])
        (i, j), enough = closest(rule, counts, means, k)
        base, each = needs(rule, counts, means, n_pairs)
        own, state = (
            ratio(rule, counts, means, i, j)[0] - base - each[i] - each[j],
            heard(rule, means, counts),
        )
        if abs(own) > 1e-4:  # the code's threshold is from a grid
            assert rule.can_stop(state) == enough
        coins = np.random.default_rng(0)
        assert {int(rule.select(state, coins)[0]) for _ in range(6)} <= {i, j}
        subtle += own > 0 and not enough
        ends.append(enough)
    assert 20 < sum(ends) < len(ends) - 20
    assert subtle > 5


# Both sides of other sizes than each other, and stops that are not at 0 where there are any.
RULES = [
    ("lucb1", LUCB1(5, 2, delta=0.1, epsilon=0.2)),
    ("kl_lucb", KLLUCB(5, 2, delta=0.1, epsilon=0.1)),
    ("bernstein_lucb", BernsteinLUCB(5, 2, delta=0.1, epsilon=0.3, support=(-1.0, 2.0))),
    ("lil_lucb", LilLUCB(5, 1, delta=0.1)),
    ("lucb_plus_plus", LUCBPlusPlus(5, 1, delta=0.1)),
    ("lil_rand_lucb", LilRandLUCB(5, 1, delta=0.1)),
    ("lil_ucb", LilUCB(5, delta=0.1, sigma=0.7)),
    ("lil_ucb", LilUCB(5, delta=0.5, mode="heuristic")),
    ("lil_clucb", LilCLUCB(TopK(5, 2, sense="min"), delta=0.1)),
    *(
        ("clucb", CLUCB(TopK(5, k, sense=sense), delta=0.1, epsilon=epsilon))
        for k, sense, epsilon in ((1, "max", 0.0), (3, "max", 0.3), (2, "min", 0.0), (4, "min", 0.3))
    ),
    ("ugapec", UGapEc(5, 2, delta=0.1, epsilon=0.3)),
    ("ugapec", UGapEc((2, 3), 1, delta=0.1, epsilon=0.3)),
    ("ugapec_v", UGapEcV(5, 2, delta=0.1, epsilon=0.3)),
]


@pytest.mark.parametrize(("name", "rule"), RULES, ids=str)
def test_rules_choose_and_stop_as_they_are_defined(name, rule):
    """Whatever was seen; and the loops stop at the first sample that lets them."""
    rng, ends, decide = np.random.default_rng(4), [], REFERENCES[name](rule)
    low, high = rule.support or (0.0, 1.0)
    # lil'UCB stops when one arm has most of the samples.
    fewest, most = (0.0, 9.0) if name == "lil_ucb" else (3.0, 10.0)
    for _ in range(150):
        counts = np.exp(rng.uniform(fewest, most, 5)).astype(np.int64) + 1
        means = rng.uniform(0.1, 0.9, 5) ** 2
        squares = means**2 + rng.random(5) * means * (1 - means)
        squares = low**2 + 2 * low * (high - low) * means + (high - low) ** 2 * squares
        state = heard(rule, low + (high - low) * means, counts, counts * squares)
        coin = np.random.default_rng(5)
        arms, stops = decide(state.counts, state.means, state.deviations, state.rounds, coin.random())
        ends.append(stops)
        assert rule.can_stop(state) == stops
        if not stops:
            assert rule.select(state, np.random.default_rng(5)).tolist() == list(map(int, arms))
    assert 5 < sum(ends) < 145
    oracle = getattr(rule, "oracle", rule)
    truth = np.where(np.arange(5) < getattr(oracle, "k", 1), 0.95, 0.05) - 0.01 * np.arange(5)
    arms = BernoulliArms(1.0 - truth if getattr(oracle, "sense", "max") == "min" else truth)
    for seed in range(3):
        state, rngs = rule.initial_state(), [np.random.default_rng([seed, i]) for i in range(2)]
        _exploring.explore_compiled(rule, arms, state, *rngs, 20_000)
        assert decide(state.counts, state.means, state.deviations, state.rounds, 0.5)[1]
        assert state.counts.sum() < 20_000


def literal_adaptive_top_k(means, k, epsilon, delta):
    """Algorithm 1 of Chen et al. for arms without noise, as it is printed; return arms and pulls."""
    n, left, accepted, r, width, pulled = len(means), set(range(len(means))), set(), 0, 1.0, 0
    per_arm = 0
    while 2 * width * (k - len(accepted)) > epsilon * k:
        r, width = r + 1, 2.0 ** -(r + 1)
        pulls = math.ceil(width**-2 * math.log(2 * n * r**2 / delta))
        pulled, per_arm = pulled + pulls * len(left), per_arm + pulls
        while len(accepted) < k and len(left) > k - len(accepted):
            order = sorted(left, key=lambda i: (-means[i], i))
            wanted = k - len(accepted)
            inside, outside = means[order[wanted - 1]], means[order[wanted]]
            gaps = {i: means[i] - outside if i in order[:wanted] else inside - means[i] for i in left}
            arm = max(left, key=lambda i: gaps[i])
            if gaps[arm] <= 2 * width:
                break
            left.remove(arm)
            accepted |= {arm} if arm in order[:wanted] else set()
        if len(left) == k - len(accepted):
            accepted, left = accepted | left, set()
        if len(accepted) == k:
            break
    order = sorted(left, key=lambda i: (-means[i], i))
    return sorted(accepted | set(order[: k - len(accepted)])), pulled


def test_adaptive_top_k_takes_the_pulls_of_the_printed_algorithm():
    rng = np.random.default_rng(4)
    for _ in range(30):
        n = int(rng.integers(2, 25))
        k, epsilon = int(rng.integers(1, n)), float(rng.choice([0.02, 0.07, 0.2, 0.6]))
        means = rng.random(n)
        found = identify(
            AdaptiveTopK(n, k, epsilon=epsilon, delta=0.1), EmpiricalArms([[m] for m in means]), rng=0
        )
        arms, pulled = literal_adaptive_top_k(means.tolist(), k, epsilon, 0.1)
        assert found.samples.tolist() == [pulled]
        assert found.arms[0].tolist() == arms


def agrees_with_reference(name, explorer, arms, seed=3):
    """Sample for sample: one other arm, and the streams, counts and means go apart."""
    compiled, n = explorer.initial_state(), explorer.n_arms
    streams = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    samples = _exploring.explore_compiled(explorer, arms, compiled, *streams, 250)
    decide, state = REFERENCES[name](explorer), ArmStatistics.empty(n)
    rng, coins = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    for _ in range(explorer.initial_pulls):
        state.update(arms.sample(np.arange(n), 1, coins))
    for _ in range(250):
        coin = rng.random() if name.startswith(("lil_rand_lucb", "mixture")) else 0.0
        chosen, stops = decide(state.counts, state.means, state.deviations, state.rounds, coin)
        if stops or state.counts.sum() + len(chosen) > 250:
            break
        state.update(arms.sample(np.array(chosen, np.int64), 1, coins))
    assert state.counts.tolist() == compiled.counts.tolist()
    assert state.means.tolist() == compiled.means.tolist()
    assert samples == state.counts.sum()
    assert explorer.is_done(compiled) == stops


@pytest.mark.parametrize("case", rows([case for case in EXPLORERS if case.name in REFERENCES], "papers"))
def test_compiled_rules_do_what_their_papers_say(case):
    explorer = case.make()
    assert explorer.kernel() is not None
    # No two sums of Gaussian outcomes are equal; the narrow ones stay within [0, 1].
    arms = GaussianArms([0.9, 0.55, 0.5, 0.3], 0.5 if explorer.support is None else 0.02)
    agrees_with_reference(case.name, explorer, arms)
