"""The rivals of a super arm that are the hardest to distinguish from it, from a list or by an oracle."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.oracle import LinearOracle

# Numbers of linear problems for each region: for a proof, and for a step.
_SWEEPS, _FEW, _CLOSE = 30, 3, 1.01
#: A region of super arms: those that contain all arms of the first list and no arm of the second.
Region = tuple[list[int], list[int]]


class Contest(NamedTuple):
    """The numbers of the arms that decide whether the best super arm has won against its rivals.

    A rival differs from the best super arm in the arms D. Its ratio is ``(gap + margin)^2 / (S (base + Q))``,
    where S is the sum of the `spreads` over D, and Q is the sum of the `prices` over D.

    Attributes
    ----------
    values : FloatArray, shape (n_arms,)
        The means; the negative means if the oracle minimises.
    spreads, prices : FloatArray, shape (n_arms,)
        The variance of each mean, and the part of the threshold that is due to each arm.
    base : float
        The part of the threshold that is the same for all rivals.
    margin : float
        The tolerance for one rival.
    """

    values: FloatArray
    spreads: FloatArray
    prices: FloatArray
    base: float
    margin: float

    def ratios(self, signs: FloatArray) -> FloatArray:
        """Return the ratio of each rival; a row of `signs` has 1 for lost arms and -1 for gained arms."""
        involved = np.abs(signs)
        gaps = np.maximum(signs @ self.values + self.margin, 0.0)
        return np.asarray(gaps**2 / ((involved @ self.spreads) * (self.base + involved @ self.prices)))


class Rivals(ABC):
    """The rivals of one super arm.

    Attributes
    ----------
    log_errors : float
        The logarithm of the number of possible errors, part of the threshold.
    arm_price : float
        The part of the threshold that is due to each arm in addition.
    """

    log_errors: float
    arm_price: float = 0.0

    @abstractmethod
    def near(self, contest: Contest) -> FloatArray:
        """Return the signs of rivals with small ratios, among them the least if it can be found."""

    @abstractmethod
    def are_beaten(self, contest: Contest) -> bool:
        """Return whether the ratio of every rival is proved to exceed 1."""


@dataclass(frozen=True)
class ListedRivals(Rivals):
    """All rivals as rows of signs."""

    signs: FloatArray
    log_errors: float

    def near(self, contest: Contest) -> FloatArray:  # noqa: ARG002
        return self.signs

    def are_beaten(self, contest: Contest) -> bool:
        return bool((contest.ratios(self.signs) > 1.0).all())


@dataclass(frozen=True)
class OracleRivals(Rivals):
    """The rivals of the super arm `best`, found by linear problems over the other super arms.

    The ratio is not linear. For every tilt a > 0, however, ``sqrt(S (base + Q)) <= (a S + (base + Q) / a) /
    2``, with equality for one a. So the square root of the ratio exceeds r if ``gap + margin - r (a S + (base
    + Q) / a) / 2`` is positive. For a given a, this number is linear in the super arm, and the oracle finds
    its minimum. The search moves a towards the tilt of the rival that the oracle returns.
    """

    oracle: LinearOracle
    best: IntArray
    log_errors: float
    arm_price: float = 0.0

    @cached_property
    def _regions(self) -> list[Region]:
        """Return regions that together contain all super arms except the best one."""
        own, values = self.best.tolist(), np.ones(self.oracle.n_arms)
        regions: list[Region] = [([], [arm]) for arm in own]
        largest = self._best_in((own, []), values)
        # Most families have no super arm that contains another one.
        if largest is not None and len(largest) > len(own):
            others = np.setdiff1d(np.arange(self.oracle.n_arms), self.best).tolist()
            regions += [([*own, arm], []) for arm in others]
        return [region for region in regions if self._best_in(region, values) is not None]

    def near(self, contest: Contest) -> FloatArray:
        return self._search(contest, math.inf, _FEW)[0]

    def are_beaten(self, contest: Contest) -> bool:
        return self._search(contest, 1.0, _SWEEPS)[1]

    def _search(self, contest: Contest, bar: float, sweeps: int) -> tuple[FloatArray, bool]:
        """Return the rivals found, and whether all rivals are proved to have a ratio above `bar`.

        If `bar` is infinite, the search looks for the least ratio. Otherwise it ends at the first rival with
        a ratio of at most `bar`.
        """
        tests, is_proved, found = bar < math.inf, True, {}
        # The tilt of the hardest rival so far, and for each region the bounds and the next value of its tilt.
        hardest = math.sqrt(contest.base / float(contest.spreads.sum()))
        live = [(region, 0.0, math.inf, 0.0) for region in self._regions]
        for _ in range(sweeps):
            undecided = []
            for region, low, high, tilt in live:
                a = tilt or hardest
                root = math.sqrt(bar) if bar < math.inf else 0.0
                halves = 0.5 * root * (a * contest.spreads + contest.prices / a)
                signs = self._nearest(region, contest.values, halves)
                found[signs.tobytes()] = signs
                involved = np.abs(signs)
                gap = max(0.0, float(signs @ contest.values) + contest.margin)
                least = gap - float(involved @ halves) - 0.5 * root * contest.base / a
                if root > 0.0 and least > (0.0 if tests else -1e-9 * gap):
                    continue
                spread, price = float(involved @ contest.spreads), float(involved @ contest.prices)
                price += contest.base
                ratio, own = gap**2 / (spread * price), math.sqrt(price / spread)
                if tests and ratio <= bar:
                    return self._rows(found), False
                if ratio < bar:
                    bar, hardest = ratio, own
                low, high = (max(low, a), high) if own > a else (low, min(high, a))
                if low > 0.0 and high < low * _CLOSE:
                    is_proved = False
                    continue
                undecided.append((region, low, high, own if low < own < high else math.sqrt(low * high)))
            live = undecided
        return self._rows(found), is_proved and not live

    def _rows(self, found: dict[bytes, FloatArray]) -> FloatArray:
        return np.array(list(found.values())).reshape(-1, self.oracle.n_arms)

    def _nearest(self, region: Region, values: FloatArray, halves: FloatArray) -> FloatArray:
        """Return the signs of the super arm in the region with the least gap minus the sum of `halves`."""
        inside = self._inside
        other = self._best_in(region, np.where(inside, values - halves, values + halves))
        assert other is not None, "the region was checked to have a super arm"
        signs = inside.astype(np.float64)
        signs[other] -= 1.0
        return signs

    @cached_property
    def _inside(self) -> BoolArray:
        inside = np.zeros(self.oracle.n_arms, np.bool_)
        inside[self.best] = True
        return inside

    def _best_in(self, region: Region, values: FloatArray) -> IntArray | None:
        # Exact oracles need no randomness, and the stopping rule must not advance a random generator.
        solve = self.oracle.solve_constrained
        include, exclude = (np.array(arms, np.int64) for arms in region)
        return solve(self.oracle._sign * values, include, exclude, np.random.default_rng(0))
