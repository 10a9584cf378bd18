"""Factors of matrices that are positive definite, but for rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray


def cholesky(precision: FloatArray) -> Any:
    """Return the lower Cholesky factors, with a larger ridge where rounding has lost it."""
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
    """Return x with ``matrix @ x = right``, for one matrix and one vector."""
    factor = cholesky(matrix[None])[0]
    solved: FloatArray = np.linalg.solve(factor.T, np.linalg.solve(factor, right))
    return solved
