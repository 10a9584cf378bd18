"""Learned priors and the learner to begin with: posteriors, dispersion and indices against references."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaln, polygamma, softmax

from cmab import CTS, AdaptiveCTS, Feedback, HierarchicalCTS, simulate
from cmab.policies.adaptive import PRIOR_WEIGHTS, bounded_draw, pooled_dispersion, weight_of
from cmab.policies.hierarchical import MEANS
from instances import BernoulliArms, SemiBandit
from instances.arms import BetaArms
from oracles import BruteForce, TopK

A = np.outer(MEANS, PRIOR_WEIGHTS).ravel()
B = np.outer(1.0 - np.array(MEANS), PRIOR_WEIGHTS).ravel()
LABELS = np.array([7, 7, 7, -2, -2, -2, -2, 7, 5, 5, 5, 5])


def coins(arms, rng):
    return 1.0 * (rng.random(len(arms)) < (arms + 1) / 14)


def fractions(arms, rng):
    return rng.random(len(arms)) / 4.0


def played(policy, rng, rounds=60, draw=coins):
    """Return the state after some feedback, and sums and numbers of the outcomes of each arm."""
    state, m = policy.initial_state(), policy.oracle.n_arms
    sums, counts = np.zeros(m), np.zeros(m)
    for _ in range(rounds):
        arms = rng.choice(m, 3, replace=False)
        seen = draw(arms, rng)
        policy.update(state, Feedback(arms, seen))
        sums[arms] += seen
        counts[arms] += 1
    return state, sums, counts


def grid(policy, state):
    """Return the probabilities of the points of the grid, one row for each group."""
    if isinstance(policy, HierarchicalCTS):
        n_groups, n_points = policy._sizes()
        return softmax(state.memory[: n_groups * n_points].reshape(n_groups, n_points), axis=1)
    weights = state.memory[: -3 * policy.oracle.n_arms - 1].reshape(-1, len(A))
    return weights / weights.sum(axis=1, keepdims=True)


def posterior(won, counts, a, b):
    """Return Bayes' formula with Beta functions, for the arms of one group."""
    return softmax((betaln(a + won[:, None], b + (counts - won)[:, None]) - betaln(a, b)).sum(axis=0))


SHARES, WEIGHTS = np.array([0.1, 0.4, 0.8]), np.array([1.0, 5.0])
FEW = np.outer(SHARES, WEIGHTS).ravel(), np.outer(1.0 - SHARES, WEIGHTS).ravel()
ON_FEW = HierarchicalCTS(TopK(12, 3), LABELS, means=SHARES, weights=WEIGHTS)


@pytest.mark.parametrize(
    ("policy", "points", "draw"),
    [(AdaptiveCTS(TopK(12, 3), LABELS), (A, B), coins), (ON_FEW, FEW, coins), (ON_FEW, FEW, fractions)],
)
def test_the_posterior_of_the_prior_is_bayes_formula(policy, points, draw):
    state, sums, counts = played(policy, np.random.default_rng(0), draw=draw)
    for number, label in enumerate((-2, 5, 7)):
        own = label == LABELS
        expected = posterior(sums[own], counts[own], *points)
        np.testing.assert_allclose(grid(policy, state)[number], expected, rtol=1e-9)


def test_estimates_by_the_mean_average_the_posteriors_of_the_points():
    policy = replace(ON_FEW, estimate="mean")
    state, sums, counts = played(policy, np.random.default_rng(0))
    points, (a, b) = grid(policy, state)[np.searchsorted([-2, 5, 7], LABELS)], FEW
    means = (a + sums[:, None]) / (a + b + counts[:, None])
    np.testing.assert_allclose(policy.indices(state, 0), (points * means).sum(axis=1), rtol=1e-12)


def test_fractions_enter_the_prior_as_coins_of_their_mean():
    """The rounded number of successes of an arm differs from the sum of its outcomes by less than one."""
    policy = AdaptiveCTS(TopK(12, 3))
    state, sums, counts = played(policy, np.random.default_rng(3), draw=fractions)
    won = np.floor(sums + (np.arange(12) + 1.0) * 0.6180339887498949 % 1.0)
    assert (np.abs(won - sums) < 1.0).all() and abs((won - sums).mean()) < 0.3
    np.testing.assert_allclose(grid(policy, state)[0], posterior(won, counts, A, B), rtol=1e-6)


