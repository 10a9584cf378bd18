"""Minima of smooth convex functions by Newton's method."""

from __future__ import annotations

from collections.abc import Callable

from cmab.arrays import FloatArray
from cmab.linear.factors import solve_definite

_MOST_STEPS = 100


def minimum(
    loss: Callable[[FloatArray], float],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    start: FloatArray,
) -> FloatArray:
    """Return the minimiser of a strictly convex function, up to rounding.

    Parameters
    ----------
    loss : callable
        The function of an array of shape (d,).
    derivatives : callable
        Its gradient, shape (d,), and its Hessian, shape (d, d), which must be positive definite.
    start : FloatArray, shape (d,)
        The starting point.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.linear.newton import minimum
    >>> def derivatives(x):
    ...     return np.sinh(x), np.diag(np.cosh(x))
    >>> minimum(lambda x: float(np.cosh(x[0])), derivatives, np.full(1, 2.0)).round(6) + 0.0
    array([0.])
    """
    theta, now = start, loss(start)
    for _ in range(_MOST_STEPS):
        slope, curvature = derivatives(theta)
        step = solve_definite(curvature, slope)
        gain, length = float(slope @ step), 1.0
        # Far from the minimum the Hessian changes, and a full step may overshoot: shorten the step.
        while (then := loss(theta - length * step)) > now - 0.25 * length * gain and length > 1e-9:
            length /= 2.0
        if not then < now:
            break
        theta, now = theta - length * step, then
        if gain < 1e-14 * (1.0 + abs(now)):
            break
    return theta
