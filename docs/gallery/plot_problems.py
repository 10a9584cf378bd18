"""
A budget, and servers for clients
=================================

Left: projects with prices compete for a budget (`Knapsack`). Each dot is a project, and the chosen projects
are marked. Right: three of ten servers are opened, and each client uses the best open server
(`SubmodularOracle`).
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CUCB, simulate
from instances import BernoulliArms, SemiBandit
from oracles import Knapsack, SubmodularOracle

rng = np.random.default_rng(3)
prices, chances = rng.integers(1, 21, 40), rng.uniform(0.1, 0.9, 40)
budget = Knapsack(prices, capacity=100)
result = simulate(CUCB(budget), SemiBandit(BernoulliArms(chances), budget), horizon=5000, rng=0)

servers, clients = rng.random((10, 2)), rng.random((60, 2))
distances = np.linalg.norm(servers[:, None] - clients, axis=2)
nearness = np.maximum(0.0, 1.0 - 2.0 * distances)


def served(means, chosen):
    """Return the sum over clients of the mean of their best open server."""
    return means.reshape(10, 60)[chosen].max(axis=0, initial=0.0).sum()


opened = SubmodularOracle(600, 3, reward=served, n_choices=10).solve(nearness.ravel(), rng)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
chosen = np.isin(np.arange(40), result.super_arms[0])
for is_chosen, colour, name in ((~chosen, "0.7", "left out"), (chosen, "C0", "chosen by CUCB at last")):
    left.scatter(prices[is_chosen], chances[is_chosen], color=colour, label=name)
left.set(
    xlabel="price", ylabel="chance of success", title=f"40 projects, {prices[chosen].sum()} of 100 spent"
)
left.set_ylim(0, 1.25)
left.legend(loc="upper right")
nearest = opened[distances[opened].argmin(axis=0)]
for client, server in zip(clients, servers[nearest], strict=True):
    right.plot(*zip(client, server, strict=True), color="0.8", zorder=0)
right.scatter(*clients.T, s=8, color="0.4", label="client")
right.scatter(*servers.T, marker="s", color="0.7", label="server")
right.scatter(*servers[opened].T, marker="s", color="C1", label="opened")
right.set(title="3 of 10 servers opened", xticks=[], yticks=[])
right.legend()
plt.show()
