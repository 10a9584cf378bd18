"""
Fair shares of the rounds
=========================

Two of six arms are played in each round, and each arm is available in four of five rounds. CUCB soon ignores
the worse arms. LFG plays each arm in at least a fifth of the rounds, and the best arms in the other rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CUCB, LFG, simulate
from cmab.plotting import style
from instances import BernoulliArms, SleepingSemiBandit
from oracles import Knapsack

oracle = Knapsack(np.ones(6), 2)
arms = BernoulliArms([0.2, 0.3, 0.4, 0.6, 0.8, 0.9])
environment = SleepingSemiBandit(arms, oracle, availability=0.8)
learners = {"CUCB": CUCB(oracle, radius_factor=0.3), "LFG": LFG(oracle, 0.2, eta=20.0)}

with style():
    figure, axes = plt.subplots()
for place, (name, learner) in enumerate(learners.items()):
    run = simulate(learner, environment, horizon=800, rng=0)
    axes.bar(np.arange(6) + 0.4 * place, run.states[0].counts / 800, width=0.4, label=name)
axes.axhline(0.2, color="black", linewidth=1, label="share of each arm")
axes.set(xlabel="Arm, the best last", ylabel="Share of the rounds", xticks=np.arange(6) + 0.2)
axes.set_xticklabels([str(arm) for arm in range(6)])
axes.legend()
plt.show()
