"""
Estimate the reward of another policy
=====================================

A fashion shop logged clicks under a uniform policy and under Thompson sampling (the Open Bandit data). From
the uniform log alone, we estimate the clicks of Thompson sampling with weighted rounds, and compare them with
the measured clicks. If the data set is missing on the machine that builds this page, the logs are simulated,
with more clicks, and the title of the figure says so.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from cmab import off_policy_value, read_log
from cmab.plotting import style
from instances.datasets import open_bandit


def drawn(share, rng):
    items = rng.choice(10, 3000, p=share)
    clicks = rng.random(3000) < np.linspace(0.02, 0.2, 10)[items]
    table = {
        "item": items.tolist(),
        "position": [1] * 3000,
        "click": clicks.tolist(),
        "p": share[items].tolist(),
    }
    return read_log(table, "item", outcome="click", reward="click", propensity="p", facts=["position"])


def as_often(log):
    """Return the policy that shows items at each position with their frequencies in a log."""
    shown = Counter((row.facts["position"], row.names) for row in log)
    rounds = Counter(row.facts["position"] for row in log)
    chances = {p: {names: n / rounds[p] for (at, names), n in shown.items() if at == p} for p in rounds}
    return lambda row: chances[row.facts["position"]]


try:
    logs = {who: (open_bandit(who), open_bandit(who, "thompson")) for who in ("men", "women", "all")}
    title = "Open Bandit data"
except FileNotFoundError:
    rng, later = np.random.default_rng(0), np.linspace(1.0, 9.0, 10)
    uniform, learned = drawn(np.full(10, 0.1), rng), drawn(later / later.sum(), rng)
    logs, title = {"drawn": (uniform, learned)}, "drawn: the data is not here"

with style():
    figure, axes = plt.subplots(figsize=(5.4, 3.2))
    for place, (uniform, learned) in enumerate(logs.values()):
        found = off_policy_value(uniform, as_often(learned))
        low, high = found.interval
        one = {"yerr": [[found.value - low], [high - found.value]], "capsize": 3, "color": "#0072B2"}
        axes.errorbar(place - 0.1, found.value, fmt="o", label="estimated" if place == 0 else None, **one)
        clicks = np.array([row.reward for row in learned])
        error = 1.96 * clicks.std() / np.sqrt(len(clicks))
        one = {"yerr": error, "capsize": 3, "color": "#D55E00", "label": "measured" if place == 0 else None}
        axes.errorbar(place + 0.1, clicks.mean(), fmt="s", **one)
    axes.set_xticks(range(len(logs)), list(logs))
    axes.set(xlim=(-0.5, len(logs) - 0.5), ylabel="Clicks of a round", title=f"Thompson sampling ({title})")
    axes.set_ylim(bottom=0.0)
    axes.legend()
plt.show()
