"""
A route through a backbone network
==================================

The delay of a link in the German research network of SNDlib is proportional to its length, with noise. CUCB
learns the fastest route from Hamburg to Munich. If the data set is missing on the machine that builds this
page, the network is a grid, and the title of the figure says so.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CUCB, simulate
from cmab.plotting import looks, style
from instances.datasets import delays, network

try:
    graph, title = network("nobel-germany"), "nobel-germany of SNDlib"
    ends = "Hamburg", "Muenchen"
except FileNotFoundError:
    graph, title = nx.grid_2d_graph(4, 4), "a grid: the data is not here"
    for number, (u, v) in enumerate(graph.edges):
        graph[u][v]["length"] = 50.0 + 10.0 * (number % 7)
    nx.set_node_attributes(graph, {node: node for node in graph}, "pos")
    ends = (0, 0), (3, 3)

world = delays(graph, *ends)
result = simulate(CUCB(world.oracle, radius_factor=0.2), world, horizon=3000, rng=0)
route = world.oracle.labels(result.super_arms[0])

places = {town: np.array(place) for town, place in graph.nodes(data="pos")}
with style():
    figure, axes = plt.subplots(figsize=(4.8, 5.2))
    nx.draw_networkx_edges(graph, places, ax=axes, edge_color="0.75", width=1 + 4 * world.means)
    nx.draw_networkx_edges(
        graph, places, edgelist=route, edge_color=looks(["CUCB"])["CUCB"]["color"], width=2, ax=axes
    )
    nx.draw_networkx_labels(graph, places, font_size=7, ax=axes)
    axes.set_title(f"CUCB's route, and slower links wider ({title})")
    axes.set_axis_off()
plt.show()
