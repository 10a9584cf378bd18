"""
Order from clicks
=================

Ten items are shown in five positions, of which users examine the later ones less often. `TopRank` assumes
nothing about positions: it compares items that were shuffled within one block. CUCB and KL-UCB learn each
pair of item and position. Right: users click several items and leave when they are satisfied. If all items
above the last click count as examined, the attraction of items at later positions is overestimated.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

from cmab import CUCB, KLCUCB, TopRank, compare
from cmab.plotting import style
from instances import position_based_model

page = position_based_model(np.linspace(0.1, 0.8, 10), examination=0.8 ** np.arange(5))
learners = {"CUCB on pairs": CUCB(page.oracle), "KL-UCB on pairs": KLCUCB(page.oracle)}
learners["TopRank"] = TopRank(page.oracle, 1 / 3000, lists=np.arange(50).reshape(10, 5))
comparison = compare(learners, page, horizon=3000, replications=3, rng=0)

# All paths of a user through four items with attraction 0.5. A click satisfies the user with probability 0.5.
counted, clicked = np.zeros(4), np.zeros(4)
for coins in product((0, 1), repeat=8):
    ends = [place for place in range(4) if coins[place] and coins[4 + place]]
    clicks = np.array(coins[: ends[0] + 1 if ends else 4])
    last = np.flatnonzero(clicks)[-1] + 1 if clicks.any() else 4
    counted[:last] += 1
    clicked[:last] += clicks[:last]

with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.4))
    comparison.plot(ax=left)
    right.bar(np.arange(1, 5), clicked / counted, width=0.7, label="up to the last click")
    right.axhline(0.5, color="0.3", linestyle="--", label="truth")
    right.set(xlabel="Position", ylabel="Share of clicks", ylim=(0, 1.05))
    right.legend(loc="upper left")
plt.show()
