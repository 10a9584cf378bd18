"""
Which items to offer
====================

There are twelve items and at most four on the shelf. Customers buy one item or none. Thompson sampling and
CUCB learn from every customer how each item compares with no purchase. MNL-UCB keeps an offer until a
customer buys nothing. With its proven factor of 48, it has not yet learned anything.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CTS, CUCB, MNLUCB, compare
from cmab.plotting import style
from instances import MultinomialLogit
from oracles import Assortment

rng = np.random.default_rng(1)
shop = Assortment(revenues=rng.uniform(0.4, 0.6, 12), k=4)
customers = MultinomialLogit(rng.uniform(0.05, 0.9, 12), shop)
learners = {"Thompson": CTS(shop), "CUCB": CUCB(shop)}
learners |= {"MNL-UCB": MNLUCB(shop), "MNL-UCB, factor 1": MNLUCB(shop, log_factor=1.0)}
comparison = compare(learners, customers, horizon=4000, replications=4, rng=0)

best = shop.solve(customers.means, 0)
with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.4))
    comparison.plot(ax=left)
    others = np.setdiff1d(np.arange(12), best)
    right.scatter(customers.attraction[others], shop.revenues[others], label="not offered")
    right.scatter(customers.attraction[best], shop.revenues[best], marker="s", label="best assortment")
    right.set(xlabel="Attraction", ylabel="Revenue", xlim=(0, 1), ylim=(0.35, 0.7))
    right.legend(loc="upper left")
plt.show()
