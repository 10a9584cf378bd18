"""
Regret and its bounds when triggering is rare
=============================================

A user reads a list of three out of eight items and stops at the first attractive item. The user seldom
examines the third position, so the smallest triggering probability is 0.015. Bounds that divide by this
probability are large; the bounds on the page "Theory" do not divide by it. All bounds are far above
the measured regret (the reward of a round is at most 1), because such bounds describe the shape of the curve.
"""

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np

from cmab import CUCB, Environment, Feedback, Oracle, Smoothness, simulate
from cmab.bounds import (
    gap_dependent_bound,
    gap_free_bound,
    modulated_bound,
    modulated_gap_free_bound,
    reward_gaps,
)
from cmab.plotting import curves_with_bands
from instances import BernoulliArms


class Lists(Oracle):
    """Lists of three items. The reward is 1 if an item attracts the user."""

    triggers_surely = False
    has_membership = True
    n_arms = n_choices = 8

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[:3]

    def is_feasible(self, super_arm):
        return len(super_arm) == 3

    def expected_reward(self, super_arm, means):
        return float(1.0 - np.prod(1.0 - means[super_arm]))

    def triggering_probabilities(self, super_arm, means):
        chances = np.zeros(8)
        chances[super_arm] = np.cumprod(np.append(1.0, 1.0 - means[super_arm]))[:3]
        return chances

    def smoothness(self):
        # By telescoping: the product over earlier positions is the probability that the user gets there.
        return Smoothness(3.0, modulated=1.0)


class Clicks(Environment):
    """Show which items the user examined, and which of them attracted."""

    def __init__(self, means):
        self.arms = BernoulliArms(means)
        self.means, self.n_arms, self.n_choices = self.arms.means, 8, 8
        self.optimum = Lists().expected_reward(np.argsort(-self.means)[:3], self.means)

    def play(self, super_arm, rng):
        clicks = self.arms.play(super_arm, rng).outcomes
        last = int(np.argmax(clicks)) if clicks.any() else 2
        return Feedback(super_arm[: last + 1], clicks[: last + 1], reward=float(clicks.any()))

    def pull(self, arms, rng):
        return self.arms.pull(arms, rng)

    def expected_reward(self, super_arm):
        return Lists().expected_reward(super_arm, self.means)


oracle, environment = Lists(), Clicks([0.3, 0.85, 0.5, 0.2, 0.9, 0.6, 0.1, 0.4])
lists = list(permutations(range(8), 3))

gaps = reward_gaps(oracle, environment.means, super_arms=lists)
result = simulate(CUCB(oracle), environment, horizon=3000, replications=5, rng=0)
n, smoothness = result.rounds[result.rounds >= 10], oracle.smoothness()
bounds = {
    "Theorem 1, by gaps and 1/p*": gap_dependent_bound,
    "Theorem 2, by 1/p*": gap_free_bound,
    "by gaps, without p*": modulated_bound,
    "without gaps and p*": modulated_gap_free_bound,
}
curves = {name: (n, bound(gaps, smoothness, rounds=n)[None, :]) for name, bound in bounds.items()}
curves["CUCB, mean of 5 runs"] = n, result.regret[:, -len(n) :]
curves_with_bands(curves, x_label="Round", y_label="Cumulative regret", log=True)
plt.show()
