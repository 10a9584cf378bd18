"""
Learning a spanning tree
========================

Every edge of the karate-club network pays 1 with an unknown probability; each round builds one spanning
tree and sees what its edges paid. The tree that CUCB has settled on is drawn over the network.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CUCB, simulate
from instances import BernoulliArms, SemiBandit
from oracles import GraphicMatroid

graph = nx.karate_club_graph()
oracle = GraphicMatroid(graph)
means = np.random.default_rng(2).uniform(0.1, 0.9, oracle.n_arms)
result = simulate(CUCB(oracle), SemiBandit(BernoulliArms(means), oracle), horizon=2000, rng=0)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(result.rounds, result.regret[0])
left.set(xlabel="round", ylabel="cumulative regret")
layout = nx.spring_layout(graph, seed=4)
tree = oracle.labels(result.super_arms[0])
nx.draw_networkx_nodes(graph, layout, node_size=40, node_color="black", ax=right)
nx.draw_networkx_edges(graph, layout, edge_color="lightgray", ax=right)
nx.draw_networkx_edges(graph, layout, edgelist=tree, width=2.5, ax=right)
right.set_axis_off()
plt.show()
