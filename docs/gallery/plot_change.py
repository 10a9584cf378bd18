"""
When the means change
=====================

Three of twelve arms are played in each round. All means change twice (dotted lines). CUCB, which remembers
all outcomes, continues with arms that were best before. A sliding window and a discount cost a little in all
rounds, and recover soon. Restarts (crosses: changes that the test detected) cost exploring rounds. The regret
is against the best super arm of each round, in three replications.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CUCB, DiscountedCUCB, GLRRestart, SlidingWindow, simulate
from cmab.plotting import regret_curves
from instances import BernoulliArms, PiecewiseStationary, SemiBandit
from oracles import TopK

oracle = TopK(n_arms=12, k=3)
means = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 12))
worlds = [SemiBandit(BernoulliArms(np.roll(means, 5 * turn)), oracle) for turn in range(3)]
environment = PiecewiseStationary(worlds, changes=[600, 1200])
narrow = CUCB(oracle, radius_factor=0.3)
learners = {
    "CUCB": narrow,
    "window of 250 rounds": SlidingWindow(narrow, window=250),
    "discount 0.998": DiscountedCUCB(oracle, discount=0.998, radius_factor=0.3),
    "restarts": GLRRestart(narrow, exploration=0.02, is_proven=False),
}
results = {
    name: simulate(learner, environment, 1800, replications=3, checkpoints=range(50, 1801, 50), rng=0)
    for name, learner in learners.items()
}
axes = regret_curves(results)
for change in environment.changes:
    axes.axvline(change, color="gray", linestyle=":", linewidth=1)
found = np.concatenate(results["restarts"].change_points)
axes.plot(found, np.zeros(len(found)), "x", color="black", clip_on=False)
print("changes found after rounds", *sorted(map(int, found)))
plt.show()
