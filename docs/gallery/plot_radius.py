"""
How wide should the radius be?
==============================

The proof of Algorithm 1 needs its radius. Section 3.2 of the paper proves smaller radii if every arm of the
super arm is always observed. In practice the radius is often scaled down further, without a guarantee. The
policies choose ten of a hundred arms, in twenty replications. The band contains the mean with 95 %
confidence.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CUCB, simulate
from cmab.bounds.radii import LogRadius
from cmab.plotting import regret_curves
from instances import BernoulliArms, SemiBandit
from oracles import TopK

oracle = TopK(100, k=10)
means = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 100))
environment = SemiBandit(BernoulliArms(means), oracle)
learners = {
    "Algorithm 1": CUCB(oracle),
    "2 ln t + ln ln t": CUCB(oracle, radius=LogRadius.tight()),
    "a third of the radius": CUCB(oracle, radius_factor=1 / 3),
}

regret_curves(
    {
        name: simulate(learner, environment, horizon=50_000, replications=20, rng=0)
        for name, learner in learners.items()
    },
    log=True,
)
plt.show()
