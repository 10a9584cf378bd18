"""Linearly independent columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import Sense
from cmab.validation import real, real_array, shown
from oracles.matroids.base import Matroid


class LinearMatroid(Matroid):
    """The bases of the space that the columns of a real matrix span. Exact, up to rounding.

    Base arm i is column i. Columns count by their directions: each is first divided by its length. An arm can
    join others if its distance from the space that they span is above `tolerance`. Rounding moves distances
    by about 1e-16 times the condition number of the columns taken; where that or a distance itself comes
    near the tolerance there is no clear rank, and the answer may fall short of the optimum.

    Parameters
    ----------
    matrix : array_like, shape (dimension, n_arms)
        Finite. A column of zeros is an arm that no super arm contains.
    tolerance : float
        In (0, 1).
    sense : {"max", "min"}
        Whether the basis of largest or of smallest weight is wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import LinearMatroid
    >>> oracle = LinearMatroid([[1, 0, 1, 2], [0, 1, 1, 0]])
    >>> oracle.solve(np.array([0.8, 0.1, 0.5, 0.9]), np.random.default_rng(0))
    array([2, 3])
    """

    def __init__(self, matrix: ArrayLike, tolerance: float = 1e-8, *, sense: Sense = "max") -> None:
        columns = real_array("matrix", matrix)
        if columns.ndim != 2 or 0 in columns.shape:
            raise ValueError(f"matrix must be 2-D with rows and columns, got shape {columns.shape}")
        if not np.isfinite(columns).all():
            raise ValueError(f"matrix must be finite, got {shown(columns.tolist())}")
        self._vectors = _directions(np.ascontiguousarray(columns.T))
        self.tolerance = real("tolerance", tolerance, 0.0, 1.0, inside=True)
        self._complete(len(self._vectors), sense)

    def _greedy(self, order: IntArray) -> IntArray:
        from oracles.matroids._kernels_greedy import linear_greedy

        return np.flatnonzero(linear_greedy(order, self._vectors, self.tolerance))

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        # Rows of the pseudo-inverse, divided by their lengths, are the normals of the others' spans: their
        # products with an arm in the span are its distances from them.
        normals = np.linalg.pinv(self._vectors[independent].T)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return lambda arm: independent[abs(normals @ self._vectors[arm]) > self.tolerance]


def _directions(vectors: FloatArray) -> FloatArray:
    """Return the rows divided by their lengths, rows of zeros as they are."""
    largest = abs(vectors).max(axis=1, keepdims=True)  # first, lest squares overflow or vanish
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    directions: FloatArray = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1.0)
    return directions
