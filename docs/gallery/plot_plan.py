"""
Samples against the chance of error, on an instance of yours
============================================================

Which of five subject lines is opened most? A guess of the rates is enough to say how many letters each rule
would take, and what no rule can do without: `plan` runs the rules on the guess and draws it. The lines rise
by the same number of samples for each factor of ten in the chance of error, and the proven stops that know of coins
start lowest.
"""

import matplotlib.pyplot as plt

from cmab import KLLUCB, LUCB1, BestKGLR, LilRandLUCB, TrackAndStop, plan
from instances import BernoulliArms

guess = BernoulliArms([0.18, 0.10, 0.30, 0.15, 0.20])
rules = {
    "LUCB1": LUCB1(5, 1, delta=0.1),
    "KL-LUCB": KLLUCB(5, 1, delta=0.1),
    "lil'RandLUCB": LilRandLUCB(5, 1, delta=0.1),
    "BestKGLR, coins": BestKGLR(5, 1, delta=0.1, family="bernoulli"),
    "Track-and-Stop, coins": TrackAndStop(5, delta=0.1, family="bernoulli"),
}

planned = plan(rules, guess, deltas=(0.1, 0.01, 0.001), replications=6, rng=0)
print(planned)
planned.plot()
plt.show()
