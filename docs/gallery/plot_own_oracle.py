"""
An oracle of your own
=====================

The super arms of this oracle are windows of neighbouring arms. The class has ten lines.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CUCB, LinearOracle, simulate
from cmab.plotting import looks, style
from cmab.testing import check_oracle
from instances import BernoulliArms, SemiBandit


class Window(LinearOracle):
    """An oracle for windows of `width` neighbouring arms."""

    def __init__(self, n_arms, width):
        self.n_arms, self.width = n_arms, width

    def solve(self, means, rng):
        sums = np.convolve(means, np.ones(self.width), mode="valid")
        return np.argmax(sums) + np.arange(self.width)


# %%
# Check the oracle. The list contains all windows, so the check is exhaustive.

check_oracle(Window(8, 3), super_arms=[range(first, first + 3) for first in range(6)])

# %%
# Every policy works with the oracle.

x = np.linspace(0, 1, 60)
means = 0.5 + 0.3 * np.sin(7 * x) * np.cos(3 * x)
oracle = Window(60, 8)
result = simulate(CUCB(oracle), SemiBandit(BernoulliArms(means), oracle), horizon=20_000, rng=0)

chosen = result.super_arms[0]
with style():
    figure, axes = plt.subplots()
    axes.plot(means, color="0.6", label="true means")
    axes.plot(result.states[0].means, ".", label="estimates", color=looks(["CUCB"])["CUCB"]["color"])
    axes.axvspan(chosen[0] - 0.5, chosen[-1] + 0.5, alpha=0.2, color="0.3", label="chosen at last")
    axes.set(xlabel="Base arm", ylabel="Mean")
    axes.legend(frameon=False)
plt.show()
