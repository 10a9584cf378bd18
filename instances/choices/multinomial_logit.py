"""Multinomial logit: a customer buys at most one of the offered items."""

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
    """One customer per round, who buys the offered item i with probability ``v_i / (1 + sum of offered v)``.

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
        self.oracle = oracle
        self.n_arms = self.n_choices = oracle.n_arms
        self.attraction = frozen(vector("attraction", attraction, self.n_arms, 0.0, oracle.max_attraction))
        self.means = frozen(self.attraction / (1.0 + self.attraction))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, attraction=self.attraction)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Offer between 1 and k items; raise ``ValueError`` if `super_arm` is not feasible."""
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
