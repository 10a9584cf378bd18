"""Explorers in phases: schedules of the papers, budgets kept, error rates, rules that coincide."""

import math
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from cases import EXPLORERS
from scipy.stats import binom

from cmab import CSAR, SAR, AdaptiveTopK, Feedback, OptMAI
from cmab.bounds.samples import halving_samples
from cmab.exploration.phases import Halving
from cmab.exploration.rejects import SuccessiveRejects
from cmab.explorer import best_k
from instances import BernoulliArms, GaussianArms
from oracles import BruteForce, GraphicMatroid, PartitionMatroid, TopK


def explore(explorer, environment, rng):
    """Run to the stopping rule; return the arms and the samples taken, as the environment counts them."""
    state, samples = explorer.initial_state(), 0
    while not explorer.is_done(state):
        arms = explorer.select(state, rng)
        pulls = np.full(len(arms), explorer.pulls(state))
        assert pulls.min() >= 1  # also that there is an arm
        sums, squares = environment.pull_many(arms, pulls, rng)
        explorer.update(state, Feedback(arms, sums, pulls=pulls, squares=squares))
        samples += int(pulls.sum())
    return explorer.recommend(state), samples


def schedule(explorer, n_arms):
    """Return (arms, pulls) of each batch, on arms with distinct certain means; the first are the best."""
    state, batches, rng = explorer.initial_state(), [], np.random.default_rng(0)
    while not explorer.is_done(state):
        arms, pulls = explorer.select(state, rng), explorer.pulls(state)
        batches.append((len(arms), pulls))
        explorer.update(state, Feedback(arms, pulls * (1 - arms / n_arms), pulls=np.full(len(arms), pulls)))
    assert explorer.recommend(state).tolist() == list(range(len(explorer.recommend(state))))
    return batches


@pytest.mark.parametrize(
    ("explorer", "cumulated", "samples"),
    [
        (SuccessiveRejects(20, budget=2000), [32, 34, 36, 320], 1989),
        (SAR(20, k=3, budget=2000), [32, 34, 36, 320], 1989),
        (CSAR(TopK(20, k=3), budget=2000), [28, 29, 31, 551], 1991),
    ],
)
def test_schedules_of_the_papers(explorer, cumulated, samples):
    batches = schedule(explorer, 20)
    assert np.cumsum([pulls for _, pulls in batches])[[0, 1, 2, -1]].tolist() == cumulated
    assert sum(arms * pulls for arms, pulls in batches) == samples


@pytest.mark.parametrize(
    "case", [case for case in EXPLORERS if getattr(case.make(), "budget", None)], ids=lambda case: case.name
)
def test_budgets_are_never_exceeded(case):
    for seed, budget in enumerate([40, 47, 500, 5001]):
        rng = np.random.default_rng(seed)
        explorer = replace(case.make(), budget=budget)
        arms, samples = explore(explorer, BernoulliArms(rng.random(4)), rng)
        assert 0 < samples <= budget
        assert len(arms) > 0


@pytest.mark.slow
def test_sar_and_csar_decide_alike():
    """On the same means they order all decisions alike, though their schedules differ."""
    sar, csar = SAR(12, 4, budget=5000), CSAR(TopK(12, 4), budget=5000)
    for seed in range(50):
        values = np.random.default_rng(seed).random(12)
        states = [sar.initial_state(), csar.initial_state()]
        for state in states:
            state.stats.means[:] = values
        for _ in range(11):
            for explorer, state in zip((sar, csar), states, strict=True):
                explorer.decide(state)
                state.phase += 1
        assert np.array_equal(states[0].accepted, states[1].accepted | best_of(states[1], values, 4))


def best_of(state, values, k):
    mask = np.zeros(len(values), bool)
    undecided = np.flatnonzero(state.undecided)
    mask[undecided[best_k(values[undecided], k - state.accepted.sum())]] = True
    return mask


def two_groups(seed):
    means = np.repeat([0.7, 0.3], [100, 900])
    return BernoulliArms(np.random.default_rng(seed).permutation(means))


@pytest.mark.parametrize(
    ("explorer", "low", "high"),
    [
        (AdaptiveTopK(1000, 100, delta=0.01, budget=30_000), 0.3, 0.99),  # measured elsewhere: .69
        (AdaptiveTopK(1000, 100, delta=0.01, budget=50_000), 0.0, 0.13),  # 0
        (AdaptiveTopK(1000, 100, delta=0.01, budget=30_000, pulls_factor=0.01), 0.0, 0.35),  # .05
        (OptMAI(1000, 100, budget=50_000), 0.02, 0.55),  # .21
        (OptMAI(1000, 100, budget=20_000), 0.85, 1.0),  # 1
    ],
    ids=["literal_30k", "literal_50k", "scaled_30k", "opt_mai_50k", "opt_mai_20k"],
)
def test_two_group_failure_rates(explorer, low, high):
    """60 runs against rates that an independent implementation measured; windows hold with 1 - 1e-6."""
    rng, failures = np.random.default_rng(7), 0
    for run in range(60):
        arms = two_groups(run)
        chosen, _ = explore(explorer, arms, rng)
        failures += 0.7 - arms.means[chosen].mean() > 0.01
    assert low <= failures / 60 <= high


