"""
From a file to seeds
====================

`read_network` reads a file of pairs of people, as a spreadsheet writes it, with names and probabilities. The
oracle chooses the best seeds for these probabilities. `cmab demo influence --graph friends.csv` plays
learners on the same file.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab.plotting import draw_graph
from instances import read_network
from oracles import InfluenceMaximization

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "friends.csv"
    friends = nx.florentine_families_graph()
    ties = friends.edges
    chances = np.random.default_rng(0).uniform(0.1, 0.5, len(ties)).round(2)
    lines = [f"{one},{other},{chance}" for (one, other), chance in zip(ties, chances, strict=True)]
    file.write_text("\n".join(["family,knows,probability", *lines]), encoding="utf-8")
    network = read_network(file, directed=False)

print(*network.told, sep="\n")

# %%
# Base arms are the ties, one for each direction. `expected_reward` returns the spread of the seeds.

oracle = InfluenceMaximization(network.graph, k=2, epsilon=0.1)
seeds = oracle.solve(network.graph.probabilities, np.random.default_rng(0))
spread = oracle.expected_reward(seeds, network.graph.probabilities)
draw_graph(
    friends,
    nodes={"seeds": oracle.labels(seeds)},
    labels=list(friends),
    title=f"two seeds reach {spread:.1f} of {len(friends)} families on average",
)
plt.show()
