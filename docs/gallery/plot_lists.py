"""
Lists that users read from the top
==================================

A list shows five of twenty items, and a user stops at the first attractive item. Users seldom examine the
last positions, so the best list has the best items first. The learners learn the order together with the
items.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CTS, CUCB, KLCUCB, compare
from cmab.plotting import style
from instances import CascadeModel
from oracles import RankedTopK

oracle = RankedTopK(20, k=5)
means = np.random.default_rng(0).permutation(np.linspace(0.02, 0.4, 20))
page = CascadeModel(means, oracle)
learners = {"CascadeUCB1": CUCB(oracle), "CascadeKL-UCB": KLCUCB(oracle), "Thompson": CTS(oracle)}
comparison = compare(learners, page, horizon=5000, replications=8, rng=0)

best = oracle.solve(means, 0)
looked = page.triggering_probabilities(best)[best]
with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.4))
    comparison.plot(ax=left)
    right.bar(np.arange(1, 6), looked, width=0.7, label="looked at")
    right.bar(np.arange(1, 6), looked * means[best], width=0.7, label="clicked")
    right.set(xlabel="Position in the best list", ylabel="Share of users", ylim=(0, 1.02))
    right.legend()
plt.show()
