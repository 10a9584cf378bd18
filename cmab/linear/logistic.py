"""Logistic regression: the posterior mode by Newton's method."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray
from cmab.linear.factors import solve_definite
from cmab.linear.newton import minimum

_MOST_STEPS = 100


def expected(scores: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-score))`` without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.linear.logistic import expected
    >>> expected(np.array([-1e9, 0.0]))
    array([0. , 0.5])
    """
    means: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * scores))
    return means


def posterior_mode(
    precision: FloatArray, centre: FloatArray, rows: FloatArray, outcomes: FloatArray
) -> FloatArray:
    """Return the posterior mode of the coefficients for the prior ``N(centre, precision^-1)``.

    Parameters
    ----------
    precision : FloatArray, shape (d, d)
        Precision of the prior, positive definite.
    centre : FloatArray, shape (d,)
        Mean of the prior.
    rows : FloatArray, shape (n, d)
        Features of the observed arms.
    outcomes : FloatArray, shape (n,)
        Their outcomes, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.linear.logistic import posterior_mode
    >>> posterior_mode(np.eye(1), np.zeros(1), np.ones((3, 1)), np.ones(3)).round(4)
    array([0.8797])
    """

    def loss(theta: FloatArray) -> float:
        # Chapelle and Li (2011), Algorithm 3, with outcomes 0 and 1 instead of -1 and 1.
        away, scores = theta - centre, rows @ theta
        return float(0.5 * away @ precision @ away + (np.logaddexp(0.0, scores) - outcomes * scores).sum())

    if len(rows) == 1:
        # The mode is on the line through the centre along V^-1 x: it is centre + s V^-1 x.
        along = solve_definite(precision, rows[0])
        step_size = _root(float(outcomes[0]), float(rows[0] @ centre), float(rows[0] @ along))
        return centre + step_size * along

    def derivatives(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        means = expected(rows @ theta)
        slope = precision @ (theta - centre) + rows.T @ (means - outcomes)
        return slope, precision + (rows.T * (means * (1.0 - means))) @ rows

    return minimum(loss, derivatives, centre)


def _root(outcome: float, score: float, width: float) -> float:
    """Return the s with ``s = outcome - 1 / (1 + exp(-(score + s width)))``; `width` is at least 0."""
    low, high = outcome - 1.0, outcome
    s = 0.5 * (low + high)
    for _ in range(_MOST_STEPS):
        mean = 0.5 * (1.0 + math.tanh(0.5 * (score + s * width)))
        excess = s - outcome + mean
        low, high = (low, s) if excess > 0.0 else (s, high)
        # Newton's step, or bisection if Newton's step leaves the interval.
        then = s - excess / (1.0 + width * mean * (1.0 - mean))
        then = then if low < then < high else 0.5 * (low + high)
        if abs(then - s) <= 1e-15:
            break
        s = then
    return s
