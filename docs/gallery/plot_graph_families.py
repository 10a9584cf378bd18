"""
Flows, cuts and trees
=====================

The figure shows optimal sets of edges in one town of 30 places for the same costs (thin lines are cheap
edges): `DisjointPaths`, `MinCostFlow`, `MinimumCut`, `SteinerTree` and the pairs of a
`GeneralizedAssignment`. Every policy for linear oracles works with each of them.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CUCB, simulate
from instances import BernoulliArms, SemiBandit
from oracles import (
    DisjointPaths,
    GeneralizedAssignment,
    GraphicMatroid,
    MinCostFlow,
    MinimumCut,
    SteinerTree,
)

rng = np.random.default_rng(4)
town = nx.Graph(nx.random_geometric_graph(30, 0.3, seed=9))
places = nx.get_node_attributes(town, "pos")
one_way = nx.DiGraph(town.to_directed())
west, east = min(places, key=lambda node: places[node][0]), max(places, key=lambda node: places[node][0])
depots = sorted(places, key=lambda node: places[node][1])
demand = {depots[0]: -1, depots[1]: -1, depots[-1]: 1, depots[-2]: 1}
terminals = [west, east, depots[0], depots[-1]]
price = dict(zip(map(frozenset, town.edges), rng.uniform(0.1, 0.9, town.number_of_edges()), strict=True))

families = {
    "two paths without common nodes": (town, DisjointPaths(town, west, east, disjoint="nodes"), [west, east]),
    "a flow from two places to two": (one_way, MinCostFlow(one_way, demand), list(demand)),
    "a minimum cut": (town, MinimumCut(town, west, east), [west, east]),
    "a Steiner tree of four places": (town, SteinerTree(town, terminals), terminals),
    "a minimum spanning tree": (town, GraphicMatroid(town, sense="min"), []),
}

figure, panels = plt.subplots(2, 3, figsize=(9.6, 6.2), layout="constrained")
for axes, (title, (graph, oracle, marked)) in zip(panels.flat, families.items(), strict=False):
    costs = np.array([price[frozenset(edge)] for edge in graph.edges])
    chosen = oracle.labels(oracle.solve(costs, rng))
    widths = [3 * price[frozenset(edge)] for edge in town.edges]
    nx.draw_networkx_edges(town, places, ax=axes, edge_color="0.85", width=widths)
    colours = ["C1" if node in marked else "0.6" for node in graph]
    nx.draw_networkx_nodes(
        graph, places, ax=axes, node_size=[45 if c == "C1" else 8 for c in colours], node_color=colours
    )
    ways = {"arrowsize": 9} if graph.is_directed() else {}
    nx.draw_networkx_edges(graph, places, chosen, ax=axes, edge_color="C0", width=2, node_size=20, **ways)
    axes.set(title=title)
    axes.set_axis_off()

hours = rng.integers(2, 9, (3, 10))
jobs = GeneralizedAssignment(hours, capacities=[14, 14, 14])
worth = rng.uniform(0.1, 0.9, (3, 10))
axes = panels.flat[5]
axes.imshow(worth, cmap="Greys", vmin=0, vmax=1.4)
for agent, job in jobs.labels(jobs.solve(worth.ravel(), rng)):
    axes.text(job, agent, hours[agent, job], ha="center", va="center", color="C1", weight="bold")
axes.set(title="ten jobs, three agents, hours", xticks=[], yticks=range(3), ylabel="agent")
plt.show()

# %%
# A policy learns the means as with any other linear oracle: here, which two routes to keep open.

paths = families["two paths without common nodes"][1]
delays = BernoulliArms([price[frozenset(edge)] for edge in town.edges])
result = simulate(CUCB(paths, radius_factor=0.3), SemiBandit(delays, paths), horizon=1000, rng=0)
print(result)
for route in paths.paths(result.super_arms[0]):
    print(len(route), "streets:", route)
