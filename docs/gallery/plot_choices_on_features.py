"""
Which of a hundred items to offer
=================================

Items have four known features, and the attraction of an item is linear in them. UCB-MNL learns five
coefficients, and thereby the attractions of items that were never offered. MNL-UCB (with the best of three
factors) learns each item separately. Right: the attractions that UCB-MNL estimates after 600 customers,
against the true attractions.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import MNLUCB, ContextualMNLUCB, compare
from cmab.plotting import style
from instances import MultinomialLogit
from oracles import Assortment

rng = np.random.default_rng(4)
directions = rng.normal(size=(100, 4))
directions /= np.linalg.norm(directions, axis=1, keepdims=True)
features = np.column_stack([directions, np.ones(100)]) / 2**0.5
shop = Assortment(rng.uniform(0.1, 1.0, 100), k=5)
customers = MultinomialLogit(np.exp(features @ [1.0, -1.5, 0.5, 1.0, -3.0]), shop)
learners = {
    "UCB-MNL, factor 0.1": ContextualMNLUCB(shop, features, radius_factor=0.1),
    "MNL-UCB, factor 0.5": MNLUCB(shop, log_factor=0.5),
}
comparison = compare(learners, customers, horizon=600, replications=4, rng=0)

state = comparison["UCB-MNL, factor 0.1"].states[0]
learned = np.exp(state.posterior().means(features))
best = shop.solve(customers.means, 0)
with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.4))
    comparison.plot(ax=left)
    others = np.setdiff1d(np.arange(100), best)
    right.axline((0, 0), slope=1, color="0.7", linewidth=1)
    right.scatter(customers.attraction[others], learned[others], s=12, label="not in the best assortment")
    right.scatter(customers.attraction[best], learned[best], s=24, marker="s", label="best assortment")
    right.set(xlabel="Attraction", ylabel="Attraction, as learned", xlim=(0, None), ylim=(0, None))
    right.legend(loc="upper left")
plt.show()
