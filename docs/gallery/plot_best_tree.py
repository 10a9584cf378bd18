"""
Which tree is best?
===================

Pure exploration of super arms samples cables until the best spanning tree of a network is certain. Wide lines
are cables with many samples, where the decision is close. Every outcome of a cable gives information about
all trees that contain the cable. `CLUCB` and `LilCLUCB` compare the best tree with its strongest rival, and
sample the cable in exactly one of the two with the widest interval.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CLUCB, LilCLUCB, identify
from cmab.plotting import looks, sample_bars, style
from instances import GaussianArms
from oracles import GraphicMatroid

network = nx.grid_2d_graph(3, 4)
oracle = GraphicMatroid(network)
quality = np.random.default_rng(3).uniform(0.1, 0.9, oracle.n_arms)
explorers = {
    "lil'CLUCB": LilCLUCB(oracle, delta=0.05, growth=0.1),
    "CLUCB": CLUCB(oracle, delta=0.05, growth=0.1),
}
found = {
    name: identify(explorer, GaussianArms(quality, sigma=0.5), replications=3, rng=0, max_samples=1_000_000)
    for name, explorer in explorers.items()
}
assert all(one.correct.all() for one in found.values())

pulls = found["lil'CLUCB"].certificates[0].counts
best = set(found["lil'CLUCB"].arms[0].tolist())
with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.2))
    places = {node: node for node in network}
    colors = [looks(["best"])["best"]["color"] if arm in best else "0.75" for arm in range(oracle.n_arms)]
    widths = 1.0 + 9.0 * np.sqrt(pulls / pulls.max())
    edges = oracle.labels(range(oracle.n_arms))
    nx.draw_networkx_edges(network, places, ax=left, edgelist=edges, edge_color=colors, width=widths)
    nx.draw_networkx_nodes(network, places, ax=left, node_size=60, node_color="black")
    left.set_title("the best tree in colour; width: samples")
    left.set_axis_off()
    sample_bars(found, ax=right)
plt.show()
