"""
Seeds in waves
==============

Six seeds on Les Misérables are chosen at once, or in two, three or six waves. Each wave is chosen after the
cascade of the last wave has ended, so people who are already reached need no seed. In the same 25 worlds,
waves reach more people with the same number of seeds.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from cmab.plotting import draw_graph, style
from instances import IndependentCascade
from oracles import AdaptiveInfluence

friends = nx.les_miserables_graph()
graph = friends.to_directed()
means = np.full(graph.number_of_edges(), 0.2)
environment = IndependentCascade(graph, means)


def play(waves, world):
    """Return the seeds, and the active people after each wave, in one world (one generator state)."""
    campaign, active = AdaptiveInfluence(graph, 6 // waves, waves=waves, epsilon=0.2), []
    while campaign.left:
        asked = campaign.ask(means, np.random.default_rng(0)).seeds
        seeds = np.append(campaign.seeds, asked)
        campaign.tell(environment.play(seeds, np.random.default_rng(world)))
        active.append(np.flatnonzero(campaign.active))
    return campaign.seeds, active


with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), width_ratios=[1.6, 1])
names = np.array(graph.nodes)
seeds, active = play(3, world=0)
news = [np.setdiff1d(now, before) for before, now in zip([[], *active], active, strict=False)]
draw_graph(
    friends,
    nodes={f"active after wave {i + 1}": names[new].tolist() for i, new in enumerate(news)},
    labels=names[seeds].tolist(),
    title=f"one world: {', '.join(str(len(now)) for now in active)} people after each two seeds",
    ax=left,
)
waves = (1, 2, 3, 6)
reached = np.array([[len(play(number, world)[1][-1]) for world in range(25)] for number in waves])
errors = reached.std(axis=1, ddof=1) / reached.shape[1] ** 0.5
right.errorbar(range(4), reached.mean(axis=1), yerr=2.0 * errors, fmt="o", capsize=4)
right.set_xticks(range(4), [str(number) for number in waves])
right.set_xlabel("waves of six seeds together")
right.set_ylabel(f"people reached, of {len(friends)}")
right.set_title("25 worlds, two standard errors", loc="left")
plt.show()
