"""Factors of matrices that are positive definite up to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray

# From this number of features, or below this number of groups, one LAPACK call for each matrix is faster than
# one batched solve.
_LARGE, _FEW = 8, 25


def cholesky(precision: FloatArray) -> Any:
    """Return the lower Cholesky factors. Increase the ridge if rounding has made a matrix indefinite."""
    room: Any = None
    while True:
        try:
            return np.linalg.cholesky(precision)
        except np.linalg.LinAlgError:
            if not np.isfinite(precision).all():
                raise
            if room is None:
                traces = np.trace(precision, axis1=1, axis2=2)[:, None, None]
                room = np.finfo(float).eps * traces * np.eye(precision.shape[-1])
            precision, room = precision + room, 4.0 * room


def solve_definite(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return x such that ``matrix @ x = right``, for one matrix and one vector."""
    from scipy.linalg import cho_solve

    factor = cholesky(matrix[None])[0]
    solved: FloatArray = np.asarray(cho_solve((factor, True), right, check_finite=False), np.float64)
    return solved


def inverses(factors: FloatArray) -> FloatArray:
    """Return the inverses of lower triangular matrices, shape (groups, d, d).

    The entries above the diagonal are exactly 0.
    """
    n, d = factors.shape[:2]
    if d < _LARGE and n >= _FEW:
        solved: Any = np.linalg.solve(factors, np.broadcast_to(np.eye(d), factors.shape))
        return np.tril(solved)  # drop rounding errors above the diagonal
    from scipy.linalg.lapack import dtrtri

    # A ninth of the operations of a general solve, because the factors are triangular.
    inverted = np.empty_like(factors)
    for number in range(n):
        inverted[number] = dtrtri(factors[number], lower=1)[0]
    return inverted
