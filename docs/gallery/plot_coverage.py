"""
Advertising at events
=====================

Probabilistic maximum coverage on Davis's Southern women: three events are chosen, every guest who notices counts once.
The estimates of CUCB against the truth, darker dots for edges observed more often: it learns what it needs.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CUCB, simulate
from cmab.plotting import learned_against_true
from instances import Coverage

graph = nx.davis_southern_women_graph()
for node, side in list(graph.nodes(data="bipartite")):
    graph.nodes[node]["bipartite"] = 1 - side  # events are chosen, women are covered
probabilities = np.random.default_rng(0).beta(1.0, 2.5, graph.number_of_edges())
environment = Coverage(graph, k=3, probability=probabilities)
result = simulate(CUCB(environment.oracle, radius_factor=0.3), environment, horizon=2000, rng=0)

state = result.states[0]
axes = learned_against_true(state.means, probabilities, counts=state.counts)
axes.set_title(f"chosen at last: {', '.join(environment.oracle.labels(result.super_arms[0]))}", loc="left")
plt.show()
