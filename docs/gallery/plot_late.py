"""
Late feedback
=============

The feedback of a round arrives some rounds later. Until then, a deterministic policy plays the same super
arm. Randomised policies continue to explore and lose less. Three of twelve arms are played in each round. The
figure shows the regret after 1,000 rounds, as the mean of three replications.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CTS, CUCB, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK

oracle = TopK(n_arms=12, k=3)
means = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 12))
environment = SemiBandit(BernoulliArms(means), oracle)
learners = {
    "CUCB": CUCB(oracle),
    "Thompson, one number a round": CTS(oracle, coupling="shared"),
    "Thompson": CTS(oracle),
}
delays = [0, 50, 100, 200]
for name, learner in learners.items():
    settings = {"replications": 3, "checkpoints": [1000], "rng": 0}
    regrets = [simulate(learner, environment, 1000, delay=delay, **settings).regret for delay in delays]
    plt.plot(delays, [regret.mean() for regret in regrets], "o-", label=name)
    print(name, *(round(float(regret.mean())) for regret in regrets))
plt.xlabel("Delay in rounds")
plt.ylabel("Regret after 1,000 rounds")
plt.legend()
plt.show()
