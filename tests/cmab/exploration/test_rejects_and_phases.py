"""Fixed budget: schedules of the papers, budgets kept, error rates, rules that coincide."""

import math

import numpy as np
import pytest
from exploring import explore

from cmab import (
    CSAR,
    SAR,
    AdaptiveTopK,
    Feedback,
    OptMAI,
    UniformAllocation,
)
from cmab.exploration.rejects import SuccessiveRejects
from cmab.explorer import best_k
from instances import BernoulliArms
from oracles import TopK

BUDGETED = {
    "sr": lambda n, budget: SuccessiveRejects(n, budget=budget),
    "sar": lambda n, budget: SAR(n, 2, budget=budget),
    "csar": lambda n, budget: CSAR(TopK(n, 2), budget=budget),
    "uniform": lambda n, budget: UniformAllocation(n, 2, budget=budget),
    "adaptive_top_k": lambda n, budget: AdaptiveTopK(n, 2, delta=0.01, budget=budget),
    "adaptive_top_k_scaled": lambda n, budget: AdaptiveTopK(
        n, 2, delta=0.01, budget=budget, pulls_factor=0.05
    ),
    "opt_mai": lambda n, budget: OptMAI(n, 2, budget=budget),
}


def schedule(explorer, n_arms):
    """Return (arms, pulls) of each batch, on arms with distinct certain means."""
    state, batches, rng = explorer.initial_state(), [], np.random.default_rng(0)
    while not explorer.is_done(state):
        arms, pulls = explorer.select(state, rng), explorer.pulls(state)
        batches.append((len(arms), pulls))
        explorer.update(state, Feedback(arms, pulls * (1 - arms / n_arms), pulls=np.full(len(arms), pulls)))
    return batches


def test_schedule_of_successive_rejects():
    batches = schedule(SuccessiveRejects(20, budget=2000), 20)
    assert np.cumsum([pulls for _, pulls in batches])[[0, 1, 2, -1]].tolist() == [32, 34, 36, 320]
    assert sum(arms * pulls for arms, pulls in batches) == 1989


def test_schedule_of_csar():
    batches = schedule(CSAR(TopK(20, k=3), budget=2000), 20)
    assert np.cumsum([pulls for _, pulls in batches])[[0, 1, 2, -1]].tolist() == [28, 29, 31, 551]
    assert sum(arms * pulls for arms, pulls in batches) == 1991


@pytest.mark.parametrize("name", BUDGETED)
@pytest.mark.parametrize("n_arms", [3, 8, 17])
def test_budget_is_never_exceeded(name, n_arms):
    for seed, budget in enumerate([n_arms * 5, n_arms * 6 + 1, 500, 5001]):
        rng = np.random.default_rng(seed)
        arms, samples = explore(BUDGETED[name](n_arms, budget), BernoulliArms(rng.random(n_arms)), rng)
        assert 0 < samples <= budget
        assert len(arms) == (1 if name == "sr" else 2)


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


def literal_removals(means, k, width):
    """AdaptiveTopK's inner loop as printed: the border is recomputed after every removal."""
    left, accepted, rejected = list(range(len(means))), [], []
    while left:
        order = sorted((means[i] for i in left), reverse=True)
        wanted = k - len(accepted)
        a = order[wanted] if len(left) > wanted else -np.inf
        b = order[wanted - 1] if wanted else np.inf
        gaps = [max(means[i] - a, b - means[i]) for i in left]
        x = left[int(np.argmax(gaps))]
        if max(gaps) <= 2 * width:
            break
        (accepted if means[x] > a else rejected).append(x)
        left.remove(x)
    return set(accepted), set(rejected)


@pytest.mark.parametrize("seed", range(40))
def test_adaptive_top_k_decides_as_the_printed_loop(seed):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 15))
    explorer = AdaptiveTopK(n_arms, int(rng.integers(1, n_arms)), delta=0.01, budget=10**9)
    state = explorer.initial_state()
    state.phase = int(rng.integers(1, 6))
    state.stats.means[:] = rng.integers(0, 9, n_arms) / 8 if seed % 2 else rng.random(n_arms)
    accepted, rejected = literal_removals(state.stats.means, explorer.k, 2.0 ** -(state.phase + 1))
    explorer.decide(state)
    assert set(np.flatnonzero(state.accepted)) == accepted
    assert set(np.flatnonzero(~state.accepted & ~state.undecided)) == rejected


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
