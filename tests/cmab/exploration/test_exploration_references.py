"""Stops and choices of exploration against their definitions, written here once more from the papers."""

import math
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from cases import EXPLORERS, rows
from references_exploration import REFERENCES

from cmab import (
    CLUCB,
    LUCB1,
    AdaptiveTopK,
    ArmStatistics,
    BestKGLR,
    Feedback,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    identify,
)
from cmab.exploration.lucb import KLLUCB, LilLUCB, LilUCB
from cmab.run import identify as _exploring
from instances import BernoulliArms, EmpiricalArms, GaussianArms
from oracles import TopK

EPSILON = 0.01
C_EPSILON = (2 + EPSILON) / EPSILON * (1 / math.log(1 + EPSILON)) ** (1 + EPSILON)


def lil(counts, level, epsilon, sigma):
    """The radius of lil-rand-lucb, section 5."""
    logs = np.log(np.log((1 + epsilon) * counts + 2) / level)
    return (1 + math.sqrt(epsilon)) * np.sqrt(2 * sigma**2 * (1 + epsilon) / counts * logs)


def heard(rule, means, counts, squares=None):
    """The rule's state after `counts` outcomes of these means."""
    state = rule.initial_state()
    rule.update(state, Feedback(np.arange(len(means)), means * counts, pulls=counts, squares=squares))
    return state


# Exponent, level, factor of the radius and ratio of the stop, of n arms at delta; none is the code's.
LIL_UCB = {
    "faithful": lambda n, delta: (EPSILON, (math.sqrt(1 + delta) - 1) ** 2 / (4 * C_EPSILON), 2.0, 9.0),
    "heuristic": lambda n, delta: (0.0, delta, 1.5, 1 + 10 / n),
}


@pytest.mark.parametrize("mode", LIL_UCB)
def test_lil_ucb_samples_the_largest_bound_and_stops_at_its_ratio(mode):
    rng = np.random.default_rng(0)
    for seed in range(20):
        n, delta = int(rng.integers(2, 7)), float(rng.choice([0.01, 0.1, 0.5]))
        rule = LilUCB(n, delta=delta, mode=mode, sigma=0.7)
        epsilon, level, factor, ratio = LIL_UCB[mode](n, delta)
        for _ in range(20):
            means, counts = rng.normal(size=n), rng.integers(1, 200, n)
            state = heard(rule, means, counts)
            bounds = means + factor * lil(counts, level, epsilon, 0.7)
            assert rule.select(state, rng).tolist() == [np.argmax(bounds)]
            assert rule.recommend(state).tolist() == [np.argmax(counts)]
        state, arms = rule.initial_state(), GaussianArms([2.0] + [0.0] * (n - 1), sigma=0.7)
        rngs = [np.random.default_rng([seed, i]) for i in range(2)]
        samples = _exploring.explore_compiled(rule, arms, state, *rngs, 10**6)
        most = state.counts.max()
        # The last sample made it enough, and one sample fewer was not.
        assert most == math.ceil(1 + ratio * (samples - most) - 1e-9)
        assert rule.is_done(state)


def test_lil_clucb_has_the_level_of_its_theorem():
    """Theorem 4.1: the error is ``c d^(1 + e) / N^e``, each arm at ``d / N``."""
    for n, delta in [(3, 0.1), (50, 0.01)]:
        rule, counts = LilCLUCB(TopK(n, 1), delta=delta), np.arange(1, n + 1)
        d = (delta * n**EPSILON / C_EPSILON) ** (1 / (1 + EPSILON))
        state = heard(rule, np.zeros(n), counts)
        assert rule.radii(state) == pytest.approx(lil(counts, d / n, EPSILON, 0.5), rel=1e-9)


@cache
def gaussian_threshold(n_pairs, delta):
    """Kaufmann and Koolen's 2 C_G(x / 2), by a fine search of its own."""
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    x = math.log(n_pairs / delta) / 2

    def value(u):
        g = 2 * u - 2 * u * math.log(4 * u) + math.log(zeta(2 * u)) - 0.5 * math.log(1 - u)
        return (g + x) / u

    return 2 * minimize_scalar(value, bounds=(0.5 + 1e-9, 1 - 1e-9), method="bounded").fun


def evidence(means, counts, i, j, sigma):
    return (means[i] - means[j]) ** 2 / (2 * sigma**2 * (1 / counts[i] + 1 / counts[j]))


