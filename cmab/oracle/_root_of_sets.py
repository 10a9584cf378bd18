"""The best set of k arms by a sum plus the root of another sum: a dynamic programme after a tangent."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.oracle._root_search import Part, Point, RootSearch, Tangent

# Sums that differ by less than this share of their size count as equal, far below the rounding of the search.
_EQUAL = 1e-14
# The number of choices of each size kept at first, and the factor if these are not enough.
_FIRST_WIDTH, _WIDER = 100, 8
# The number of choices that count as one linear problem of the limit.
_PER_CALL = 1_000


class Front(NamedTuple):
    """Choices with the same number of arms, where no choice dominates another in both sums."""

    linear: FloatArray
    square: FloatArray
    members: BoolArray

    def only(self, kept: IntArray | BoolArray) -> Front:
        """Return the given choices."""
        return Front(self.linear[kept], self.square[kept], self.members[kept])


class SetSearch(RootSearch):
    """`RootSearch` for the family of all sets of k arms, where arms can be exchanged one by one.

    After the first tangent, an arm is fixed if exchanging it would lose more than the difference between the
    bound and the best value found. For the other arms, the search keeps choices by number of arms, without
    choices that another choice exceeds in both sums or that the tangent excludes (Nemhauser and Ullmann 1969,
    for knapsacks). Equal arms, which `RootSearch` would exchange without end, make these choices few.

    Attributes
    ----------
    kept : int
        The number of choices kept. `limit` allows 1,000 choices for each linear problem.
    """

    kept: int = 0

    def _halves(self, part: Part, tangent: Tangent) -> list[Part]:
        """Solve the part completely; return no parts."""
        assert self.best is not None, "a tangent has super arms"
        slope, k = tangent.slope, len(tangent.low.super_arm)
        weights = self._weights(slope)
        free = np.setdiff1d(np.arange(len(weights)), np.array(part.exclude, np.int64))
        order = free[np.argsort(-weights[free], kind="stable")]
        # The loss along the tangent if an arm is moved into or out of the k best.
        losses = np.concatenate(
            (weights[order[:k]] - weights[order[k]], weights[order[k - 1]] - weights[order[k:]])
        )
        is_open = ~self._is_beyond(tangent.bound - losses)
        fixed, undecided = order[:k][~is_open[:k]], order[is_open]
        missing, width = k - len(fixed), _FIRST_WIDTH
        while True:
            allowed = self._allowed_width(len(undecided) * missing)
            width, is_last = min(width, allowed), allowed <= width
            if self._explore(fixed, undecided, slope, missing, width):
                break
            if is_last:
                self._stop(tangent.bound)
                break
            width *= _WIDER
        return []

    def _allowed_width(self, n_sizes: int) -> int:
        """Return how many choices of each of `n_sizes` sizes the limit allows, at least 1."""
        left = sys.maxsize if self.limit is None else self.limit * _PER_CALL - self.kept
        return max(1, left // max(1, n_sizes))

    def _explore(self, fixed: IntArray, undecided: IntArray, slope: float, missing: int, width: int) -> bool:
        """Decide arm by arm, with at most `width` choices per size; return whether no choice was dropped."""
        none = np.zeros((1, len(undecided)), bool)
        fronts = [Front(self.means[fixed].sum(keepdims=True), self.squares[fixed].sum(keepdims=True), none)]
        is_all = True
        for place in range(len(undecided)):
            self._finish(fronts, fixed, undecided, place, missing)
            fronts, is_whole = self._next(fronts, undecided, place, missing, slope, width)
            self.kept += sum(len(front.linear) for front in fronts)
            is_all &= is_whole
        self._finish(fronts, fixed, undecided, len(undecided), missing)
        return is_all

    def _is_beyond(self, bounds: FloatArray) -> BoolArray:
        """Return where the bounds show that nothing better remains."""
        return np.asarray(bounds <= self._enough())

    def _next(
        self,
        fronts: list[Front],
        undecided: IntArray,
        place: int,
        missing: int,
        slope: float,
        width: int,
    ) -> tuple[list[Front], bool]:
        """Return the choices after one more arm is decided."""
        arm, left = undecided[place], undecided[place + 1 :]
        # Arms are in order of weight, so the next arms are the best completion of a choice along the tangent.
        best = np.concatenate(([0.0], np.cumsum(self._weights(slope)[left])))
        decided: list[Front] = []
        is_whole = True
        for size in range(min(place + 1, missing) + 1):
            same = [fronts[size]] if size < len(fronts) else []
            if 0 < size <= len(fronts):
                same.append(self._with(fronts[size - 1], arm, place))
            merged = Front(*(np.concatenate(columns) for columns in zip(*same, strict=True)))
            lacking = missing - size
            if lacking > len(left):
                decided.append(merged.only(np.empty(0, np.int64)))
                continue
            bounds = merged.linear + slope * merged.square + best[lacking] + 0.25 / slope
            near = ~self._is_beyond(bounds)
            kept = self._undominated(merged.only(near))
            if len(kept.linear) > width:
                is_whole = False
                along = kept.linear + slope * kept.square
                kept = kept.only(np.argpartition(-along, width)[:width])
            decided.append(kept)
        return decided, is_whole

    def _with(self, front: Front, arm: int, place: int) -> Front:
        members = front.members.copy()
        members[:, place] = True
        return Front(front.linear + self.means[arm], front.square + self.squares[arm], members)

    def _undominated(self, front: Front) -> Front:
        """Return the choices that no other exceeds in both sums; of equal choices, the first."""
        if len(front.linear) < 2:
            return front
        grain = _EQUAL * max(self._size(), np.finfo(np.float64).tiny)
        order = np.lexsort((-front.square, -np.round(front.linear / grain)))
        squares = front.square[order]
        known = np.concatenate(([-np.inf], np.maximum.accumulate(squares)[:-1]))
        return front.only(order[squares > known * (1.0 + _EQUAL)])

    def _finish(
        self, fronts: list[Front], fixed: IntArray, undecided: IntArray, place: int, missing: int
    ) -> None:
        """Complete each choice with the next arms, and record the best super arm."""
        assert self.best is not None
        for size, front in enumerate(fronts):
            lacking = missing - size
            if len(front.linear) == 0 or place + lacking > len(undecided):
                continue
            added = undecided[place : place + lacking]
            linear = front.linear + self.means[added].sum()
            square = front.square + self.squares[added].sum()
            first = int(np.argmax(linear + np.sqrt(square)))
            if linear[first] + np.sqrt(square[first]) > self.best.value:
                arms = np.sort(np.concatenate((fixed, undecided[front.members[first]], added)))
                self.best = Point(float(self.means[arms].sum()), float(self.squares[arms].sum()), arms)
