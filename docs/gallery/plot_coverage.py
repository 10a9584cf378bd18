"""
Advertise at events
===================

Probabilistic maximum coverage on Davis's Southern women network: a policy chooses three events, and every
guest who notices the advertisement counts once. The figure shows the estimates of CUCB against the true
probabilities. Darker dots are edges with more observations: CUCB estimates the edges well that it needs.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CUCB, simulate
from instances import Coverage

graph = nx.davis_southern_women_graph()
for node, side in list(graph.nodes(data="bipartite")):
    graph.nodes[node]["bipartite"] = 1 - side  # super arms list events, which cover women
probabilities = np.random.default_rng(0).beta(1.0, 2.5, graph.number_of_edges())
environment = Coverage(graph, k=3, probability=probabilities)
result = simulate(CUCB(environment.oracle, radius_factor=0.3), environment, horizon=2000, rng=0)

state = result.states[0]
order = np.argsort(state.counts)  # the edges with the most observations on top
colours = np.log10(np.maximum(state.counts, 1))[order]
figure, axes = plt.subplots()
points = axes.scatter(probabilities[order], state.means[order], c=colours, cmap="viridis_r", s=9)
axes.axline((0, 0), slope=1, color="0.6", zorder=0)
axes.set(xlabel="True probability", ylabel="Estimate")
figure.colorbar(points, label="observations (powers of ten)")
axes.set_title(f"chosen at last: {', '.join(environment.oracle.labels(result.super_arms[0]))}", loc="left")
plt.show()
