"""Checks of the features and groups of arms."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import as_array, real_array, shown


def checked_features(
    name: str, features: ArrayLike, n_arms: int, dimension: int | None, norm: float
) -> FloatArray:
    """Return features as an array of shape (n_arms, dimension) with finite rows of norm at most `norm`.

    Parameters
    ----------
    name : str
        Name of the argument in error messages.
    features : array_like, shape (n_arms, d)
        One row for each arm.
    n_arms : int
        Number of arms.
    dimension : int or None
        The required d; None for any d of at least 1.
    norm : float
        Largest Euclidean norm of a row.

    Raises
    ------
    ValueError
        If the shape is wrong, an entry is not finite, or the norm of a row exceeds `norm`.

    Examples
    --------
    >>> from cmab.linear.features import checked_features
    >>> checked_features("features", [[3, 4]], 1, None, 1.0)
    Traceback (most recent call last):
        ...
    ValueError: features must have norms of at most norm=1, got 5 of arm 0: divide all by it, or set norm=5
    """
    array = real_array(name, features)
    wanted = "d" if dimension is None else dimension
    fits = array.ndim == 2 and array.shape[0] == n_arms and array.shape[1] > 0
    if not fits or (dimension is not None and array.shape[1] != dimension):
        raise ValueError(f"{name} must have shape ({n_arms}, {wanted}), got {array.shape}")
    squares = np.einsum("ij,ij->i", array, array)
    # Tolerate rounding: features that were divided by their own norms have norm 1. The comparison is also
    # false for nan and infinite entries.
    if not squares.max(initial=0.0) <= norm * norm * (1.0 + 1e-9):
        raise _refusal(name, array, squares, norm)
    return array


def _refusal(name: str, array: FloatArray, squares: FloatArray, norm: float) -> ValueError:
    wrong = array[~np.isfinite(array)]
    if len(wrong):
        return ValueError(f"{name} must be finite, got {float(wrong[0])}")
    arm = int(np.argmax(squares))
    size = math.hypot(*array[arm].tolist())
    return ValueError(
        f"{name} must have norms of at most norm={norm:g}, got {size:.6g} of arm {arm}: divide all by it, or"
        f" set norm={size:.6g}"
    )


def checked_groups(group: ArrayLike | None, n_arms: int) -> IntArray | None:
    """Return the group of each arm as consecutive integers from 0, or None if all arms form one group.

    Parameters
    ----------
    group : array_like of int, shape (n_arms,), or None
        Numbers of the groups, from 0.
    n_arms : int
        Number of arms.

    Raises
    ------
    ValueError
        If the shape or type is wrong, or a number between 0 and the largest one is missing.

    Examples
    --------
    >>> from cmab.linear.features import checked_groups
    >>> checked_groups([0, 1, 0], 3)
    array([0, 1, 0])
    """
    if group is None:
        return None
    array = as_array("groups", group)
    is_right = array.shape == (n_arms,) and array.dtype.kind in "iu"
    if not is_right or not np.array_equal(np.unique(array), np.arange(int(array.max()) + 1)):
        raise ValueError(
            f"groups must be one integer for each of {n_arms} arms, from 0 without gaps, got {shown(group)}"
        )
    numbers = array.astype(np.int64)
    numbers.setflags(write=False)
    return numbers
