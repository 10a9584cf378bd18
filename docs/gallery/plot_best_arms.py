"""
Which arms are best?
====================

Pure exploration: sample until the two best of ten arms are certain. Rules with an iterated-logarithm radius take
little more than half of LUCB1's samples; among them ten arms and twelve runs (the dots) show no difference. Where
randomising between the two critical arms pays is told under "Reproducing the papers".
"""

import matplotlib.pyplot as plt

from cmab import LUCB1, LilLUCB, LilRandLUCB, LUCBPlusPlus, identify
from cmab.plotting import sample_bars
from instances import GaussianArms, two_groups

arms = GaussianArms(two_groups(10, 2, high=0.5, low=0.0), sigma=0.5)
explorers = {
    "LUCB1": LUCB1(10, 2, delta=0.01),
    "lil'LUCB": LilLUCB(10, 2, delta=0.01),
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
