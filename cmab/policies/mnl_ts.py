"""MNL-TS: Thompson sampling for multinomial logit choice, with one draw per epoch."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.declared import integer, real
from cmab.policies._epochs import KEYS, Epochs, EpochStatistics, bought

#: The largest change of an attraction to break a tie, as a fraction of the largest attraction.
SHARE = 2.0**-40


@dataclass(frozen=True, eq=False)
class MNLTS(Epochs):
    """Thompson sampling for multinomial logit choice in epochs, for `oracles.Assortment`.

    Use this policy only to compare with its paper. `MNLUCB` and `CTS` have less regret.

    As in `MNLUCB`, an epoch offers one assortment until a customer buys nothing, and contexts are treated as
    there. Let T_i be the number of completed epochs with item i, and v the mean number of its purchases in
    these epochs. For the next epoch, one number z is drawn: the largest of k standard normal
    numbers, where k is the largest size of an assortment. The
    oracle receives the attractions ``v + deviation_factor z (sqrt(50 v (v + 1) / T_i) + 75 sqrt(ln(k
    horizon)) / T_i)``, clipped to ``[0, max_attraction]``. Items that were never offered get `max_attraction`
    minus at most 1e-12 of it, which breaks ties at random.

    One number z for all items correlates their draws, so the best assortment is overestimated as often as a
    single item. The largest of k numbers makes this likely. The regret in T = `horizon` rounds with m items
    is ``O(sqrt(m T) ln(k T) + m ln(k T)^2)`` with ``deviation_factor=1``, if no v exceeds 1. The constants 50
    and 75 are those of the theorem; a few hundredths of them learn fast. With `deviation_factor` 0, an item
    that by chance was not bought may never be offered again.

    `CTS` with the same oracle corresponds to the paper's other algorithm, with Beta posteriors of
    ``1 / (1 + v)``, except that `CTS` draws for each customer instead of each epoch. For costs, which are not
    choices, the rule is the mirror image with epochs of one round.

    Parameters
    ----------
    oracle : Oracle
        The family of assortments. Its base arms are comparisons of an item with no purchase, with means
        ``v / (1 + v)``.
    horizon : int
        Number of rounds for which the width of the draws suffices, at least 1.
    deviation_factor : float
        Factor of the width of the draws, at least 0.
    max_attraction : float
        Largest v, at least 0. It must equal `max_attraction` of the oracle.

    Examples
    --------
    >>> from cmab import simulate
    >>> from cmab.policies.mnl_ts import MNLTS
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
    memory. The paper first offers one item at a time; here unobserved items have the largest attraction.
    """

    horizon: int = field(metadata=integer(1))
    _: KW_ONLY
    deviation_factor: float = field(default=1.0, metadata=real(0.0))

    def initial_state(self, rng: np.random.Generator | None = None) -> EpochStatistics:
        """Return empty statistics, with a key of the run if there is a generator."""
        state = EpochStatistics.empty(self.oracle.n_arms)
        state.key = 0 if rng is None else int(rng.integers(KEYS))
        return state

    def attractions(self, state: EpochStatistics) -> FloatArray:
        """Return the draw of the epoch for each item, shape (n_arms,). `state` is not changed."""
        k = max(1, self.oracle.max_size)
        # A separate stream, because the oracle may draw from the stream of the epoch.
        rng = np.random.default_rng([state.key, state.epochs, 1])
        largest = float(rng.standard_normal(k).max())
        mean, over = bought(state)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Agrawal et al. (2017), Algorithm 2; for costs, the mirror image.
            width = np.sqrt(50.0 * mean * (mean + 1.0) / over)
            width += 75.0 * math.sqrt(math.log(k * self.horizon)) / over
            drawn = mean + self.oracle.sign * self.deviation_factor * largest * width
        bounded = self._bounded(state, over, drawn)
        # Items that were never offered have the same attraction. A change of this size breaks ties at random.
        change = self.oracle.sign * SHARE * self.max_attraction * rng.random(state.n_arms)
        return np.where(over > 0.0, bounded, np.clip(bounded - change, 0.0, self.max_attraction))
