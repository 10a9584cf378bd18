"""
One cascade
===========

The oracle for influence maximisation chooses seeds in the network of Les Misérables. The figure shows one
cascade from these seeds. The learner observes only which ties were tried and which of them carried the
message.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab.plotting import draw_graph
from instances import IndependentCascade
from oracles import InfluenceMaximization

friends = nx.les_miserables_graph()
graph = friends.to_directed()
probabilities = np.array([1 / graph.in_degree(v) for _, v in graph.edges])
oracle = InfluenceMaximization(graph, k=3)
seeds = oracle.solve(probabilities, np.random.default_rng(0))
feedback = IndependentCascade(graph, probabilities, k=3).play(seeds, np.random.default_rng(1))

edges, chosen = list(graph.edges), oracle.labels(seeds)
tried = [edges[arm] for arm in feedback.arms]
carried = [edge for edge, outcome in zip(tried, feedback.outcomes, strict=True) if outcome]
draw_graph(
    friends,
    nodes={"seeds": chosen, "reached": {person for edge in carried for person in edge}},
    edges={"carried": carried},
    labels=chosen,
    title=f"{int(feedback.reward)} of {len(friends)} people reached, {len(tried)} ties seen",
)
plt.show()
