"""
Models in a cascade, from cheap to strong
=========================================

An issue is given to one model after the other until a patch passes the tests. A solved issue is worth 2 dollars, and
each try costs what the model costs. `CostAwareCascade` decides the order and the place to stop, and the learner
observes only the models that were tried.

The rates of solved issues and the mean costs in dollars are those of the OpenHands Index for SWE-bench
(https://github.com/OpenHands/openhands-index-results, commit 3015ac6 of 30 June 2026). The answers are simulated: an
issue is more or less difficult for all models, so that solutions of two models have a correlation of 0.56 (0.60 in the
published results by instance).
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from cmab import Learner, Session
from oracles import CostAwareCascade, RankedTopK

table = {  # the rate of solved issues, and the mean cost
    "Nemotron-3-Super": (0.620, 0.47),
    "DeepSeek-V3.2-Reasoner": (0.716, 0.16),
    "MiniMax-M2.7": (0.756, 0.18),
    "MiniMax-M3": (0.764, 0.17),
    "Kimi-K2.6": (0.746, 0.67),
    "Gemini-3-Flash": (0.746, 0.42),
    "Qwen3.6-Plus": (0.742, 1.54),
    "GPT-5.4": (0.756, 0.63),
    "Gemini-3.1-Pro": (0.768, 1.87),
    "GPT-5.5": (0.782, 1.52),
    "claude-opus-4-6": (0.768, 0.77),
    "claude-opus-4-8": (0.838, 0.75),
}
names, (rates, costs) = [*table], np.array([*table.values()]).T
issues, value, rng = 3_000, 2.0, np.random.default_rng(0)
difficulty = rng.standard_normal((issues, 1))
scores = np.sqrt(0.8) * difficulty + np.sqrt(0.2) * rng.standard_normal((issues, len(names)))
solves = scores < norm.ppf(rates)


def try_models(order, issue):
    """Return the model that solved the issue, or None, and the money spent."""
    spent = 0.0
    for model in order:
        spent += costs[model]
        if solves[issue, model]:
            return model, spent
    return None, spent


def play(oracle):
    """Return whether each issue was solved, and the money spent on it."""
    session, rows = Session(Learner(oracle), rng=0), []
    for issue in range(issues):
        ticket = session.ask()
        solver, spent = try_models(ticket.super_arm, issue)
        session.tell(oracle.feedback_of(ticket.super_arm, clicked=solver))
        rows.append((solver is not None, spent))
    print("last list:", ", ".join(names[model] for model in ticket))
    return np.array(rows)


def fixed(order):
    rows = [try_models(order, issue) for issue in range(issues)]
    return np.array([(solver is not None, spent) for solver, spent in rows])


oracle = CostAwareCascade(costs, value)
independent = oracle.solve(rates, rng)
runs = {
    "learned order and stop": play(oracle),
    "learned, the three best (RankedTopK)": play(RankedTopK(len(names), k=3)),
    "published rates as if independent": fixed(independent),
    "strongest model alone": fixed([names.index("claude-opus-4-8")]),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for name, rows in runs.items():
    worth = value * rows[:, 0] - rows[:, 1]
    left.plot(np.arange(300, issues + 1), np.convolve(worth, np.ones(300) / 300, "valid"), label=name)
    solved, spent = rows[500:].mean(axis=0)
    right.plot(spent, solved, "o")
    print(f"{name}: {solved:.1%} solved, {spent:.2f} dollars, worth {worth[500:].mean():.2f} dollars")
for k in range(1, len(independent) + 1):
    print(f"the first {k}: {(fixed(independent[:k])[500:] @ [value, -1.0]).mean():.2f}", end=", ")
left.set(xlabel="Issues (mean of 300)", ylabel="Value minus cost of an issue in dollars", ylim=(0, 1.7))
left.legend(fontsize="small")
right.set(xlabel="Dollars spent on an issue", ylabel="Issues solved")
plt.show()

# %%
# The learner stops after three cheap models: 87.2 % of the issues are solved for 25 cents each, worth 1.49 dollars. No
# first part of the list for independent answers is worth more than 1.51 dollars. The whole list solves more issues
# (94.0 %), but its last models cost more than they add, because the issues that reach them are difficult. The learner
# finds this out, because it observes a model only on issues that the models before it did not solve. A list of the
# three strongest models is worth 0.87 dollars, and the strongest model alone 0.93 dollars.
