"""
Which fares to offer
====================

A survey recorded how travellers went from Montreal to Toronto. A logit model fitted to the survey predicts
how many would take a train, a plane or a bus at another fare instead of a car. Learners find the four fares
with the largest revenue. If the survey is missing on the machine that builds this page, attractions that
decrease with the fare are simulated, and the title of the figure says so.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CTS, CUCB, compare
from cmab.plotting import style
from instances import MultinomialLogit
from instances.datasets import travel_offers, travel_survey
from oracles import Assortment

try:
    travellers = travel_offers(travel_survey(), k=4)
    title = "survey of 1989"
except FileNotFoundError:
    fares = np.linspace(20.0, 300.0, 18)
    noise = np.random.default_rng(0).uniform(0.5, 1.0, 18)
    travellers = MultinomialLogit(noise * np.exp(-fares / 100.0), Assortment(fares, k=4))
    title = "drawn: the data is not here"

shop = travellers.oracle
learners = {"Thompson": CTS(shop), "CUCB": CUCB(shop)}
comparison = compare(learners, travellers, horizon=2000, replications=4, rng=0)

best = shop.solve(travellers.means, 0)
others = np.setdiff1d(np.arange(shop.n_arms), best)
with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.4))
    comparison.plot(ax=left)
    left.set_ylabel("Cumulative regret (dollars)")
    right.scatter(travellers.attraction[others], shop.revenues[others], label="not offered")
    right.scatter(travellers.attraction[best], shop.revenues[best], marker="s", label="best offers")
    right.set(xlabel="Sales for each traveller who drives", ylabel="Fare (dollars)", title=title)
    right.legend()
plt.show()