def test_the_grid_equals_an_integral_over_the_means():
    """No conjugacy: sums over a fine mesh of each arm's mean, for three arms and two points."""
    policy = HierarchicalCTS(TopK(3, 1), means=[0.3, 0.6], weights=[5.0])
    state = policy.initial_state()
    for arm, outcome in ((0, 1.0), (0, 0.0), (1, 1.0), (1, 1.0), (2, 0.0)):
        policy.update(state, Feedback([arm], [outcome]))
    p = (np.arange(200_000) + 0.5) / 200_000
    likelihoods = (p * (1 - p), p**2, 1 - p)
    weights = []
    for mean in (0.3, 0.6):
        prior = p ** (5 * mean - 1) * (1 - p) ** (5 * (1 - mean) - 1)
        weights.append(np.prod([(prior * like).sum() / prior.sum() for like in likelihoods]))
    assert grid(policy, state)[0] == pytest.approx(np.array(weights) / np.sum(weights), rel=1e-5)


def test_one_point_is_thompson_sampling_bit_for_bit():
    oracle = TopK(12, 3)
    environment = SemiBandit(BernoulliArms(np.linspace(0.1, 0.9, 12)), oracle)
    plain = simulate(CTS(oracle, 0.2, prior_weight=3.0), environment, 400, replications=2, rng=1)
    policy = HierarchicalCTS(oracle, np.arange(12) % 5, means=[0.2], weights=[3.0])
    grouped = simulate(policy, environment, 400, replications=2, rng=1)
    assert grouped.path == plain.path == "compiled"
    assert np.array_equal(grouped.rewards, plain.rewards)
    for one, other in zip(grouped.states, plain.states, strict=True):
        assert np.array_equal(one.means, other.means) and np.array_equal(one.counters, other.counters)


# Dispersion


def moments(samples):
    """Return counts, means and squared deviations of lists of outcomes."""
    counts = np.array([len(x) for x in samples], np.int64)
    means = np.array([np.mean(x) if len(x) else 0.0 for x in samples])
    return counts, means, np.array([((x - m) ** 2).sum() for x, m in zip(samples, means, strict=True)])


def test_the_dispersion_of_coins_is_one():
    rng = np.random.default_rng(4)
    samples = [1.0 * (rng.random(n) < p) for n in (0, 1, 2, 3, 50) for p in (0.0, 0.02, 0.5, 1.0)]
    counts, means, squares = moments(samples)
    coins = np.empty(len(counts))
    pooled = pooled_dispersion(counts, means, squares, 0.0, 1.0, coins)
    assert pooled == pytest.approx(1.0, abs=1e-12)
    statistics = zip(counts, means, squares, coins, strict=True)
    weights = [weight_of(float(n), mean, s, c, pooled) for n, mean, s, c in statistics]
    np.testing.assert_allclose(weights, counts, rtol=1e-12)


def test_the_dispersion_of_beta_outcomes_is_found():
    """Beta(p w, (1 - p) w) has the dispersion 1 / (w + 1): 4 % from it with 8,000 outcomes at w = 9."""
    rng, p, w = np.random.default_rng(5), np.linspace(0.2, 0.8, 40), 9.0
    counts, means, squares = moments([rng.beta(w * x, w * (1 - x), 200) for x in p])
    coins = np.empty(40)
    assert pooled_dispersion(counts, means, squares, 0.0, 1.0, coins) == pytest.approx(0.1, rel=0.08)
    # An arm with outcomes as noisy as coins is not believed to be narrow, nor is one with failures only.
    assert weight_of(400.0, 0.5, 100.0, 100.0, 0.1) == pytest.approx(400.0, rel=0.02)
    assert weight_of(400.0, 0.0, 0.0, 0.0, 0.1) == 400.0


# Indices


