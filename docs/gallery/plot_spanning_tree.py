"""
Learn a spanning tree
=====================

Every edge of the karate-club network pays 1 with an unknown probability. In each round, the policy builds a
spanning tree and observes the outcomes of its edges. The figure shows the final tree of CUCB.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CUCB, simulate
from cmab.plotting import draw_graph, regret_curves, style
from instances import BernoulliArms, SemiBandit
from oracles import GraphicMatroid

graph = nx.karate_club_graph()
oracle = GraphicMatroid(graph)
means = np.random.default_rng(2).uniform(0.1, 0.9, oracle.n_arms)
result = simulate(CUCB(oracle), SemiBandit(BernoulliArms(means), oracle), horizon=2000, rng=0)

with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
regret_curves({"CUCB": result}, ax=left)
tree = oracle.labels(result.super_arms[0])
draw_graph(graph, nx.spring_layout(graph, seed=4), edges={"tree chosen at last": tree}, ax=right)
plt.show()
