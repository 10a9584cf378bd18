"""Matroids of arms that can be matched to different sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

import numpy as np

from cmab.arrays import ArrayLike, IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.validation import arm_indices, integer, listed
from oracles.matroids.base import Matroid

_MOST = 2**31 - 1


class TransversalMatroid(Matroid):
    """Sets of arms that can be matched to different sets, each arm to a set that contains it. Exact.

    For example, workers can each be given one job: the arms are workers, a set lists the workers able to do
    one job, and the value of a match depends only on the worker. If the value depends on the pair, use
    `Matching`.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1. Arms that are in no set are in no super arm.
    sets : iterable of array_like of int
        The distinct arms of each set. Sets may overlap and repeat.
    sense : {"max", "min"}
        Whether to return the basis of largest or of smallest weight.

    Examples
    --------
    Arms 0 and 1 can only do the first job:

    >>> import numpy as np
    >>> from oracles import TransversalMatroid
    >>> oracle = TransversalMatroid(4, [[0, 1, 2], [2, 3]])
    >>> oracle.solve(np.array([0.9, 0.8, 0.1, 0.2]), np.random.default_rng(0))
    array([0, 3])

    References
    ----------
    J. Edmonds, D. R. Fulkerson: Transversals and matroid partition, Journal of Research of the National
    Bureau of Standards 69B (1965).
    """

    def __init__(self, n_arms: int, sets: Iterable[ArrayLike | Set[int]], *, sense: Sense = "max") -> None:
        n_arms = integer("n_arms", n_arms, 1, _MOST)
        given = listed("sets", sets, "arrays of arms")
        members = [arm_indices(f"sets[{i}]", arms, n_arms) for i, arms in enumerate(given)]
        arms = np.concatenate([np.empty(0, np.int64), *members])
        numbers = np.repeat(np.arange(len(members)), [len(each) for each in members])
        # The sets of arm i, in increasing order, are self._sets[self._offsets[i] : self._offsets[i + 1]].
        self._sets = numbers[np.argsort(arms, kind="stable")]
        self._offsets = np.concatenate(([0], np.cumsum(np.bincount(arms, minlength=n_arms))))
        self._n_sets = len(members)
        self._complete(n_arms, sense)

    def __repr__(self) -> str:
        return described(self, rank=self.rank, sets=self._n_sets)

    def _match(self, order: IntArray) -> tuple[IntArray, IntArray]:
        """Return the chosen arms and the representative of each set, -1 for an unmatched set."""
        from oracles.matroids._kernels_greedy import transversal_greedy

        holder = np.full(self._n_sets, -1, np.int64)
        return np.flatnonzero(transversal_greedy(order, self._offsets, self._sets, holder)), holder

    def _greedy(self, order: IntArray) -> IntArray:
        return self._match(order)[0]

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        from oracles.matroids._kernels_greedy import search

        _, holder = self._match(independent)
        reached_by = np.empty(self._n_sets, np.int64)
        queue = np.empty(self._n_sets + 1, np.int64)

        def circuit(arm: int) -> IntArray:
            seen = np.zeros(self._n_sets, bool)
            _, reached = search(arm, self._offsets, self._sets, holder, reached_by, seen, queue)
            return queue[1:reached].copy()

        return circuit