def reference(policy, state, rng):
    """Return the indices from the definitions, with the random numbers in the same order."""
    low, high = policy.support
    m, counts = policy.oracle.n_arms, state.counts.astype(float)
    share = np.clip((state.means - low) / (high - low), 0.0, 1.0)
    squares, several = state.deviations / (high - low) ** 2, counts > 1
    coins = np.zeros(m)
    n = counts[several]
    coins[several] = (n - 1) * share[several] * (1 - share[several]) + squares[several] / n
    own = coins > 0.0
    degrees, pooled = (counts[own] - 1).sum(), 1.0
    if own.any():
        pooled = (degrees * min(squares[own].sum() / coins[own].sum(), 1.0) + 5.0) / (degrees + 5.0)
    phi = np.full(m, pooled)
    phi[(share == 0.0) | (share == 1.0)] = 1.0
    phi[own] = ((counts[own] - 1) * squares[own] / coins[own] + 5.0 * pooled) / (counts[own] - 1 + 5.0)
    found, news, t = state.memory[-m - 1 : -1] > 0.0, state.memory[-1], state.rounds + 1
    labels = np.zeros(m, int) if policy.groups is None else np.unique(policy.groups, return_inverse=True)[1]
    is_discovery = news > 0.0 and t * 0.6180339887498949 % 1.0 * t * min(news + 2.0, t**0.5) < t - 1 - news
    common, is_wide = (MEANS[rng.integers_of(16)], rng.random() < 0.5) if is_discovery else (0.0, False)
    few = (t**0.25 if is_wide else 1.0) if is_discovery else 0.0
    out, group, point = np.empty(m), -1, 30
    for arm in np.argsort(labels, kind="stable"):
        if labels[arm] != group:
            group, uniform = labels[arm], rng.random()
            if counts[labels == group].any():
                cumulated = np.cumsum(grid(policy, state)[group])
                point = int(np.searchsorted(cumulated, uniform * cumulated[-1], side="right"))
        alpha, beta, n = A[point], B[point], counts[arm] / phi[arm]
        is_rare = counts[arm] < few
        if is_rare:
            alpha, beta, n = 4.0 * common, 4.0 - 4.0 * common, counts[arm]
        elif is_wide:
            alpha, beta = 1.0, 1.0
        elif found[arm]:
            alpha, beta = alpha / (alpha + beta), beta / (alpha + beta)
        a, b = alpha + n * share[arm], beta + n * (1.0 - share[arm])
        s = t / ((n + alpha + beta + 1.0) * (counts[arm] / n if n else pooled))
        low_end, high_end = (0.0, 1.0) if is_rare or is_wide else bounds(a, b, s)
        out[arm] = low + (high - low) * min(max(rng.beta(a, b), low_end), high_end)
    return out, is_discovery


def bounds(a, b, s):
    """Return the bounds on the index of an arm with the posterior Beta(a, b)."""
    width, root = math.sqrt(s / 2.0), math.sqrt(s)
    for least, value in ((0.2, 0.49 - 0.11 / root), (1.0, 0.63 - 0.26 / root), (5.0, 0.77 - 0.58 / root)):
        width = value if s > least else width
    if s > 15.0:
        width = math.sqrt(2.0 * math.log(s) - math.log(math.log(s)) - math.log(16.0 * math.pi))
    ends = []
    for x, y in ((b, a), (a, b)):
        deviation = math.sqrt(polygamma(1, y) - polygamma(1, a + b))
        ends.append(math.exp(-max(width * deviation, math.log(max(x * s / 3.0, 1.0)) / (y + 1.0))))
    return a / (a + b) * ends[0], 1.0 - b / (a + b) * ends[1]


