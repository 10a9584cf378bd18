"""
An oracle that fails
====================

An oracle may fail with probability :math:`1 - \\beta`. The approximation regret is measured against
:math:`\\alpha \\beta` times the optimum, so it allows for failures of the oracle. It may be negative, because a
failed call still has a reward. The regret against the optimum itself grows linearly.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CUCB, simulate
from cmab.plotting import curves_with_bands
from instances import BernoulliArms, SemiBandit
from oracles import TopK


class Unreliable(TopK):
    """An oracle that returns a random super arm with probability 0.2, and declares it."""

    beta = 0.8

    def solve(self, means, rng):
        if rng.random() < 1 - self.beta:
            return np.sort(rng.permutation(self.n_arms)[: self.k])
        return super().solve(means, rng)


means = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 20))
environment = SemiBandit(BernoulliArms(means), TopK(20, k=4))
result = simulate(CUCB(Unreliable(20, k=4)), environment, horizon=5000, replications=10, rng=0)

curves = {"against αβ times the optimum": result.regret, "against the optimum": result.exact_regret}
axes = curves_with_bands(
    {name: (result.rounds, regret) for name, regret in curves.items()},
    x_label="Round",
    y_label="Cumulative regret",
)
axes.axhline(0, color="gray", linewidth=0.8)
plt.show()
