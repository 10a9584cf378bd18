"""Matroids of linearly independent columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import Sense
from cmab.validation import real, real_array, shown
from oracles.matroids.base import Matroid


class LinearMatroid(Matroid):
    """The sets of columns that form a basis of the column space of a real matrix. Exact, up to rounding.

    Base arm i is column i. The oracle first divides each column by its length. An arm can join others if its
    distance from their span exceeds `tolerance`. Rounding changes distances by about 1e-16 times the
    condition number of the chosen columns. If this error, or a distance, is close to the tolerance, the rank
    is not well defined, and the answer may be below the optimum.

    Parameters
    ----------
    matrix : array_like, shape (dimension, n_arms)
        The matrix; its entries must be finite. A column of zeros is an arm that is in no super arm.
    tolerance : float
        The distance above which a column is independent of others, in (0, 1).
    sense : {"max", "min"}
        Whether to return the basis of largest or of smallest weight.

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
        # The rows of the pseudo-inverse, divided by their lengths, are normal to the spans of the other
        # columns. Their products with an arm in the span are its distances from these spans.
        normals = np.linalg.pinv(self._vectors[independent].T)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return lambda arm: independent[abs(normals @ self._vectors[arm]) > self.tolerance]


def _directions(vectors: FloatArray) -> FloatArray:
    """Return the rows divided by their lengths; rows of zeros are unchanged."""
    largest = abs(vectors).max(axis=1, keepdims=True)  # first, so that squares do not overflow or underflow
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    directions: FloatArray = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1.0)
    return directions
