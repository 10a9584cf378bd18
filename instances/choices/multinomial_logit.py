"""Multinomial logit: a customer buys one of the items that are offered, or none."""

from __future__ import annotations

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.compiled.forms import Kernel
from cmab.description import described
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.validation import frozen, shown, vector
from instances._valued_by_oracle import ValuedByOracle
from oracles import Assortment


class MultinomialLogit(ValuedByOracle):
    """A customer a round, who buys item i of those offered with probability ``v_i / (1 + sum v)``.

    What the round shows is said at `Assortment`: the item that was bought with outcome 1, or all that were
    offered with outcome 0. The reward is the revenue of the item. What a customer would rather have belongs
    to the round: policies meet the same customers.

    Parameters
    ----------
    attraction : array_like, shape (n_arms,)
        The v of each item, how often it is bought for each time that nothing is, in
        ``[0, oracle.max_attraction]``.
    oracle : Assortment
        The items' revenues, and how many may be offered.

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
        self.oracle = oracle
        self.n_arms = self.n_choices = oracle.n_arms
        self.attraction = frozen(vector("attraction", attraction, self.n_arms, 0.0, oracle.max_attraction))
        self.means = frozen(self.attraction / (1.0 + self.attraction))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, attraction=self.attraction)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Offer some items; refuses more than k, or none."""
        from instances.choices._kernels_logit import bought

        chosen = self.oracle.check_super_arm(super_arm)
        place = bought(chosen, len(chosen), round_key(rng), np.array(self.attraction))
        if place < 0:
            return Feedback.unchecked(chosen, np.zeros(len(chosen)), 0.0)
        item = chosen[place : place + 1]
        return Feedback.unchecked(item, np.ones(1), float(self.oracle.revenues[item[0]]))

    def kernel(self) -> Kernel:
        from instances.choices._kernels_logit import play_customer

        largest = np.array([self.oracle.max_attraction])
        reals = np.concatenate([largest, self.attraction, self.means, self.oracle.revenues])
        return Kernel(play_customer, np.array([self.n_arms]), reals)
