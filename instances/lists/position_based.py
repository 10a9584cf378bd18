"""The position-based model: a click needs an item that attracts, at a position that is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import ArrayLike
from cmab.validation import real_array, vector
from instances.arms.arms import BernoulliArms
from instances.arms.semi_bandit import SemiBandit
from oracles import Matching


def position_based_model(attraction: ArrayLike, examination: ArrayLike) -> SemiBandit:
    """Return the semi-bandit of lists whose positions are looked at more or less often.

    Base arm ``item * k + position`` is an item at a position, and is clicked with probability
    ``attraction[item] * examination[position]``. A super arm gives each position another item; all its clicks
    are seen, and the reward is their number.

    Parameters
    ----------
    attraction : array_like, shape (n_items,)
        Probability that a user who looks at an item clicks it, in [0, 1].
    examination : array_like, shape (k,)
        Probability that a user looks at a position, in [0, 1].

    Returns
    -------
    SemiBandit
        With a `Matching` of items and positions as its oracle; labels are as ``(2, 'position 1')``.

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
            f"examination must have from 1 to {len(items)} positions, one item each, got {len(places)}"
        )
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(range(len(items)))  # first, so that edges are listed item by item
    names = [f"position {j + 1}" for j in range(len(places))]
    graph.add_edges_from((i, name) for i in range(len(items)) for name in names)
    return SemiBandit(BernoulliArms(np.outer(items, places).ravel()), Matching(graph))
