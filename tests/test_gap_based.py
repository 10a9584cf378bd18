"""UGapEb, GapE and UCB-E: their sets against enumeration, budgets, error rates, coincidences."""

import numpy as np
import pytest
from exploring import errors, explore
from scipy.stats import binom

from cmab import UCBE, Feedback, GapE, MultiBanditUGapEb, UGapEb
from cmab._kernels_ugape import least_gaps
from cmab.hardness import best_k_gaps, hardness, ugape_hardness
from instances import BernoulliArms

MEANS = np.array([0.5, 0.9, 0.4, 0.3, 0.6, 0.2])
GAPS = best_k_gaps(MEANS, 1)
RULES = {
    "ugapeb": UGapEb(6, 1, 1500, a=1494 / (4 * ugape_hardness(GAPS))),
    "ugapeb_adaptive": UGapEb(6, 1, 1500),
    "ucbe": UCBE(6, 1500, a=2 * 1500 / hardness(GAPS)),
    "ucbe_adaptive": UCBE(6, 1500),
    "gape": GapE((6,), 1500, a=2 * 1500 / hardness(GAPS)),
}


@pytest.mark.parametrize("seed", range(30))
def test_critical_pair_by_definition(seed):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 9))
    k = int(rng.integers(1, n_arms))
    means, radii = rng.random(n_arms), rng.random(n_arms)
    upper, lower = means + radii, means - radii
    index = [sorted(np.delete(upper, i))[-k] - lower[i] for i in range(n_arms)]
    inside = set(np.argsort(index, kind="stable")[:k].tolist())
    is_chosen = np.empty(n_arms, bool)
    pull, bound = least_gaps(means, radii, k, is_chosen)
    assert set(np.flatnonzero(is_chosen).tolist()) == inside
    assert bound == pytest.approx(max(index[i] for i in inside))
    u = max(set(range(n_arms)) - inside, key=lambda i: upper[i])
    low = min(inside, key=lambda i: lower[i])
    assert pull == max((u, low), key=lambda i: radii[i])


def test_ties_of_the_critical_pair_go_to_the_larger_radius():
    is_chosen = np.empty(4, bool)
    means, radii = np.array([0.9, 0.4, 0.3, 0.5]), np.array([0.0, 0.125, 0.225, 0.025])
    assert least_gaps(means, radii, 1, is_chosen)[0] == 2  # upper bounds of .525 for all three others
    assert np.flatnonzero(is_chosen).tolist() == [0]


@pytest.mark.parametrize("name", RULES)
def test_budget_is_used_exactly_and_errors_are_rare(name):
    """False alarm below 1e-6 at an error rate of 1 %."""
    _, samples = explore(RULES[name], BernoulliArms(MEANS), np.random.default_rng(0))
    assert samples == 1500
    wrong = errors(RULES[name], BernoulliArms(MEANS), lambda arms: arms.tolist() == [1], 20)
    assert wrong <= binom.isf(1e-6, 20, 0.01)


@pytest.mark.parametrize("a", [None, 2.0])
def test_one_bandit_of_several_is_ugapeb(a):
    for seed in range(3):
        one, several = UGapEb(6, 2, 300, a=a), MultiBanditUGapEb([6], 2, 300, a=a)
        runs = [explore(rule, BernoulliArms(MEANS), np.random.default_rng(seed)) for rule in (one, several)]
        assert np.array_equal(runs[0][0], runs[1][0])


def test_gape_with_one_bandit_follows_ucbe_but_for_the_best_arm():
    """The indices differ by the best mean, a constant, except that of the best arm, which loses its gap."""
    a, stats = 3.0, (np.array([0.4, 0.7, 0.6]), np.array([2, 9, 3]))
    states = [GapE((3,), 99, a).initial_state(), UCBE(3, 99, a).initial_state()]
    for state in states:
        sums = stats[0] * stats[1]
        state.stats.update(Feedback(np.arange(3), sums, pulls=stats[1], squares=sums))
    GapE((3,), 99, a).advance(states[0])
    UCBE(3, 99, a).advance(states[1])
    assert states[0].asked.tolist() == [int(np.argmax([-0.3 + 1.5**0.5, -0.1 + (1 / 3) ** 0.5, -0.1 + 1.0]))]
    assert states[1].asked.tolist() == [int(np.argmax([0.4 + 1.5**0.5, 0.7 + (1 / 3) ** 0.5, 1.6]))]


@pytest.mark.parametrize(
    "rule", [MultiBanditUGapEb([3, 2], 1, 1500), GapE([3, 2], 1500, 10.0)], ids=["ugapeb", "gape"]
)
def test_several_bandits(rule):
    arms, samples = explore(rule, BernoulliArms([0.1, 0.9, 0.3, 0.2, 0.5]), np.random.default_rng(0))
    assert samples == 1500
    assert arms.tolist() == [1, 4]


def test_the_harder_bandit_gets_more_samples():
    rule, rng = MultiBanditUGapEb([2, 2], 1, 2000), np.random.default_rng(1)
    state, arms = rule.initial_state(), BernoulliArms([0.9, 0.1, 0.5, 0.4])
    while not rule.is_done(state):
        chosen = rule.select(state, rng)
        rule.update(state, Feedback(chosen, arms.pull(chosen, rng)))
    assert state.stats.counts[2:].sum() > 2 * state.stats.counts[:2].sum()


@pytest.mark.parametrize("make", [lambda: UGapEb(6, 1, 6), lambda: UCBE(6, 5), lambda: GapE((3, 3), 6, 1.0)])
def test_too_small_a_budget_is_refused(make):
    with pytest.raises(ValueError, match="budget must exceed 6"):
        make()
