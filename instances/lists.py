"""Clicks on a list, by the cascade model and the position-based model, and purchases by multinomial logit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.compiled import Kernel, keyed_uniform, keyed_uniforms, lean_kernel, play_kernel
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.oracle import check_super_arm
from cmab.parameters import described
from cmab.validation import frozen, real_array, shown, vector
from instances.arms import BernoulliArms, SemiBandit, ValuedByOracle
from oracles import Assortment, Matching, RankedTopK
from oracles.choices import revenue_of
from oracles.lists import list_worth


@play_kernel
def play_list(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """Play the list until the user stops; `integers` says if success stops, `reals` has the means."""
    is_disjunctive = integers[0] == 1
    stop = 1.0 if is_disjunctive else 0.0
    seen, outcome = 0, 1.0 - stop
    while seen < size and outcome != stop:
        arms[seen] = super_arm[seen]
        # The outcome depends only on (round, arm), so all policies observe the same outcome in a round.
        outcome = 1.0 if keyed_uniform(key, super_arm[seen]) < reals[super_arm[seen]] else 0.0
        outcomes[seen] = outcome
        seen += 1
    # Disjunctive: one success is enough. Conjunctive: all entries must succeed.
    totals[0] = 1.0 if (outcome == stop) == is_disjunctive else 0.0
    totals[1] = list_worth(super_arm, size, reals, is_disjunctive)
    return seen


class CascadeModel(ValuedByOracle):
    """A user looks at the entries of a list from the top and stops at the first one that decides the reward.

    If the reward is disjunctive, the user clicks the first entry that attracts him or her. The entries above
    it have outcome 0, and the entries below it are not observed. The reward is 1 if there is a click and 0
    otherwise. If the reward is conjunctive, the user stops at the first entry that fails, and the reward is 1
    if all entries succeed and 0 otherwise. The outcome of an arm depends only on the round and the arm, so
    all policies that play it in a round see the same outcome.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        Probability that each arm attracts the user (or succeeds), in [0, 1].
    oracle : RankedTopK
        The family of lists, and the kind of the reward.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import CascadeModel
    >>> from oracles import RankedTopK
    >>> page = CascadeModel([0.25, 0.5, 0.75, 0.5], RankedTopK(4, k=3))
    >>> page.optimum
    0.9375
    >>> seen = page.play(np.array([0, 2, 1]), np.random.default_rng(0))
    >>> seen.arms, seen.outcomes, seen.reward
    (array([0, 2]), array([0., 1.]), 1.0)

    References
    ----------
    N. Craswell, O. Zoeter, M. Taylor, B. Ramsey: An experimental comparison of click position-bias models,
    WSDM 2008. Kveton et al., ICML and NIPS 2015, as in `RankedTopK`.
    """

    oracle: RankedTopK

    def __init__(self, means: ArrayLike, oracle: RankedTopK) -> None:
        if not isinstance(oracle, RankedTopK):
            raise ValueError(f"oracle must be a RankedTopK, got {shown(oracle)}")
        super().__init__(oracle, "means", means)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Show a list of k arms; raise ``ValueError`` if `super_arm` is not feasible."""
        chosen = check_super_arm(self.oracle, super_arm)
        successes = keyed_uniforms(round_key(rng), chosen) < self.means[chosen]
        is_disjunctive = self.oracle.reward == "disjunctive"
        settling = np.flatnonzero(successes == is_disjunctive)
        seen = int(settling[0]) + 1 if len(settling) else len(chosen)
        reward = float((len(settling) > 0) == is_disjunctive)
        return Feedback.unchecked(chosen[:seen], successes[:seen].astype(np.float64), reward)

    def kernel(self) -> Kernel:
        return Kernel(play_list, np.array([int(self.oracle.reward == "disjunctive")]), self.means.copy())


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


@lean_kernel
def bought(super_arm, size, key, attractions):
    """Return the position in `super_arm` of the item that is bought, -1 if no item is bought."""
    # Of independent exponential times with rates v_i, the first is that of i with probability v_i / sum v.
    # The time of an item depends only on (round, item). The time of buying nothing, with rate 1, depends on
    # the round.
    first, place = -math.log1p(-keyed_uniform(key, attractions.shape[0])), -1
    for j in range(size):
        v = attractions[super_arm[j]]
        if v > 0.0:
            time = -math.log1p(-keyed_uniform(key, super_arm[j])) / v
            if time < first:
                first, place = time, j
    return place


@play_kernel
def play_customer(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """The compiled form of `MultinomialLogit.play`; `reals` has max_attraction, v, means and revenues."""
    m = integers[0]
    means, revenues = reals[m + 1 : 2 * m + 1], reals[2 * m + 1 :]
    place = bought(super_arm, size, key, reals[1 : m + 1])
    totals[1] = revenue_of(super_arm, size, means, revenues, reals[0])
    if place >= 0:
        arms[0], outcomes[0] = super_arm[place], 1.0
        totals[0] = revenues[super_arm[place]]
        return 1
    for j in range(size):
        arms[j], outcomes[j] = super_arm[j], 0.0
    totals[0] = 0.0
    return size


class MultinomialLogit(ValuedByOracle):
    """One customer per round buys the offered item i with probability ``v_i / (1 + sum of offered v)``.

    If an item is bought, the feedback is outcome 1 for this item only. If no item is bought, it is outcome 0
    for all offered items (see `Assortment`). The reward is the revenue of the bought item. The preferences of
    a customer depend only on the round, so all policies meet the same customers.

    Parameters
    ----------
    attraction : array_like, shape (n_arms,)
        The attraction v of each item, in ``[0, oracle.max_attraction]``. If the item alone is offered, it is
        bought v times as often as nothing is bought.
    oracle : Assortment
        The revenues of the items and the largest number of offered items.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import MultinomialLogit
    >>> from oracles import Assortment
    >>> shop = MultinomialLogit([1.0, 0.5, 0.125], Assortment([4.0, 6.0, 10.0], k=2))
    >>> shop.optimum, shop.means.round(3)
    (2.8, array([0.5  , 0.333, 0.111]))
    >>> sale = shop.play(np.array([0, 1]), np.random.default_rng(0))
    >>> sale.arms, sale.outcomes, sale.reward
    (array([0, 1]), array([0., 0.]), 0.0)

    References
    ----------
    R. D. Luce: Individual Choice Behavior (1959). Agrawal et al. (2019), as in `Assortment`.
    """

    oracle: Assortment

    def __init__(self, attraction: ArrayLike, oracle: Assortment) -> None:
        if not isinstance(oracle, Assortment):
            raise ValueError(f"oracle must be an Assortment, got {shown(oracle)}")
        self.attraction = frozen(vector("attraction", attraction, oracle.n_arms, 0.0, oracle.max_attraction))
        super().__init__(oracle, "means", self.attraction / (1.0 + self.attraction))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, attraction=self.attraction)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Offer between 1 and k items; raise ``ValueError`` if `super_arm` is not feasible."""
        chosen = check_super_arm(self.oracle, super_arm)
        place = bought(chosen, len(chosen), round_key(rng), np.array(self.attraction))
        if place < 0:
            return Feedback.unchecked(chosen, np.zeros(len(chosen)), 0.0)
        item = chosen[place : place + 1]
        return Feedback.unchecked(item, np.ones(1), float(self.oracle.revenues[item[0]]))

    def kernel(self) -> Kernel:
        largest = np.array([self.oracle.max_attraction])
        reals = np.concatenate([largest, self.attraction, self.means, self.oracle.revenues])
        return Kernel(play_customer, np.array([self.n_arms]), reals)
