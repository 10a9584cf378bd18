"""
Budgets and their use
=====================

In each round, three of ten arms are played. Each arm uses two resources, and arms with large rewards use
most. Left: the mean reward over the whole horizon, compared with the best mixture of super arms within the
budgets (dashed). The policy with prices comes close to it. CUCB, which stops when a budget is used, spends
its budgets early on expensive arms. Right: the rest of the first budget during 1,000 rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import PrimalDualCUCB, Session, simulate
from instances import BernoulliArms, ResourceSemiBandit
from oracles import TopK

means, allowance = np.linspace(0.1, 1.0, 10), np.array([0.6, 0.9])
oracle = TopK(n_arms=10, k=3)
uses = [BernoulliArms(means**2), BernoulliArms(means * np.roll(means, 3))]
place = ResourceSemiBandit(BernoulliArms(means), oracle, uses=uses, allowance=allowance)


def learner(horizon, rate):
    return PrimalDualCUCB(oracle, allowance * horizon, horizon=horizon, radius_factor=0.3, rate=rate)


horizons, rates = [125, 250, 500, 1000], {"prices": 1.0, "no prices": 0.0}
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained")
for name, rate in rates.items():
    runs = [
        simulate(learner(t, rate), place, t, checkpoints=[t], replications=1000 // t, rng=0) for t in horizons
    ]
    earned = [run.expected_rewards.mean() / run.rounds[-1] for run in runs]
    left.plot(horizons, earned, "o-", label=name)
    print(name, *(f"{reward:.2f}" for reward in earned), "left:", runs[-1].budgets_left[0])
    session, coins, course = Session(learner(1000, rate), rng=0), np.random.default_rng(0), []
    while len(course) < 1000 and not session.is_done:
        ticket = session.ask()
        session.tell(place.play(ticket.super_arm, coins))
        course.append(session.policy.budgets_left(session.state)[0])
    right.plot(course, label=name)
left.axhline(place.optimum, color="gray", linestyle="--", linewidth=1)
left.set(xscale="log", xlabel="Horizon in rounds", ylabel="Mean reward of a round", ylim=(0, 1.6))
left.set_xticks(horizons, labels=horizons)
left.minorticks_off()
right.set(xlabel="Round", ylabel="Left of the first budget")
left.legend()
plt.show()
