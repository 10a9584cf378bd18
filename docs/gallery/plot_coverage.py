"""
Advertising at events
=====================

Probabilistic maximum coverage on Davis's Southern women: three events are chosen, every guest who notices counts once.
The estimates of CUCB against the truth, larger dots for edges observed more often: it learns what it needs.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CUCB, simulate
from instances import Coverage

graph = nx.davis_southern_women_graph()
for node, side in list(graph.nodes(data="bipartite")):
    graph.nodes[node]["bipartite"] = 1 - side  # events are chosen, women are covered
probabilities = np.random.default_rng(0).beta(1.0, 2.5, graph.number_of_edges())
environment = Coverage(graph, k=3, probability=probabilities)
result = simulate(CUCB(environment.oracle, radius_factor=0.3), environment, horizon=2000, rng=0)

figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
state = result.states[0]
axes.plot([0, 1], [0, 1], color="lightgray", zorder=0)
axes.scatter(probabilities, state.means, s=4 + 40 * state.counts / state.counts.max(), alpha=0.6)
chosen = ", ".join(environment.oracle.labels(result.super_arms[0]))
axes.set(xlabel="true probability", ylabel="estimate", title=f"chosen at last: {chosen}")
plt.show()
