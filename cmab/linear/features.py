"""Features of the arms, checked before a learner computes with them."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import as_array, real_array, shown


def checked_features(
    name: str, features: ArrayLike, n_arms: int, dimension: int | None, norm: float
) -> FloatArray:
    """Return features as an array of shape (n_arms, dimension), of finite rows that are not too long.

    Parameters
    ----------
    name : str
        What an error calls them.
    features : array_like, shape (n_arms, d)
        One row for each arm.
    n_arms : int
        Number of arms.
    dimension : int or None
        The d that is wanted; None for any from 1 on.
    norm : float
        Largest Euclidean norm of a row.

    Raises
    ------
    ValueError
        If the shape is another one, an entry is not finite, or a row is longer than `norm`.

    Examples
    --------
    >>> from cmab.linear.features import checked_features
    >>> checked_features("features", [[3, 4]], 1, None, 1.0)
    Traceback (most recent call last):
        ...
    ValueError: features must have norms of at most norm=1, got 5 of arm 0: divide all by it, or say norm=5
    """
    array = real_array(name, features)
    wanted = "d" if dimension is None else dimension
    fits = array.ndim == 2 and array.shape[0] == n_arms and array.shape[1] > 0
    if not fits or (dimension is not None and array.shape[1] != dimension):
        raise ValueError(f"{name} must have shape ({n_arms}, {wanted}), got {array.shape}")
    squares = np.einsum("ij,ij->i", array, array)
    # Room for rounding: features that were divided by their own norms have norm 1. What is not finite, or
    # overflows, is not at most `norm` either.
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
        f" say norm={size:.6g}"
    )


def checked_groups(group: ArrayLike | None, n_arms: int) -> IntArray | None:
    """Return the group of each arm as numbers without gaps; None where all arms are of one.

    Parameters
    ----------
    group : array_like of int, shape (n_arms,), or None
        Numbers of groups, from 0 on.
    n_arms : int
        Number of arms.

    Raises
    ------
    ValueError
        If it is of another shape or type, or a number between is left out.

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
