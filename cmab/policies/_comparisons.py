"""The state of `TopRank`: comparisons of pairs of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.statistics import count
from cmab.validation import check_vector


@dataclass(eq=False)
class Comparisons:
    """Comparisons of each pair of items.

    Attributes
    ----------
    leads : FloatArray, shape (n_items, n_items)
        Clicks on the first item minus clicks on the second, summed over rounds with both items in one block.
    differences : FloatArray, shape (n_items, n_items)
        The sum of the absolute values of these differences. For clicks 0 and 1, it is the number of rounds in
        which exactly one of the two items was clicked.
    better : BoolArray, shape (n_items, n_items)
        Whether the first item is proven to be better than the second.
    since : IntArray, shape (n_items, n_items)
        Number of the first ticket issued after the proof; 0 without a proof.
    rounds : int
        Number of rounds with feedback.
    asked : int
        Number of the next ticket, recorded by `TopRank.reserve`; 0 if feedback is never late.

    Examples
    --------
    >>> from cmab import Feedback, TopRank
    >>> from oracles import RankedTopK
    >>> policy = TopRank(RankedTopK(3, k=2), delta=0.01)
    >>> state = policy.initial_state()
    >>> policy.update(state, Feedback([2, 0], [0.0, 1.0]))
    >>> state.leads[0]
    array([0., 1., 1.])
    """

    leads: FloatArray
    differences: FloatArray
    better: BoolArray
    since: IntArray
    rounds: int = 0
    asked: int = 0

    def check(self, fresh: Self) -> None:
        """Raise ``ValueError`` if no feedback leads to these comparisons."""
        count("rounds", self.rounds)
        count("asked", self.asked)
        for name in ("leads", "differences", "better", "since"):
            array, wanted = getattr(self, name), getattr(fresh, name)
            if array.shape != wanted.shape or array.dtype != wanted.dtype:
                raise ValueError(f"{name} must be {wanted.shape} numbers of type {wanted.dtype}")
        check_vector("differences", self.differences.reshape(-1), self.differences.size, 0.0, self.rounds)
        if (self.differences != self.differences.T).any() or (self.leads != -self.leads.T).any():
            raise ValueError("differences must be symmetric and leads antisymmetric")
        # Sums of fractions may differ by rounding errors.
        if not (np.abs(self.leads) <= self.differences * (1.0 + 1e-9)).all():
            raise ValueError("leads must not exceed differences")
        if (self.better & (self.leads <= 0.0)).any():
            raise ValueError("better must be False for pairs whose lead is not positive")
        if not ((self.since >= 0) & (self.since <= np.where(self.better, self.asked, 0))).all():
            raise ValueError("since must be numbers of issued tickets, and 0 for pairs without a proof")
