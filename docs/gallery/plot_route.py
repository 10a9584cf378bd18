"""
A route through a town
======================

Each street is slow with an unknown probability. Costs are minimised, so optimistic bounds are *lower* bounds.
The figure shows the final route of CUCB with a small radius, over the true delays.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CUCB, simulate
from cmab.plotting import looks, style
from instances import BernoulliArms, SemiBandit
from oracles import ShortestPath

graph = nx.grid_2d_graph(7, 7)
oracle = ShortestPath(graph, (0, 0), (6, 6))
delays = np.random.default_rng(1).beta(1.0, 1.5, oracle.n_arms)
result = simulate(
    CUCB(oracle, radius_factor=0.2), SemiBandit(BernoulliArms(delays), oracle), horizon=3000, rng=0
)

places = {node: node for node in graph}
with style():
    figure, axes = plt.subplots(figsize=(4.8, 4.2))
    options = {
        "edge_color": delays,
        "edge_cmap": plt.cm.Greys,
        "edge_vmin": -0.3,
        "edge_vmax": 1.0,
        "width": 5,
    }
    nx.draw_networkx_edges(graph, places, ax=axes, **options)
    route = oracle.labels(result.super_arms[0])
    nx.draw_networkx_edges(
        graph, places, edgelist=route, edge_color=looks(["CUCB"])["CUCB"]["color"], width=2, ax=axes
    )
    axes.annotate("from", (0, 0), (-0.15, -0.15), ha="right", va="top")
    axes.annotate("to", (6, 6), (6.15, 6.15))
    axes.set_title("a route over streets: darker ones are slower")
    axes.set_axis_off()
plt.show()