class Numbers:
    """A generator with the draws of compiled code."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.random, self.beta = self.rng.random, self.rng.beta

    def integers_of(self, n):
        return int(self.random() * 4 * n) // 4


@pytest.mark.parametrize("support", [(0.0, 1.0), (-2.0, 6.0)])
@pytest.mark.parametrize("groups", [None, LABELS])
def test_indices_are_those_of_the_definitions(support, groups):
    policy, rng = AdaptiveCTS(TopK(12, 3), groups, support=support), np.random.default_rng(6)
    low, high = support
    for kind in (
        lambda arms, rng: 1.0 * (rng.random(len(arms)) < arms / 12),
        lambda arms, rng: rng.random(3),
    ):

        def draw(arms, rng, kind=kind):
            return low + (high - low) * kind(arms, rng)

        found = Counter()
        for rounds in (0, 1, 5, *range(30, 46), 300):
            state, *_ = played(policy, rng, rounds, draw)
            state.update(Feedback([], []))
            for seed in range(10):
                expected, is_discovery = reference(policy, state, Numbers(seed))
                found[is_discovery] += 1
                indices = policy.indices(state, np.random.default_rng(seed))
                # The second derivative of ln Gamma has an error of 2 % in the rule.
                np.testing.assert_allclose(indices, expected, atol=0.003 * (high - low))
        assert min(found.values()) > 20


@pytest.mark.parametrize(("rounds", "index"), [(10, 0.703), (100, 0.870), (1000, 0.950)])
def test_the_bound_of_a_new_arm_is_its_gittins_index(rounds, index):
    """The index of Beta(1, 1) for the discount 1 - 1 / rounds (Gittins et al. 2011, table 8.1)."""
    assert bounded_draw(1.0, 1.0, rounds / 3.0, 0.999999) == pytest.approx(index, abs=0.012)
    assert bounded_draw(1.0, 1.0, rounds / 3.0, 1e-6) == pytest.approx(1.0 - index, abs=0.012)


UNSEEN = {
    "motorway": ([[i] for i in range(10)] + [[10, 11, 12]], [0.4] * 10 + [0.04] * 3, "min"),
    "heavy item": ([list(range(i, i + 5)) for i in range(0, 30, 5)] + [[30]], [0.08] * 30 + [0.9], "max"),
    "pair": ([list(range(i, i + 8)) for i in range(0, 80, 8)] + [[80, 81]], [0.1] * 80 + [0.9] * 2, "max"),
    "cheap and odd": ([[i] for i in range(10)] + [[10, 11, 12, 13]], [0.06] * 10 + [0.005] * 4, "min"),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_super_arm_of_unusual_arms_is_found(name):
    """The best one is played in most of the last rounds of each run."""
    super_arms, means, sense = UNSEEN[name]
    oracle = BruteForce(len(means), super_arms, sense=sense)
    environment = SemiBandit(BernoulliArms(means), oracle)
    result = simulate(AdaptiveCTS(oracle), environment, 6000, replications=8, rng=3, checkpoints=[4000, 6000])
    lost = result.regret[:, 1] - result.regret[:, 0]
    worth = [sum(np.array(means)[one]) for one in super_arms]
    gap = abs(worth[-1] - sorted(worth, reverse=sense == "max")[1])
    assert (lost < 0.5 * 2000 * gap).all()


@pytest.mark.parametrize("length", [3.0, 49.0, 103.0, 0.49, 1e6, 1e-100, 1e-170, 1e-300])
def test_the_scale_of_the_support_does_not_matter(length):
    """Outcomes at an end of the support are those of coins, and tiny squared deviations do not vanish."""
    indices = {}
    for scale in (1.0, length):
        policy = AdaptiveCTS(TopK(4, 1), support=(0.0, scale))
        state = policy.initial_state()
        for j in range(40):
            policy.update(state, Feedback([0, 1, 2], [scale, 0.0, scale if j % 3 else 0.0]))
        indices[scale] = policy.indices(state, np.random.default_rng(0)) / scale
    np.testing.assert_allclose(indices[length], indices[1.0], rtol=1e-9)


@pytest.mark.slow
def test_outcomes_in_a_tenth_of_the_support_are_learned_as_fast():
    """Regret in units of the outcomes, against CTS, 8 paired replications: 4 against more than 50 there."""
    oracle, p = TopK(20, 4), np.linspace(0.1, 0.9, 20)
    wide = SemiBandit(BetaArms(4.0 * p, 4.0 * (1.0 - p)), oracle)
    mean = 0.45 + 0.1 * p
    weight = mean * (1 - mean) / (0.01 * p * (1 - p) / 5.0) - 1.0  # the same variance, ten times narrower
    narrow = SemiBandit(BetaArms(weight * mean, weight * (1.0 - mean)), oracle)
    regret = {
        (kind.__name__, name): simulate(kind(oracle), place, 2000, replications=8, rng=0).regret[:, -1].mean()
        for kind in (AdaptiveCTS, CTS)
        for name, place in (("wide", wide), ("narrow", narrow))
    }
    assert 10 * regret["AdaptiveCTS", "narrow"] < 2.5 * regret["AdaptiveCTS", "wide"]
    assert regret["CTS", "narrow"] > 5 * regret["AdaptiveCTS", "narrow"]


def test_the_compiled_loop_is_taken():
    oracle = TopK(6, 2)
    place = SemiBandit(BernoulliArms(np.linspace(0.1, 0.9, 6)), oracle)
    assert simulate(AdaptiveCTS(oracle), place, 50, rng=0).path == "compiled"
