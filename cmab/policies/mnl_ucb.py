"""MNL-UCB: one assortment until somebody buys nothing."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import real
from cmab.policies._epochs import Epochs, EpochStatistics, bought
from cmab.renamed import former_parameters


@former_parameters
@dataclass(frozen=True, eq=False)
class MNLUCB(Epochs):
    """Optimism for multinomial logit choice, an epoch at a time: for `oracles.Assortment`.

    An assortment is offered until a customer buys nothing. In such an epoch item i is bought ``v_i`` times in
    expectation (a geometric number, whatever else is offered). After l epochs, T_i of which had the item, of
    mean ``v``, the oracle is given ``min(v + sqrt(48 v ln(sqrt(m) l + 1) / T_i) + 48 ln(sqrt(m) l + 1) / T_i,
    max_attraction)`` as attractions, `max_attraction` for items never offered. The regret in n rounds is
    ``O(sqrt(m n ln(m n)) + m ln(m n)^2)``. The 48 is the theorem's: nothing is learned by it in the first ten
    thousand rounds or so, and smaller factors are what is run. `CUCB` on the same oracle learns from each
    customer. Where a context leaves out some of the assortment, the customer is offered the best of what is
    left, by all purchases so far, those of the epoch under way included. For costs, which are no choices, it
    is the mirror image with epochs of one round.

    Parameters
    ----------
    oracle : Oracle
        The assortments; its base arms are comparisons with nothing, of means ``v / (1 + v)``.
    log_factor : float
        The 48 above.
    max_attraction : float
        Largest v, at least 0: that of the oracle.

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
        """Return the bound on each item's attraction, shape (n_arms,); `state` is left unchanged."""
        mean, over = bought(state)
        term = self.log_factor * math.log(math.sqrt(state.n_arms) * state.epochs + 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Agrawal et al. (2019), equation 6; for costs the mirror image.
            bound = mean + self.oracle.sign * (np.sqrt(term * mean / over) + term / over)
        return self._bounded(state, over, bound)
