"""The position-based model: a user clicks an item if it is attractive and its position is examined."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import ArrayLike
from cmab.validation import real_array, vector
from instances.arms.arms import BernoulliArms
from instances.arms.semi_bandit import SemiBandit
from oracles import Matching


def position_based_model(attraction: ArrayLike, examination: ArrayLike) -> SemiBandit:
    """Return a semi-bandit of lists under the position-based click model.

    Base arm ``item * k + position`` is an item at a position. It is clicked with probability
    ``attraction[item] * examination[position]``. A super arm assigns a different item to each position. All
    clicks are observed, and the reward is the number of clicks.

    Parameters
    ----------
    attraction : array_like, shape (n_items,)
        Probability of a click on each item if the user looks at it, in [0, 1].
    examination : array_like, shape (k,)
        Probability that the user looks at each position, in [0, 1].

    Returns
    -------
    SemiBandit
        The environment. Its oracle is a `Matching` of items and positions with labels such as ``(2, 'position
        1')``.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import position_based_model
    >>> page = position_based_model([0.5, 0.25, 1.0], [1.0, 0.5])
    >>> best = page.oracle.solve(page.means, np.random.default_rng(0))
    >>> page.oracle.labels(best), page.optimum
    ([(0, 'position 2'), (2, 'position 1')], 1.25)

    References
    ----------
    M. Richardson, E. Dominowska, R. Ragno: Predicting Clicks: Estimating the Click-Through Rate for New Ads,
    WWW 2007. Lagree, Vernade and Cappe (NIPS 2016).
    """
    import networkx as nx

    items = vector("attraction", attraction, real_array("attraction", attraction).size, 0.0, 1.0)
    places = vector("examination", examination, real_array("examination", examination).size, 0.0, 1.0)
    if not 1 <= len(places) <= len(items):
        raise ValueError(
            f"examination must have from 1 to {len(items)} positions, one per item, got {len(places)}"
        )
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(range(len(items)))  # first, so that edges are sorted by item
    names = [f"position {j + 1}" for j in range(len(places))]
    graph.add_edges_from((i, name) for i in range(len(items)) for name in names)
    return SemiBandit(BernoulliArms(np.outer(items, places).ravel()), Matching(graph))
