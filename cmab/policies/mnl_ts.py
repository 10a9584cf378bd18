"""MNL-TS: Thompson sampling for choices, one draw an epoch."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import integer, real
from cmab.policies._epochs import KEYS, Epochs, EpochStatistics, bought
from cmab.renamed import former_parameters

#: The largest change of an attraction that breaks a tie, as a share of the largest attraction.
SHARE = 2.0**-40


@former_parameters
@dataclass(frozen=True, eq=False)
class MNLTS(Epochs):
    """Thompson sampling for multinomial logit choice, an epoch at a time: for `oracles.Assortment`.

    As `MNLUCB` it offers an assortment until a customer buys nothing, and treats contexts as it does. Of the
    epochs that are over, T_i had item i, which was bought ``v`` times in each on average. For the next one a
    single number z is drawn, the largest of k standard normal ones, and the oracle is given ``v +
    deviation_factor z (sqrt(50 v (v + 1) / T_i) + 75 sqrt(ln(k horizon)) / T_i)`` as attractions, cut to
    ``[0, max_attraction]``, and `max_attraction` for items never offered, less at most 1e-12 of it, which
    breaks ties at random. One number for all items keeps their draws together: the best assortment is
    overrated as often as a single item is, and the largest of k makes that likely. The regret in T = horizon
    rounds is ``O(sqrt(m T) ln(k T) + m ln(k T)^2)`` with ``deviation_factor=1``, if no v exceeds 1. 50 and 75
    are the theorem's; a few hundredths of them are what learns fast. With `deviation_factor` 0 an item that
    happened not to be bought may be gone for ever. `CTS` on the same oracle is the paper's other algorithm,
    Beta posteriors of ``1 / (1 + v)``, but for its epochs: it draws anew for each customer. For costs, which
    are no choices, it is the mirror image with epochs of one round.

    Parameters
    ----------
    oracle : Oracle
        The assortments; its base arms are comparisons with nothing, of means ``v / (1 + v)``.
    horizon : int
        Number of rounds that the draws are wide enough for, at least 1.
    deviation_factor : float
        What the width of the draws is multiplied by, at least 0.
    max_attraction : float
        Largest v, at least 0: that of the oracle.

    Examples
    --------
    >>> from cmab import MNLTS, simulate
    >>> from instances import MultinomialLogit
    >>> from oracles import Assortment
    >>> shop = Assortment([1.0, 1.0, 1.0, 1.0], k=2)
    >>> customers = MultinomialLogit([0.1, 0.7, 0.2, 0.9], shop)
    >>> run = simulate(MNLTS(shop, 4000, deviation_factor=0.02), customers, 4000, rng=0)
    >>> run.states[0].super_arm
    array([1, 3])

    References
    ----------
    S. Agrawal, V. Avadhanula, V. Goyal, A. Zeevi: Thompson Sampling for the MNL-Bandit, COLT 2017: the
    algorithm with correlated sampling. The constants were read in a public implementation; the bound is from
    memory. In place of its first rounds, one item at a time, unseen items have the largest attraction.
    """

    horizon: int = field(metadata=integer(1))
    _: KW_ONLY
    deviation_factor: float = field(default=1.0, metadata=real(0.0))

    def initial_state(self, rng: np.random.Generator | None = None) -> EpochStatistics:
        """Return empty statistics, with the key of the run if there is a generator."""
        state = EpochStatistics.empty(self.oracle.n_arms)
        state.key = 0 if rng is None else int(rng.integers(KEYS))
        return state

    def attractions(self, state: EpochStatistics) -> FloatArray:
        """Return the draw of the epoch for each item, shape (n_arms,); `state` is left unchanged."""
        k = max(1, self.oracle.max_size)
        # A stream of its own: the oracle may draw from that of the epoch.
        rng = np.random.default_rng([state.key, state.epochs, 1])
        largest = float(rng.standard_normal(k).max())
        mean, over = bought(state)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Agrawal et al. (2017), Algorithm 2; for costs the mirror image.
            width = np.sqrt(50.0 * mean * (mean + 1.0) / over)
            width += 75.0 * math.sqrt(math.log(k * self.horizon)) / over
            drawn = mean + self.oracle.sign * self.deviation_factor * largest * width
        bounded = self._bounded(state, over, drawn)
        # Items never offered have the same attraction: a change of this size breaks the tie at random.
        change = self.oracle.sign * SHARE * self.max_attraction * rng.random(state.n_arms)
        return np.where(over > 0.0, bounded, np.clip(bounded - change, 0.0, self.max_attraction))
