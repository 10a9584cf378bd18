"""The families of the greedy algorithm: sets of size k, bases of a matroid, sets within a knapsack."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles.influence.certificate import BUDGET_RATIO
from oracles.matroids.base import Matroid
from oracles.packing.knapsack import Knapsack


class Family(Protocol):
    """The interface of a family for greedy; every subset of a set that fits must fit."""

    alpha: float
    largest: int
    is_full: bool  # whether a super arm must have as many entries as `largest`
    prices: FloatArray

    def fits(self, chosen: list[int], entry: int) -> bool:
        """Return whether `entry` can be added; if not, it can never be added later."""

    def has(self, super_arm: IntArray) -> bool:
        """Return whether this is a super arm."""


class SetsOfSize:
    """All sets of k of n entries. Greedy reaches 1 - (1 - 1/k)^k (Nemhauser et al. 1978, section 4)."""

    is_full = True

    def __init__(self, n: int, k: int) -> None:
        self.largest, self.prices = k, np.ones(n)
        self.alpha = 1.0 if k == n else 1.0 - (1.0 - 1.0 / k) ** k

    def fits(self, chosen: list[int], entry: int) -> bool:  # noqa: ARG002
        return len(chosen) < self.largest

    def has(self, super_arm: IntArray) -> bool:
        return len(super_arm) == self.largest


class BasesOf:
    """The bases of a matroid. Greedy reaches 1/2 (Fisher, Nemhauser, Wolsey 1978, theorem 2.1)."""

    is_full = True
    alpha = 0.5

    def __init__(self, matroid: Matroid) -> None:
        self._matroid, self.largest, self.prices = matroid, matroid.rank, np.ones(matroid.n_arms)

    def fits(self, chosen: list[int], entry: int) -> bool:
        return self._matroid.is_independent(np.array([*chosen, entry], np.int64))

    def has(self, super_arm: IntArray) -> bool:
        return self._matroid.is_feasible(super_arm)


class WhatFits:
    """The sets within a knapsack. Greedy by gain per weight, or the best single entry (Tang et al. 2021)."""

    is_full = False
    alpha = BUDGET_RATIO

    def __init__(self, knapsack: Knapsack) -> None:
        self._knapsack, self.largest, self.prices = knapsack, knapsack.max_size, knapsack.weights

    def fits(self, chosen: list[int], entry: int) -> bool:
        return self.has(np.array([*chosen, entry], np.int64))

    def has(self, super_arm: IntArray) -> bool:
        return self._knapsack.is_feasible(super_arm)
