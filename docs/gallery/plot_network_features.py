"""
Features of edges from the network
==================================

A network has eight communities of 25 people. Edges within a community carry the message with probability
0.12, and edges between communities with probability 0.01. The learners do not know the communities. IMLinUCB
learns the coefficients of edge features, which `edge_features` computes from the network alone. CUCB learns
each edge separately. Left: the people by the second and third eigenvector, coloured by community. Right: the
number of reached people, as a mean over ten rounds.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import C2UCB, CUCB, EpsilonGreedy, simulate
from instances import IndependentCascade
from oracles import InfluenceMaximization, edge_features

links = nx.DiGraph(nx.planted_partition_graph(8, 25, 0.3, 0.02, seed=1))
oracle = InfluenceMaximization(links, k=10, epsilon=0.3)
tails, heads = oracle.graph.tails, oracle.graph.heads
features = edge_features(links, dimension=8)
place = IndependentCascade(links, np.where(tails // 25 == heads // 25, 0.12, 0.01), k=10, n_rr_sets=2**14)
learners = {
    "IMLinUCB": C2UCB(oracle, features, radius=0.1, ridge=0.3),
    "epsilon-greedy": EpsilonGreedy(oracle, epsilon=0.1),
    "CUCB": CUCB(oracle),
}

adjacency = nx.to_numpy_array(links, nodelist=range(200))
scale = 1 / np.sqrt(adjacency.sum(axis=1))
places = np.linalg.eigh(adjacency * np.outer(scale, scale))[1][:, [-2, -3]]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.scatter(*places.T, c=np.arange(200) // 25, cmap="tab10", s=12)
left.set(title="People by two eigenvectors", xticks=[], yticks=[])
rounds = np.arange(1, 121)
for name, learner in learners.items():
    run = simulate(learner, place, horizon=120, checkpoints=rounds, rng=0)
    reached = np.diff(run.rewards[0], prepend=0.0)
    right.plot(rounds[9:], np.convolve(reached, np.ones(10) / 10, "valid"), label=name)
right.set(title="People reached", xlabel="Round", ylabel="Mean of ten rounds", ylim=0)
right.legend(frameon=False)
figure.tight_layout()
plt.show()
