"""
A knapsack in PuLP
==================

Every PuLP model with binary variables is an oracle. PuLP describes the feasible sets, and the indices of the
policy are the coefficients of the objective. Here projects have known weights and unknown success
probabilities. In each round, the policy starts a set of projects within the budget.
"""

import matplotlib.pyplot as plt
import numpy as np
import pulp

from cmab import CTS, CUCB, simulate
from cmab.plotting import regret_curves
from instances import BernoulliArms, SemiBandit
from oracles import PuLPOracle

rng = np.random.default_rng(4)
weights = rng.integers(1, 9, 15)
problem = pulp.LpProblem("projects", pulp.LpMaximize)
x = [problem.add_variable(f"project{i}", cat="Binary") for i in range(15)]
problem += pulp.lpSum(int(w) * v for w, v in zip(weights, x, strict=True)) <= 25
problem += x[0] + x[1] <= 1  # at most one of these two
oracle = PuLPOracle(problem, x)
environment = SemiBandit(BernoulliArms(rng.uniform(0.1, 0.9, 15)), oracle)

policies = {"CUCB": CUCB(oracle), "Thompson": CTS(oracle)}
regret_curves(
    {
        name: simulate(policy, environment, horizon=50, replications=3, rng=0)
        for name, policy in policies.items()
    }
)
plt.show()