@pytest.mark.slow
def test_likelihood_ratios_stop_when_every_pair_has_enough():
    rng, ends, subtle = np.random.default_rng(1), [], 0
    for _ in range(900):
        n = int(rng.integers(2, 6))
        k = int(rng.integers(1, n))
        rule = BestKGLR(n, k, delta=0.1, sigma=0.8)
        threshold = gaussian_threshold(k * (n - k), 0.1)
        counts = np.exp(rng.uniform(0, 14, n)).astype(np.int64) + 1
        # Evidence of about what it takes, against the first arm.
        wanted = (threshold + 10) * rng.uniform(0.9, 1.3, n)
        means = -np.sqrt(2 * 0.8**2 * (1 / counts[0] + 1 / counts) * wanted)
        means[:k] = rng.uniform(0, 2, k) * 0.8 / np.sqrt(counts[:k])
        high, low = np.argsort(-means, kind="stable")[:k], np.argsort(-means, kind="stable")[k:]
        pairs = [(i, j) for i in sorted(high) for j in sorted(low)]
        own = {p: evidence(means, counts, *p, 0.8) for p in pairs}
        needs = {
            (i, j): threshold + 2 * math.log(4 + math.log(counts[i])) + 2 * math.log(4 + math.log(counts[j]))
            for i, j in pairs
        }
        if any(abs(own[p] - needs[p]) < 1e-4 for p in pairs):
            continue  # the code's threshold is from a grid
        state = heard(rule, means, counts)
        enough = all(own[p] > needs[p] for p in pairs)
        critical = min(pairs, key=lambda p: own[p] + math.log(counts[p[0]]) + math.log(counts[p[1]]))
        assert rule.can_stop(state) == enough
        coins = np.random.default_rng(0)
        assert {int(rule.select(state, coins)[0]) for _ in range(6)} <= set(critical)
        subtle += own[critical] > needs[critical] and not enough
        ends.append(enough)
    assert 20 < sum(ends) < len(ends) - 20
    assert subtle > 5


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_clucb_stops_when_the_rival_gains_at_most_epsilon(sense, epsilon):
    """Chen et al., Algorithm 1: w~(M~) - w~(M) <= epsilon, by enumeration; so does the compiled loop."""
    rng, sign, ends = np.random.default_rng(2), 1 if sense == "max" else -1, []
    for seed in range(200):
        n, k = 5, int(rng.integers(1, 5))
        rule = CLUCB(TopK(n, k, sense=sense), delta=0.1, sigma=0.5, epsilon=epsilon)

        def gap(means, counts, k=k, n=n):
            radii = 0.5 * np.sqrt(2 * math.log(4 * n * int(counts.sum()) ** 3 / 0.1) / counts)
            family = [list(arms) for arms in combinations(range(n), k)]
            best = max(family, key=lambda arms: sign * means[arms].sum())
            revised = means + sign * radii
            revised[best] = means[best] - sign * radii[best]
            return max(sign * revised[arms].sum() for arms in family) - sign * revised[best].sum()

        counts = np.exp(rng.uniform(5, 10, n)).astype(np.int64)
        means = rng.normal(size=n) * 0.3
        difference = gap(means, counts) - epsilon
        if not 1e-12 < abs(difference) < 1e-9:
            ends.append(difference <= 1e-12)
            assert rule.can_stop(heard(rule, means, counts)) == ends[-1]
        if seed < 10:
            state = rule.initial_state()
            rngs = [np.random.default_rng([seed, i]) for i in range(2)]
            _exploring.explore_compiled(rule, GaussianArms(rng.normal(size=n), 0.5), state, *rngs, 200_000)
            assert gap(state.means.copy(), state.counts) <= epsilon + 1e-9 or state.counts.sum() == 200_000
    assert 20 < sum(ends) < len(ends) - 20


# Both sides of other sizes than each other, and stops that are not at 0 where there are any.
LUCB = {
    "lucb1": lambda: LUCB1(5, 2, delta=0.1, epsilon=0.2),
    "kl_lucb": lambda: KLLUCB(5, 2, delta=0.1, epsilon=0.1),
    "lil_lucb": lambda: LilLUCB(5, 1, delta=0.1),
    "lucb_plus_plus": lambda: LUCBPlusPlus(5, 1, delta=0.1),
    "lil_rand_lucb": lambda: LilRandLUCB(5, 1, delta=0.1),
}


@pytest.mark.parametrize("name", LUCB)
def test_rules_of_two_bounds_stop_where_these_meet(name):
    """Whatever was seen; and the loops stop at the first sample that lets them."""
    rule, rng, ends = LUCB[name](), np.random.default_rng(4), []
    decide = REFERENCES[name](rule)
    for _ in range(150):
        counts = np.exp(rng.uniform(3, 8, 5)).astype(np.int64)
        means = rng.uniform(0.1, 0.9, 5) ** 2
        state = heard(rule, means, counts)
        ends.append(decide(state.counts, state.means, None, state.rounds, 0.5)[1])
        assert rule.can_stop(state) == ends[-1]
    assert 10 < sum(ends) < 140
    for seed in range(3):
        state, rngs = rule.initial_state(), [np.random.default_rng([seed, i]) for i in range(2)]
        arms = BernoulliArms([0.98, 0.9, 0.1, 0.05, 0.0][: rule.k] + [0.3, 0.25, 0.1, 0.05, 0.0][rule.k :])
        _exploring.explore_compiled(rule, arms, state, *rngs, 20_000)
        assert decide(state.counts, state.means, None, state.rounds, 0.5)[1]
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
