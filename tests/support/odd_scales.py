"""Correct oracles that solve, clip or refuse negative means in odd but legal ways."""

import heapq
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from cmab import LinearOracle

N, K = 6, 2
PAIRS = list(combinations(range(N), K))


class Pairs(LinearOracle):
    """The best pair."""

    n_arms = N

    def solve(self, means, rng):
        return np.argsort(-means, kind="stable")[:K]


class Clips(Pairs):
    """Documents means of at least 0 and treats others as 0."""

    def solve(self, means, rng):
        return super().solve(np.maximum(means, 0.0), rng)


class ClipsCosts(Pairs):
    """The cheapest pair. Negative costs count as 0."""

    sense = "min"

    def solve(self, means, rng):
        return np.argsort(np.clip(means, 0.0, None), kind="stable")[:K]


class Declares(Pairs):
    """Is wrong for negative means, and declares that it does not take them."""

    least_mean = 0.0

    def solve(self, means, rng):
        return np.argsort(-np.abs(means), kind="stable")[:K]


class Asserts(Pairs):
    """Refuses with an assertion."""

    def solve(self, means, rng):
        assert (means >= 0).all(), "means must not be negative"
        return super().solve(means, rng)


class Negative(Exception):
    """An exception of a library."""


class OwnError(Pairs):
    """Refuses with the exception of a library."""

    def solve(self, means, rng):
        if min(means) < 0:
            raise Negative(f"a negative weight {min(means)}")
        return super().solve(means, rng)


class Logarithms(Pairs):
    """Refuses with the error of a function that it calls, because it sorts by logarithms."""

    def solve(self, means, rng):
        with np.errstate(invalid="raise", divide="ignore"):
            return np.argsort(-np.log(means), kind="stable")[:K]


class Moves(Pairs):
    """Subtracts the least mean first, which changes no comparison of sets of one size."""

    def solve(self, means, rng):
        return super().solve(means - means.min(), rng)


class Subsets(LinearOracle):
    """At most two arms, without those that lose: perhaps none."""

    n_arms = N

    def solve(self, means, rng):
        best = np.argsort(-means, kind="stable")[:K]
        return best[means[best] > 0]


class Exact(Pairs):
    """Compares exact fractions, and returns a list."""

    def solve(self, means, rng):
        worth = [Fraction(float(mean)) for mean in means]
        return list(max(PAIRS, key=lambda pair: worth[pair[0]] + worth[pair[1]]))


class Heap(Pairs):
    """Pops the best arms from a heap, and returns a tuple in descending order."""

    def solve(self, means, rng):
        heap = [(-mean, arm) for arm, mean in enumerate(means.tolist())]
        heapq.heapify(heap)
        return tuple(heapq.heappop(heap)[1] for _ in range(K))[::-1]


class Offset(Pairs):
    """Has a reward with a fixed fee that no super arm avoids."""

    def expected_reward(self, super_arm, means):
        return float(means[super_arm].sum()) + 3.0


class Assignment(LinearOracle):
    """The assignment of two workers to two of three tasks with the largest sum."""

    n_arms = N

    def solve(self, means, rng):
        rows, columns = linear_sum_assignment(means.reshape(2, 3), maximize=True)
        return 3 * rows + columns


SUBSETS = [(), *((arm,) for arm in range(N)), *PAIRS]
ASSIGNMENTS = [(first, 3 + second) for first in range(3) for second in range(3) if first != second]
FAMILIES = {Subsets: SUBSETS, Assignment: ASSIGNMENTS}
ORACLES = (
    *(Clips, ClipsCosts, Declares, Asserts, OwnError, Logarithms, Moves, Subsets, Exact, Heap),
    *(Offset, Assignment),
)


class FromZero(Pairs):
    """Wrong: starts with a worth of 0, so that the first pair wins if all worths are negative."""

    def solve(self, means, rng):
        best, worth = (0, 1), 0.0
        for pair in PAIRS:
            if means[list(pair)].sum() > worth:
                best, worth = pair, means[list(pair)].sum()
        return np.array(best)


class ByAmount(Pairs):
    """Wrong: compares absolute values."""

    def solve(self, means, rng):
        return np.argsort(-np.abs(means), kind="stable")[:K]


class Indexes(Pairs):
    """Wrong: looks for a positive arm that does not exist."""

    def solve(self, means, rng):
        assert len(means) == N
        np.flatnonzero(means >= 0)[0]
        return super().solve(means, rng)


WRONG = (FromZero, ByAmount, Indexes)
