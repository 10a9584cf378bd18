"""
One cascade
===========

Seeds chosen by the influence-maximisation oracle on Les Misérables, and one cascade from them: edges that carried the
message are black, edges that were tried in vain are dotted. The learner sees both kinds, and nothing else.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from instances import IndependentCascade
from oracles import InfluenceMaximization

graph = nx.les_miserables_graph().to_directed()
probabilities = np.array([1 / graph.in_degree(v) for _, v in graph.edges])
oracle = InfluenceMaximization(graph, k=3)
seeds = oracle.solve(probabilities, np.random.default_rng(0))
feedback = IndependentCascade(graph, probabilities, k=3).play(seeds, np.random.default_rng(1))

edges, nodes = list(graph.edges), list(graph.nodes)
tried = [edges[arm] for arm in feedback.arms]
carried = [edge for edge, outcome in zip(tried, feedback.outcomes, strict=True) if outcome]
active = {node for node, _ in tried} | {node for _, node in carried}

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
layout = nx.spring_layout(graph, seed=3, k=0.35)
options = {"ax": axes, "arrows": False}
nx.draw_networkx_edges(graph, layout, edge_color="gainsboro", **options)
nx.draw_networkx_edges(graph, layout, edgelist=tried, style="dotted", edge_color="gray", **options)
nx.draw_networkx_edges(graph, layout, edgelist=carried, width=1.5, **options)
nx.draw_networkx_nodes(graph, layout, node_size=25, node_color="lightgray", ax=axes)
nx.draw_networkx_nodes(graph, layout, nodelist=sorted(active), node_size=45, ax=axes)
nx.draw_networkx_nodes(
    graph, layout, nodelist=oracle.labels(seeds), node_size=260, node_color="tab:orange", ax=axes
)
nx.draw_networkx_labels(graph, layout, {name: name for name in oracle.labels(seeds)}, font_size=9, ax=axes)
axes.set_title(f"{int(feedback.reward)} of {len(nodes)} active, {len(tried)} edges observed")
axes.set_axis_off()
plt.show()