def told(explorer, state, values):
    """Tell the arms that are asked for their `values`, as often as wanted; return arms and pulls."""
    arms, pulls = explorer.select(state, np.random.default_rng(0)), explorer.pulls(state)
    sums = np.array([values[arm] for arm in arms]) * pulls
    explorer.update(state, Feedback(arms, sums, pulls=[pulls] * len(arms), squares=sums**2 / pulls))
    return arms.tolist(), pulls


def test_opt_mai_drops_a_quarter_while_there_are_four_times_as_many():
    """Zhou et al. (2014): with 3 k arms the border decides; the best arm is farthest and is taken at once."""
    explorer = OptMAI(12, 4, budget=4000)
    state = explorer.initial_state()
    arms, pulls = told(explorer, state, [1.0] + [0.5] * 4 + [0.4] * 7)
    # Q_r = beta^r (1 - beta) Q, beta = 3/4 e^.2, in equal parts.
    beta = 0.75 * math.exp(0.2)
    assert (len(arms), pulls) == (12, int((1 - beta) * 4000 // 12))
    assert state.accepted[0]
    many = OptMAI(20, 4, budget=4000)
    state = many.initial_state()
    told(many, state, [1.0] + [0.5] * 4 + [0.4] * 15)
    assert not state.accepted.any()
    assert state.undecided.tolist() == [True] * 15 + [False] * 5


# Super arms ----------------------------------------------------------------------------------------------

GRAPH = nx.complete_graph(5)
FAMILIES = {
    "tree": lambda: GraphicMatroid(GRAPH),
    "tree_min": lambda: GraphicMatroid(GRAPH, "min"),
    "partition": lambda: PartitionMatroid(list("aaabbbbccc"), {"a": 1, "b": 2, "c": 1}),
    "any_sets": lambda: BruteForce(10, [(0, 1, 2), (3, 4), (5, 6, 7, 8), (0, 9), (2, 4, 6, 8)]),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_finds_the_best_super_arm(family):
    """Errors at a rate of 5 % would be many more than seen; false alarm below 1e-6."""
    oracle = FAMILIES[family]()
    means = np.random.default_rng(3).permutation(np.linspace(0.1, 1.0, 10))
    best = np.sort(oracle.solve(means, np.random.default_rng(0)))
    rule = CSAR(oracle, budget=4000)
    arms, rng = GaussianArms(means, sigma=0.2), np.random.default_rng(0)
    wrong = sum(not np.array_equal(explore(rule, arms, rng)[0], best) for _ in range(20))
    assert wrong <= binom.isf(1e-6, 20, 0.05)


@pytest.mark.parametrize("family", FAMILIES)
def test_recommends_a_feasible_super_arm_at_any_time(family):
    oracle = FAMILIES[family]()
    rule, rng = CSAR(oracle, budget=200), np.random.default_rng(5)
    state, environment = rule.initial_state(), GaussianArms(rng.random(10), sigma=1.0)
    undecided = [10]
    while not rule.is_done(state):
        assert oracle.is_feasible(rule.recommend(state))
        arms = rule.select(state, rng)
        sums, squares = environment.pull_many(arms, np.full(len(arms), rule.pulls(state)), rng)
        rule.update(state, Feedback(arms, sums, pulls=np.full(len(arms), rule.pulls(state)), squares=squares))
        undecided.append(int(state.undecided.sum()))
    assert all(later < earlier for earlier, later in pairwise(undecided))
    assert np.array_equal(rule.recommend(state), np.flatnonzero(state.accepted))


# Fixed confidence ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_arms", "k"), [(100, 5), (7, 2), (2, 1), (9, 8)])
def test_halving_takes_the_same_number_on_every_instance(n_arms, k):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        arms, samples = explore(
            Halving(n_arms, k, epsilon=0.1, delta=0.1), BernoulliArms(rng.random(n_arms)), rng
        )
        assert samples == halving_samples(n_arms, k, epsilon=0.1, delta=0.1)
        assert len(arms) == k
    assert halving_samples(100, 5, epsilon=0.1, delta=0.1) == 9_153_374


@pytest.mark.parametrize("k", [100, 500])
def test_adaptive_top_k_keeps_its_promise_and_its_cost(k):
    """The pulls on two groups were measured elsewhere: 1.19e6."""
    means = np.random.default_rng(k).permutation(np.repeat([0.7, 0.3], [k, 1000 - k]))
    arms, samples = explore(
        AdaptiveTopK(1000, k, epsilon=0.01, delta=0.01), BernoulliArms(means), np.random.default_rng(0)
    )
    assert means[arms].mean() >= 0.69
    assert samples == pytest.approx(1.19e6, rel=0.05)
