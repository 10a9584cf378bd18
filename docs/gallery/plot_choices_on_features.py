"""
What to offer of a hundred items
================================

Items are known by four features, and what attracts customers is linear in them. UCB-MNL and TS-MNL learn five coefficients, and
with them what nobody was offered; MNL-UCB, here with the factor that served it best of three, learns item by item. On the right what
UCB-MNL takes for the attraction of each item after 600 customers, against the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import MNLUCB, ContextualMNLTS, ContextualMNLUCB, compare
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
    "TS-MNL": ContextualMNLTS(shop, features),
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
