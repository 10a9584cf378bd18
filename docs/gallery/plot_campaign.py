"""
A campaign with names
=====================

Each week, a campaign asks two people to spread a message. Later it learns who joined and which ties carried
the message. In this example the people are simulated; the rest of the program is the same in a real campaign.
Every event is stored in a database before the call returns, so the program may be killed at any time.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab import CTS, Campaign
from instances import IndependentCascade
from oracles import InfluenceMaximization

graph = nx.florentine_families_graph().to_directed()
oracle = InfluenceMaximization(graph, k=2, epsilon=0.3)
truth = np.random.default_rng(0).uniform(0.05, 0.5, oracle.n_arms)
people = IndependentCascade(graph, truth, k=2)
ties, chance = list(graph.edges), np.random.default_rng(1)

with tempfile.TemporaryDirectory() as folder:
    campaign = Campaign(CTS(oracle, prior_mean=0.2, prior_weight=5.0), Path(folder) / "campaign.db", rng=0)
    for _ in range(30):  # weeks
        request = campaign.ask()
        seen = people.play(request.ticket.super_arm, chance)
        outcomes = {ties[arm]: outcome for arm, outcome in zip(seen.arms, seen.outcomes, strict=True)}
        carried = [tie for tie, outcome in outcomes.items() if outcome]
        campaign.tell(ticket=request, joined={person for _, person in carried}, carried=carried)
    print(campaign.health()["told"], "rounds reported")
    print("ask next:", *campaign.ask().names)
    names, means, lows, highs = zip(
        *sorted(campaign.estimates(), key=lambda one: -one.mean)[:12], strict=True
    )

plt.errorbar(means, range(12), xerr=[np.subtract(means, lows), np.subtract(highs, means)], fmt="o")
plt.yticks(range(12), [f"{tail} to {head}" for tail, head in names])
plt.xlabel("Mean outcome of a tie, with its 90 % interval")
plt.tight_layout()
plt.show()
