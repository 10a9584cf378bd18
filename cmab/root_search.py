"""Maximisation of a sum plus the root of another sum, by tangents to the root and branching.

If the family is all sets of k arms, and there are few of them, all are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray

# Values that differ by less than this share of their size count as equal; rounding is far below it.
_ROUNDING = 1e-11

# Slopes and weights are limited to this value, so that sums of weights stay finite.
_LARGEST = 1e300

#: A function of weights, required arms and excluded arms that returns the best super arm, if any.
Solve = Callable[[FloatArray, IntArray, IntArray], IntArray | None]


class Point(NamedTuple):
    """A super arm with its two sums."""

    linear: float
    square: float
    super_arm: IntArray

    @property
    def value(self) -> float:
        """The sum plus the root of the other sum."""
        return float(self.linear + np.sqrt(self.square))

    def along(self, slope: float) -> float:
        """Return the first sum plus `slope` times the second sum."""
        return self.linear + slope * self.square


class Tangent(NamedTuple):
    """An upper bound on the value of all super arms of a part, with the last slope and its two ends."""

    bound: float
    slope: float
    low: Point
    high: Point


class Part(NamedTuple):
    """The super arms with given required arms and without given excluded arms.

    `slope` was the best slope for a larger part. If known, `low` is the best super arm of this part for a
    smaller slope and `high` for a larger slope. No super arm of this part has a value above `bound`.
    """

    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    slope: float = 0.0
    low: Point | None = None
    high: Point | None = None
    bound: float = np.inf


@dataclass
class RootSearch:
    """Maximises ``u(S) + sqrt(v(S))``, where u is the sum of `means` and v is the sum of `squares`.

    A tangent is above the root: ``sqrt(v) <= s v + 1 / (4 s)`` for each slope s > 0. So the best super arm
    for ``means + s * squares``, a linear problem, gives a bound for all super arms. A search over s finds the
    least bound; it keeps a best super arm for a smaller slope and one for a larger slope. If the least bound
    exceeds the best value found, the family is split by an arm in which these two super arms differ.

    Parameters
    ----------
    solve : callable
        The solver of the linear problem.
    means, squares : FloatArray, shape (n_arms,)
        The means to maximise, and nonnegative numbers.
    tolerance : float
        The largest acceptable loss of the answer.
    exclude : tuple of int
        Arms that no answer may contain.
    limit : int, optional
        The number of linear problems after which the family is not split further; None for no limit.

    Attributes
    ----------
    calls : int
        The number of linear problems solved.
    shortfall : float
        An upper bound on the loss of the answer if the search stopped at the limit, otherwise 0. It does not
        include `tolerance` and rounding.
    """

    solve: Solve
    means: FloatArray
    squares: FloatArray
    tolerance: float
    exclude: tuple[int, ...] = ()
    limit: int | None = None
    best: Point | None = field(default=None, init=False)
    calls: int = field(default=0, init=False)
    shortfall: float = field(default=0.0, init=False)

    def run(self) -> IntArray | None:
        """Return the best super arm; None if the family is empty."""
        waiting = [Part(exclude=self.exclude)]
        while waiting:
            if self.limit is not None and self.calls >= self.limit:
                self._stop(max(part.bound for part in waiting))
                break
            part = waiting.pop()
            ends = self._ends(part)
            if ends is None:
                continue
            tangent = self._tangent(part, *ends)
            if not self._is_enough(tangent.bound):
                waiting += self._halves(part, tangent)
        return None if self.best is None else self.best.super_arm

    def _stop(self, bound: float) -> None:
        """Record the largest possible loss of `best`; `bound` is an upper bound on the optimum."""
        assert self.best is not None, "a part has a super arm"
        self.shortfall = max(self.shortfall, 0.0 if self._is_enough(bound) else bound - self.best.value)

    def _halves(self, part: Part, tangent: Tangent) -> list[Part]:
        """Split a part by an arm that is in one end of its best tangent and not in the other.

        In matroids the ends differ by one exchange, and splitting by the wider arm of the two gives tight
        bounds. In other families, splitting by a narrow arm, i.e. one that was played often, is better: the
        part without it soon has low values.
        """
        low, high = tangent.low, tangent.high
        different = np.setxor1d(low.super_arm, high.super_arm)
        pick = np.argmax if len(different) <= 2 else np.argmin
        arm = int(different[pick(self.squares[different])])
        has_low = bool((low.super_arm == arm).any())
        ends = ((low, None), (None, high)) if has_low else ((None, high), (low, None))
        (low_with, high_with), (low_without, high_without) = ends
        return [
            Part(part.include, (*part.exclude, arm), tangent.slope, low_without, high_without, tangent.bound),
            Part((*part.include, arm), part.exclude, tangent.slope, low_with, high_with, tangent.bound),
        ]

    def _ends(self, part: Part) -> tuple[Point, Point] | None:
        """Return the best for a small slope and for a large slope; None if the part has nothing better."""
        low, high = part.low, part.high
        if part.slope > 0.0:
            # A good slope for a larger part often shows at once that this part has nothing better.
            found = self._point(part, self._weights(part.slope))
            if found is None or self._is_enough(found.along(part.slope) + 0.25 / part.slope):
                return None
            low, high = (low, found) if _is_steep(found, part.slope) else (found, high)
        low = self._point(part, self.means) if low is None else low
        high = self._point(part, self.squares) if high is None else high
        return None if low is None or high is None else (low, high)

    def _weights(self, slope: float) -> FloatArray:
        """Return ``means + slope * squares``; the limit affects only arms outside all super arms."""
        with np.errstate(over="ignore"):
            return self.means + np.minimum(slope * self.squares, _LARGEST)

    def _is_enough(self, bound: float) -> bool:
        """Return whether the best value found is as good as a bound."""
        assert self.best is not None, "a bound has a super arm"
        rounding = _ROUNDING * (abs(self.best.linear) + abs(self.best.value))
        return bound <= self.best.value + self.tolerance + rounding

    def _point(self, part: Part, weights: FloatArray) -> Point | None:
        """Return the best super arm of a part for `weights`, and record it if it is the best so far."""
        include, exclude = np.array(part.include, np.int64), np.array(part.exclude, np.int64)
        self.calls += 1
        super_arm = self.solve(weights, include, exclude)
        if super_arm is None:
            return None
        point = Point(float(self.means[super_arm].sum()), float(self.squares[super_arm].sum()), super_arm)
        if self.best is None or point.value > self.best.value:
            self.best = point
        return point

    def _tangent(self, part: Part, low: Point, high: Point) -> Tangent:
        """Return the least tangent bound, by a search between its ends."""
        while True:
            # v increases with the slope. Stop if the ends are equal or if one is better in both sums.
            if high.square <= low.square or high.linear >= low.linear:
                end = low if high.square <= low.square else high
                return Tangent(end.value, 0.0, low, high)
            # The slope at which both ends have the same value. At the best tangent, v is between the values
            # of the ends, so the derivative of the root, 1 / (2 sqrt(v)), is between their derivatives.
            least = 0.5 / np.sqrt(high.square)
            most = 0.5 / np.sqrt(low.square) if low.square > 0.0 else np.inf
            with np.errstate(over="ignore"):
                even = np.float64(low.linear - high.linear) / (high.square - low.square)
            slope = float(min(max(even, least), most, _LARGEST))
            found = self._point(part, self._weights(slope))
            assert found is not None, "the ends exist"
            bound = found.along(slope) + 0.25 / slope
            known = max(low.along(slope), high.along(slope))
            # Stop if no super arm is above the line through both ends, or if none is better than the best
            # found.
            if self._is_enough(bound) or found.along(slope) <= known + _ROUNDING * (abs(known) + bound):
                return Tangent(bound, slope, low, high)
            if _is_steep(found, slope):
                high = found
            else:
                low = found


def _is_steep(found: Point, slope: float) -> bool:
    """Return whether the least bound is at a smaller slope than the slope that led to `found`."""
    # The bound, (u + s v)(found) + 1 / (4 s), is convex in s, with the derivative v - 1 / (4 s^2).
    return bool(np.sqrt(found.square) > 0.5 / slope)


#: Families of at most this many sets are listed.
MOST_LISTED = 20_000


@lru_cache(8)
def _all_sets(n_arms: int, k: int) -> IntArray:
    """Return all sets of k arms, a column each."""
    count = comb(n_arms, k)
    listed = np.fromiter(chain.from_iterable(combinations(range(n_arms), k)), np.int64, count * k)
    return np.ascontiguousarray(listed.reshape(count, k).T)


def best_listed(k: int, means: FloatArray, squares: FloatArray, gone: list[int]) -> IntArray | None:
    """Return the best set of k arms without the arms in `gone`, or None, by comparing all sets."""
    if gone:
        means = means.copy()
        means[gone] = -np.inf
    sets = _all_sets(len(means), k)
    values = np.zeros(sets.shape[1])
    roots = values.copy()
    for column in sets:
        values += means[column]
        roots += squares[column]
    values += np.sqrt(roots)
    place = int(np.argmax(values))
    return sets[:, place].copy() if values[place] > -np.inf else None
