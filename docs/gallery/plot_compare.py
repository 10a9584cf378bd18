"""
Compare learners in one call
============================

The learners choose ten of a hundred arms. `compare` runs all learners on the same outcomes, ranks them, and
tests their differences. The table and the figure come from one object.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CTS, CUCB, Learner, RandomPolicy, compare
from instances import BernoulliArms, SemiBandit
from oracles import TopK

means = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 100))
oracle = TopK(n_arms=100, k=10)
environment = SemiBandit(BernoulliArms(means), oracle)

learners = {
    "Learner": Learner(oracle),
    "CUCB": CUCB(oracle),
    "Thompson": CTS(oracle),
    "Random": RandomPolicy(oracle),
}
comparison = compare(learners, environment, horizon=2000, replications=10, rng=0)
comparison.plot()
plt.show()

# %%
# The same comparison as a table. `comparison.tests()` compares all pairs. `table("latex_booktabs")`, `to_frame`
# and `save` export the result.

print(comparison.table())
