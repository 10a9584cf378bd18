"""MNL-UCB: one assortment until somebody buys nothing."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np

from cmab.arrays import FloatArray
from cmab.feedback import Feedback
from cmab.guards import unguarded
from cmab.oracle import Oracle
from cmab.policies._in_play import InPlay, InPlayStatistics
from cmab.statistics import count
from cmab.validation import real, shown


@dataclass(eq=False, repr=False)
class EpochStatistics(InPlayStatistics):
    """Arm statistics, and the assortment of the epoch.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        As in `InPlayStatistics`: what is offered in this epoch.
    epochs : int
        Epochs that are over: rounds in which nothing was bought.

    Examples
    --------
    >>> from cmab import MNLUCB, Feedback
    >>> from oracles import Assortment
    >>> policy = MNLUCB(Assortment([1.0, 2.0, 3.0], k=2))
    >>> state = policy.initial_state()
    >>> policy.update(state, Feedback([2], [1.0]))
    >>> policy.update(state, Feedback([1, 2], [0.0, 0.0]))
    >>> state.epochs
    1
    """

    epochs: int = 0

    def check(self, fresh: Self) -> None:
        """Refuse what no feedback could have led to."""
        super().check(fresh)
        count("epochs", self.epochs, self.rounds)


@dataclass(frozen=True, eq=False)
class MNLUCB(InPlay[EpochStatistics]):
    """Optimism for multinomial logit choice, an epoch at a time: for `oracles.Assortment`.

    An assortment is offered until a customer buys nothing. In such an epoch item i is bought ``v_i`` times in
    expectation (a geometric number, whatever else is offered). After l epochs, T_i of which had the item, of
    mean ``v``, the oracle is given ``min(v + sqrt(48 v ln(sqrt(m) l + 1) / T_i) + 48 ln(sqrt(m) l + 1) / T_i,
    max_attraction)`` as attractions, `max_attraction` for items never offered. The regret in n rounds is
    ``O(sqrt(m n ln(m n)) + m ln(m n)^2)``. The 48 is the theorem's: nothing is learned by it in the first ten
    thousand rounds or so, and smaller factors are what is run. `CUCB` on the same oracle learns from each
    customer. For costs, which are no choices, it is the mirror image with epochs of one round.

    Parameters
    ----------
    oracle : Oracle
        The assortments; its base arms are comparisons with nothing, of means ``v / (1 + v)``.
    factor : float
        The 48 above.
    max_attraction : float
        Largest v, at least 0: that of the oracle.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import MNLUCB, simulate
    >>> from instances import MultinomialLogit
    >>> from oracles import Assortment
    >>> shop = Assortment([1.0, 1.0, 1.0, 1.0], k=2)
    >>> customers = MultinomialLogit([0.1, 0.7, 0.2, 0.9], shop)
    >>> run = simulate(MNLUCB(shop, factor=0.5), customers, 4000, rng=0)
    >>> run.states[0].super_arm
    array([1, 3])

    References
    ----------
    S. Agrawal, V. Avadhanula, V. Goyal, A. Zeevi: MNL-Bandit: A Dynamic Learning Approach to Assortment
    Selection, Operations Research 67 (2019), Algorithm 1. The constants were read in a public implementation.
    """

    oracle: Oracle
    _: KW_ONLY
    factor: float = 48.0
    max_attraction: float = 1.0

    def __post_init__(self) -> None:
        real("factor", self.factor, 0.0)
        largest = real("max_attraction", self.max_attraction, 0.0, 1e6)
        if getattr(self.oracle, "max_attraction", largest) != largest:
            raise ValueError(f"max_attraction must be that of {self.oracle!r}, got {largest:g}")

    def initial_state(self) -> EpochStatistics:
        """Return empty statistics."""
        return EpochStatistics.empty(self.oracle.n_arms, self.oracle.clusters)

    def attractions(self, state: EpochStatistics) -> FloatArray:
        """Return the bound on each item's attraction, shape (n_arms,); `state` is left unchanged."""
        # Of an item's comparisons those that it lost are the ends of the epochs in which it was offered.
        over = np.rint(state.counts * (1.0 - state.means))
        term = self.factor * math.log(math.sqrt(state.n_arms) * state.epochs + 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Outcomes that are no purchases may be negative, and attractions are not.
            mean = np.maximum(state.counts * state.means / over, 0.0)
            # Agrawal et al. (2019), equation 6; for costs the mirror image.
            bound = mean + self.oracle.sign * (np.sqrt(term * mean / over) + term / over)
        # Without an epoch that is over, the optimistic end; of costs, the other one if all were paid.
        without = np.full(state.n_arms, self.max_attraction)
        if self.oracle.sense == "min":
            without[state.counts == 0] = 0.0
        return np.clip(np.where(over > 0.0, bound, without), 0.0, self.max_attraction)

    def update(self, state: EpochStatistics, feedback: Feedback) -> None:
        """Take in one customer; after one who bought nothing an epoch begins, with another assortment.

        Raises
        ------
        ValueError
            If the feedback has sums of several outcomes of an arm.
        """
        if feedback.pulls is not None:
            raise ValueError(
                f"feedback.pulls must be None, one customer a round, got {shown(feedback.pulls)}"
            )
        if state.rounds == 0:
            state.super_arm = self._solve(state)
        state.update(feedback)
        if self.oracle.sense == "min" or not feedback.outcomes.any():
            state.epochs += 1
            state.super_arm = self._solve(state)

    def _means(self, state: EpochStatistics, rng: np.random.Generator) -> FloatArray:  # noqa: ARG002
        v = unguarded(self.attractions)(state)
        return v / (1.0 + v)

    def _generator(self, state: EpochStatistics) -> np.random.Generator:
        return np.random.default_rng(state.epochs)
