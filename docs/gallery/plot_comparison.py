"""
Standard policies and the bound of the theorem
==============================================

Left: policies choose four of twenty arms on the same outcomes. Thompson sampling usually has the least
regret. The greedy policy may settle on a bad super arm, and then its regret grows linearly. Right: the bound
of Theorem 1 for CUCB on a smaller instance, two of five arms, whose gaps can be listed. The measured regret
has the same shape and is far below the bound.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

from cmab import CTS, CUCB, KLCUCB, EpsilonGreedy, Greedy, RandomPolicy, Smoothness, simulate
from cmab.bounds import gap_dependent_bound, reward_gaps
from cmab.plotting import curves_with_bands, regret_curves, style
from instances import BernoulliArms, SemiBandit
from oracles import TopK

oracle = TopK(20, k=4)
shuffled = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 20))
environment = SemiBandit(BernoulliArms(shuffled), oracle)
learners = [
    RandomPolicy(oracle),
    KLCUCB(oracle),
    CUCB(oracle),
    EpsilonGreedy(oracle, epsilon=200.0, decay=True),
    Greedy(oracle),
    CTS(oracle),
]
with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
results = [simulate(learner, environment, horizon=10_000, replications=10, rng=0) for learner in learners]
regret_curves({result.policy: result for result in results}, log=True, ax=left)
left.set_xlim(10, 10_000)

small = TopK(5, k=2)
means = np.array([0.3, 0.9, 0.2, 0.8, 0.4])
gaps = reward_gaps(small, means, super_arms=combinations(range(5), 2))
result = simulate(CUCB(small), SemiBandit(BernoulliArms(means), small), horizon=50_000, replications=5, rng=0)
bound = gap_dependent_bound(gaps, Smoothness.linear(2), rounds=result.rounds)
curves = {"Theorem 1": (result.rounds, bound[None, :]), "CUCB, measured": (result.rounds, result.regret)}
curves_with_bands(curves, x_label="Round", y_label="Cumulative regret", log=True, ax=right)
right.set_xlim(10, 50_000)
plt.show()
