"""
Which arms are best?
====================

Pure exploration samples arms until the two best of ten arms are certain. Rules with an iterated-logarithm
radius need little more than half of the samples of LUCB1. With ten arms and twelve runs (the dots), these
rules do not differ from each other. The page on reproductions shows instances in which lil'RandLUCB, which
samples one of the two critical arms at random, needs fewer samples.
"""

import matplotlib.pyplot as plt

from cmab import LUCB1, LilRandLUCB, LUCBPlusPlus, identify
from cmab.plotting import sample_bars
from instances import GaussianArms

arms = GaussianArms([0.5] * 2 + [0.0] * 8, sigma=0.5)
explorers = {
    "LUCB1": LUCB1(10, 2, delta=0.01),
    "LUCB++": LUCBPlusPlus(10, 2, delta=0.01),
    "lil'RandLUCB": LilRandLUCB(10, 2, delta=0.01),
}

found = {
    name: identify(explorer, arms, replications=12, rng=0, max_samples=100_000)
    for name, explorer in explorers.items()
}
assert all(one.correct.all() for one in found.values())
sample_bars(found)
plt.show()
