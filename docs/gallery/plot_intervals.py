"""
Seeds for intervals of probabilities
====================================

The probability of each tie of Les Misérables is estimated from a number of trials. `robust_seeds` chooses
three seeds and certifies a ratio that holds for all probabilities in the confidence intervals. The figure
compares this ratio with the true ratio. The seeds are good with few trials, but many trials are needed to
certify it.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab.bounds.kl import kl_bounds
from cmab.plotting import style
from instances import weighted_cascade
from oracles import InfluenceMaximization, robust_seeds

oracle = InfluenceMaximization(nx.les_miserables_graph(), k=3)
truth, rng = weighted_cascade(oracle.graph), np.random.default_rng(0)
best = oracle.spread(oracle.solve(truth, rng), truth)[0]
tosses = 10 ** np.arange(1, 7)
rate = np.log(2 * oracle.n_arms / 0.05)  # all intervals hold with probability 0.95
certain, worth = [], []
for count in tosses:
    means = rng.binomial(count, truth) / count
    lows, highs = kl_bounds(means, np.full(oracle.n_arms, count), rate=rate)
    answer = robust_seeds(oracle, lows, highs, rng)
    certain.append(answer.ratio)
    worth.append(oracle.spread(answer.seeds, truth)[0] / best)

with style():
    figure, axes = plt.subplots(figsize=(6.5, 4))
axes.semilogx(tosses, worth, "o-", label="true")
axes.semilogx(tosses, certain, "s--", label="certain")
axes.axhline(oracle.alpha, color="0.6", linewidth=1)
axes.text(tosses[0], oracle.alpha + 0.01, "promised where probabilities are known", color="0.4")
axes.set_xlabel("tosses of each of 508 ties")
axes.set_ylabel("share of the best spread")
axes.set_ylim(0.0, 1.1)
axes.legend(loc="lower right")
plt.show()
