"""
Plan the number of samples
==========================

Which of five subject lines do most readers open? `plan` runs the rules on guessed rates and plots the number
of samples against the error probability, with the lower bound for any rule. For each factor of ten in the
error probability, the number of samples increases by a constant. The proven rule that assumes Bernoulli arms
needs the fewest samples.
"""

import matplotlib.pyplot as plt

from cmab import LUCB1, BernsteinLUCB, BestKGLR, LilRandLUCB, plan
from instances import BernoulliArms

guess = BernoulliArms([0.18, 0.10, 0.30, 0.15, 0.20])
rules = {
    "LUCB1": LUCB1(5, 1, delta=0.1),
    "LUCB, variances": BernsteinLUCB(5, 1, delta=0.1),
    "lil'RandLUCB": LilRandLUCB(5, 1, delta=0.1),
    "BestKGLR, coins": BestKGLR(5, 1, delta=0.1, family="bernoulli"),
}

planned = plan(rules, guess, deltas=(0.1, 0.01, 0.001), replications=6, rng=0)
print(planned)
planned.plot()
plt.show()
