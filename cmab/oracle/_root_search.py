"""The best of a family by a sum and the root of another sum: tangents to the root, and branching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray

# Values are told apart to this share of their size; rounding is far below.
_ROUNDING = 1e-11

# Slopes go no higher, and weights are cut there, so that sums of them stay finite.
_LARGEST = 1e300

#: Takes weights, arms to include and arms to leave out, and returns the super arm of largest weight, if any.
Solve = Callable[[FloatArray, IntArray, IntArray], IntArray | None]


class Point(NamedTuple):
    """A super arm with its two sums."""

    linear: float
    square: float
    super_arm: IntArray

    @property
    def value(self) -> float:
        """The sum and the root of the other."""
        return float(self.linear + np.sqrt(self.square))

    def along(self, slope: float) -> float:
        """Return the sum of both, the second one weighted."""
        return self.linear + slope * self.square


class Tangent(NamedTuple):
    """No super arm of a part of the family is worth more than `bound`; the last slope and its two ends."""

    bound: float
    slope: float
    low: Point
    high: Point


class Part(NamedTuple):
    """The super arms with some arms and without others.

    `slope` was good for more of them. Of these, `low` is the best for a smaller slope, `high` for a larger
    one, where that is known. None of them is worth more than `bound`.
    """

    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    slope: float = 0.0
    low: Point | None = None
    high: Point | None = None
    bound: float = np.inf


@dataclass
class RootSearch:
    """Maximises ``u(S) + sqrt(v(S))``, u being the sum of `means` and v that of `squares`.

    A tangent lies above the root, ``sqrt(v) <= s v + 1 / (4 s)`` for each slope s > 0, so the best super arm
    for ``means + s * squares``, a linear problem, bounds all of them. The least bound is found by a search
    over s that keeps a best super arm for a smaller slope and one for a larger slope. Where it exceeds the
    best value that was met, the family is split by an arm in which these two differ.

    Parameters
    ----------
    solve : callable
        The linear problem.
    means, squares : FloatArray, shape (n_arms,)
        Rewards, and numbers that are not negative.
    tolerance : float
        How much the answer may be worth less than the best.
    exclude : tuple of int
        Arms that no answer has.
    limit : int, optional
        The number of linear problems after which the family is split no further; None for no limit.

    Attributes
    ----------
    calls : int
        The number of linear problems that were solved.
    shortfall : float
        An upper bound on how much the answer is worth less than the best, if the limit ended the search;
        otherwise 0, which leaves out `tolerance` and rounding.
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
        """Return the best super arm; None if there is none."""
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
        """Note how much `best` may be worth less than the best, of which `bound` is an upper bound."""
        assert self.best is not None, "a part comes with a super arm"
        self.shortfall = max(self.shortfall, 0.0 if self._is_enough(bound) else bound - self.best.value)

    def _halves(self, part: Part, tangent: Tangent) -> list[Part]:
        """Split a part by an arm that one end of its best tangent has and the other has not.

        In matroids the ends are one exchange apart, and the wide arm of the two makes the bounds tight. In
        other families they are not: without a narrow arm, one that was played often, a part soon lacks worth.
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
        """Return the best for a small slope and for a large one; None if nothing better is in the part."""
        low, high = part.low, part.high
        if part.slope > 0.0:
            # A good slope for more super arms often shows at once that these are no better.
            found = self._point(part, self._weights(part.slope))
            if found is None or self._is_enough(found.along(part.slope) + 0.25 / part.slope):
                return None
            low, high = (low, found) if _is_steep(found, part.slope) else (found, high)
        low = self._point(part, self.means) if low is None else low
        high = self._point(part, self.squares) if high is None else high
        return None if low is None or high is None else (low, high)

    def _weights(self, slope: float) -> FloatArray:
        """Return ``means + slope * squares``; only what no super arm of the part holds has to be cut."""
        with np.errstate(over="ignore"):
            return self.means + np.minimum(slope * self.squares, _LARGEST)

    def _is_enough(self, bound: float) -> bool:
        """Return whether what was met is as good as a bound."""
        return bound <= self._enough()

    def _enough(self) -> float:
        """Return the largest bound that what was met is as good as."""
        assert self.best is not None, "a bound comes with a super arm"
        return self.best.value + self.tolerance + _ROUNDING * self._size()

    def _size(self) -> float:
        """Return how large the numbers are whose rounding counts."""
        assert self.best is not None, "a bound comes with a super arm"
        return abs(self.best.linear) + abs(self.best.value)

    def _point(self, part: Part, weights: FloatArray) -> Point | None:
        """Return the best super arm of a part for `weights`, and remember it if it is the best so far."""
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
        """Return the least bound that a tangent gives, by a search between its ends."""
        while True:
            # v grows with the slope: between equal ends, or if one is better in both sums, nothing is left.
            if high.square <= low.square or high.linear >= low.linear:
                end = low if high.square <= low.square else high
                return Tangent(end.value, 0.0, low, high)
            # The slope at which both are worth the same. Where the best tangent touches, v is between
            # theirs, and the derivative of the root there, 1 / (2 sqrt(v)), between those of the ends.
            least = 0.5 / np.sqrt(high.square)
            most = 0.5 / np.sqrt(low.square) if low.square > 0.0 else np.inf
            with np.errstate(over="ignore"):
                even = np.float64(low.linear - high.linear) / (high.square - low.square)
            slope = float(min(max(even, least), most, _LARGEST))
            found = self._point(part, self._weights(slope))
            assert found is not None, "the ends are there"
            bound = found.along(slope) + 0.25 / slope
            known = max(low.along(slope), high.along(slope))
            # No super arm lies above the line through both ends, or none is better than the best one met.
            if self._is_enough(bound) or found.along(slope) <= known + _ROUNDING * (abs(known) + bound):
                return Tangent(bound, slope, low, high)
            if _is_steep(found, slope):
                high = found
            else:
                low = found


def _is_steep(found: Point, slope: float) -> bool:
    """Return whether the least bound is at a smaller slope than the one that led to `found`."""
    # The bound, (u + s v)(found) + 1 / (4 s), is convex in s, with the derivative v - 1 / (4 s^2).
    return bool(np.sqrt(found.square) > 0.5 / slope)
