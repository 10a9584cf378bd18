"""UGapE, GapE and UCB-E, one bandit or several: sets by enumeration, budgets, errors, coincidences."""

import numpy as np
import pytest
from references_exploration import ugape_answer
from scipy.stats import binom

from cmab import UCBE, Feedback, UGapEb, UGapEc, identify
from cmab.bounds.samples import best_k_gaps, hardness, ugape_hardness
from cmab.exploration.ugape import GapE, least_gaps
from instances import BernoulliArms

MEANS = np.array([0.5, 0.9, 0.4, 0.3, 0.6, 0.2])
GAPS = best_k_gaps(MEANS, 1)
RULES = {
    "ugapeb": UGapEb(6, 1, budget=1500, a=1494 / (4 * ugape_hardness(GAPS))),
    "ucbe": UCBE(6, budget=1500, a=2 * 1500 / hardness(GAPS)),
    "gape": GapE((6,), budget=1500, a=2 * 1500 / hardness(GAPS)),
}


@pytest.mark.parametrize("seed", range(30))
def test_critical_pair_by_definition(seed):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 9))
    k = int(rng.integers(1, n_arms))
    means, radii = rng.random(n_arms), rng.random(n_arms)
    chosen, index, arm = ugape_answer(means, radii, k)
    is_chosen = np.empty(n_arms, bool)
    pull, bound = least_gaps(means, radii, k, is_chosen)
    assert np.flatnonzero(is_chosen).tolist() == chosen.tolist()
    assert (bound, pull) == (pytest.approx(index), arm)


@pytest.mark.parametrize("name", RULES)
def test_budget_is_used_exactly_and_errors_are_rare(name):
    """False alarm below 1e-6 at an error rate of 1 %."""
    found = identify(RULES[name], BernoulliArms(MEANS), replications=100, rng=0)
    assert (found.samples == 1500).all()
    wrong = sum(arms.tolist() != [1] for arms in found.arms)
    assert wrong <= binom.isf(1e-6, 100, 0.01)


def test_gape_with_one_bandit_follows_ucbe_but_for_the_best_arm():
    """The indices differ by the best mean, a constant, except that of the best arm, which loses its gap."""
    a, stats = 3.0, (np.array([0.4, 0.7, 0.6]), np.array([2, 9, 3]))
    asked = []
    for rule in (GapE((3,), budget=99, a=a), UCBE(3, budget=99, a=a)):
        state, sums = rule.initial_state(), stats[0] * stats[1]
        rule.update(state, Feedback(np.arange(3), sums, pulls=stats[1], squares=sums))
        asked.append(rule.select(state, np.random.default_rng(0)).tolist())
    assert asked[0] == [int(np.argmax([-0.3 + 1.5**0.5, -0.1 + (1 / 3) ** 0.5, -0.1 + 1.0]))]
    assert asked[1] == [int(np.argmax([0.4 + 1.5**0.5, 0.7 + (1 / 3) ** 0.5, 1.6]))]


def heard(rule, means, counts):
    """Return the rule's state after outcomes with these means."""
    state, sums = rule.initial_state(), means * counts
    rule.update(state, Feedback(np.arange(len(means)), sums, pulls=counts, squares=sums))
    return state


def test_ugapeb_returns_the_surest_answer_of_all_steps():
    """A later answer that is less sure does not replace it, by hand."""
    rule, is_chosen = UGapEb(3, 1, budget=100, a=2.0), np.empty(3, bool)
    state, radius = heard(rule, np.array([0.9, 0.1, 0.2]), np.full(3, 4)), 0.5**0.5
    first = (0.2 + radius) - (0.9 - radius)
    assert state.memory == pytest.approx([first, 1.0, 0.0, 0.0])
    rule.update(state, Feedback([1], [68.0], pulls=[68], squares=[68.0]))
    present = least_gaps(state.means, (2.0 / state.counts) ** 0.5, 1, is_chosen)[1]
    assert is_chosen.tolist() == [False, True, False]
    assert present == pytest.approx((0.9 + radius) - (0.95 - (2.0 / 72.0) ** 0.5))
    assert present > first
    assert rule.recommend(state).tolist() == [0]


@pytest.mark.parametrize(("sizes", "k"), [((), 1), ((3, 1), 1), ((3, 2), 2)])
def test_bandits_that_are_too_small_are_refused(sizes, k):
    with pytest.raises(ValueError, match=r"n_arms of each bandit|number of arms|k must"):
        UGapEc(sizes, k, delta=0.1)
    with pytest.raises(ValueError, match=r"n_arms of each bandit|number of arms|k must"):
        UGapEb(sizes, k, budget=100, a=1.0)
