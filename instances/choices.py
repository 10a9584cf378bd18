"""Purchases by multinomial logit: a customer buys at most one of the offered items."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.compiled import Kernel, keyed_uniform, lean_kernel, play_kernel
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.oracle import check_super_arm
from cmab.parameters import described
from cmab.validation import frozen, shown, vector
from instances._bernoulli import ValuedByOracle
from oracles import Assortment
from oracles.choices import revenue_of


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
