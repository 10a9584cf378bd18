"""
The value of features
=====================

The means of two hundred arms are linear in five known features. Policies that learn the five coefficients
find the best five arms while CUCB still tries each arm. The band contains the mean with 95 % confidence.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import C2UCB, CTS, CUCB, CombLinTS, simulate
from cmab.plotting import regret_curves
from instances import BernoulliArms, SemiBandit
from oracles import TopK

rng = np.random.default_rng(0)
features = np.abs(rng.standard_normal((200, 5)))
features /= np.linalg.norm(features, axis=1, keepdims=True)
coefficients = np.array([0.0, 0.1, 0.3, 0.5, 0.7])
oracle = TopK(200, k=5)
environment = SemiBandit(BernoulliArms(features @ coefficients), oracle)
learners = {
    "CUCB": CUCB(oracle),
    "CTS": CTS(oracle),
    "C2UCB, radius 0.5": C2UCB(oracle, features, radius=0.5),
    "CombLinTS": CombLinTS(oracle, features),
}

regret_curves(
    {
        name: simulate(learner, environment, horizon=600, replications=3, rng=0)
        for name, learner in learners.items()
    }
)
plt.show()
