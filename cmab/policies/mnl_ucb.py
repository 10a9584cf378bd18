"""MNL-UCB: an assortment is offered until a customer buys nothing."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import real
from cmab.policies._epochs import Epochs, EpochStatistics, bought


@dataclass(frozen=True, eq=False)
class MNLUCB(Epochs):
    """Optimism for multinomial logit choice in epochs, for `oracles.Assortment`.

    Use this policy for choices from an assortment if choices must be deterministic.

    An epoch offers one assortment until a customer buys nothing. In an epoch with item i, the item is bought
    ``v_i`` times in expectation. This number is geometric and independent of the other offered items. Let l
    be the number of completed epochs, T_i the number of those with the item, and v its mean number of
    purchases, and m the number of items. The oracle receives the attractions ``min(v + sqrt(48 v ln(sqrt(m) l
    + 1) / T_i) + 48 ln(sqrt(m) l + 1) / T_i, max_attraction)``, and `max_attraction` for items that were
    never offered. The regret in n rounds is ``O(sqrt(m n ln(m n)) + m ln(m n)^2)``. With the constant 48 of
    the theorem, the policy hardly learns in the first ten thousand rounds, so smaller constants are used in
    practice.

    `CUCB` with the same oracle learns from each customer. If an item of the assortment is unavailable in a
    context, the customer is offered the best available assortment instead, based on all purchases including
    those of the current epoch. For costs, which are not choices, the rule is the mirror image with epochs of
    one round.

    Parameters
    ----------
    oracle : Oracle
        The family of assortments. Its base arms are comparisons of an item with no purchase, with means
        ``v / (1 + v)``.
    log_factor : float
        The constant 48 above.
    max_attraction : float
        Largest v, at least 0. It must equal `max_attraction` of the oracle.

    Examples
    --------
    >>> from cmab import MNLUCB, simulate
    >>> from instances import MultinomialLogit
    >>> from oracles import Assortment
    >>> shop = Assortment([1.0, 1.0, 1.0, 1.0], k=2)
    >>> customers = MultinomialLogit([0.1, 0.7, 0.2, 0.9], shop)
    >>> run = simulate(MNLUCB(shop, log_factor=0.5), customers, 4000, rng=0)
    >>> run.states[0].super_arm
    array([1, 3])

    References
    ----------
    S. Agrawal, V. Avadhanula, V. Goyal, A. Zeevi: MNL-Bandit: A Dynamic Learning Approach to Assortment
    Selection, Operations Research 67 (2019), Algorithm 1. The constants were read in a public implementation.
    """

    _: KW_ONLY
    log_factor: float = field(default=48.0, metadata=real(0.0))

    def attractions(self, state: EpochStatistics) -> FloatArray:
        """Return the bound on each item's attraction, shape (n_arms,). `state` is not changed."""
        mean, over = bought(state)
        term = self.log_factor * math.log(math.sqrt(state.n_arms) * state.epochs + 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Agrawal et al. (2019), equation 6; for costs, the mirror image.
            bound = mean + self.oracle.sign * (np.sqrt(term * mean / over) + term / over)
        return self._bounded(state, over, bound)
