"""
Seeds with a deadline
=====================

On Les Misérables, every person talks to one friend per step, who believes the message with probability 0.6.
For each deadline, the figure compares the best three seeds for this deadline with the best three seeds
without a deadline. People with many friends need many steps to talk to all of them.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab.plotting import style
from oracles import DeadlineInfluence, InfluenceMaximization

friends = nx.les_miserables_graph()
usual, rng = InfluenceMaximization(friends, k=3), np.random.default_rng(0)
means, meeting = np.full(usual.n_arms, 0.6), 1.0 / usual.graph.out_degrees[usual.graph.tails]
patient = usual.solve(means, rng)
deadlines, reached = 2 ** np.arange(7), []
for deadline in deadlines:
    oracle = DeadlineInfluence(friends, k=3, deadline=deadline, meeting=meeting)
    seeds = oracle.solve(means, rng)
    reached.append([oracle.spread(chosen, means, cascades=5000)[0] for chosen in (seeds, patient)])

with style():
    figure, axes = plt.subplots(figsize=(6, 4))
in_time, anyway = np.transpose(reached)
axes.semilogx(deadlines, in_time, "o-", base=2, label="best seeds for the deadline")
axes.semilogx(deadlines, anyway, "s--", base=2, label="best seeds without one")
axes.set_xticks(deadlines, deadlines)
axes.set_xlabel("deadline, steps")
axes.set_ylabel(f"people reached by then, of {len(friends)}")
axes.legend()
plt.show()
