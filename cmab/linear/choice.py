"""Multinomial logit: the posterior mode after a choice of at most one of several items."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray
from cmab.linear.newton import minimum


def chances(utilities: FloatArray) -> FloatArray:
    """Return ``exp(u_i) / (1 + sum exp(u))``, the probability of each choice, without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.linear.choice import chances
    >>> chances(np.array([1e9, 0.0])), chances(np.zeros(3))
    (array([1., 0.]), array([0.25, 0.25, 0.25]))
    """
    highest = max(0.0, float(utilities.max(initial=0.0)))
    weights = np.exp(utilities - highest)
    shares: FloatArray = weights / (math.exp(-highest) + weights.sum())
    return shares


def information(rows: FloatArray, theta: FloatArray, n: float) -> FloatArray:
    """Return the Hessian of minus the log-likelihood of `n` choices among `rows`, shape (d, d)."""
    shares = chances(rows @ theta)
    mean = shares @ rows
    # The covariance of the features of the choice, which are 0 for no choice. A sum of squares avoids
    # cancellation.
    scaled = np.sqrt(n * shares)[:, None] * (rows - mean)
    nothing = math.sqrt(n * max(0.0, 1.0 - float(shares.sum()))) * mean
    curvature: FloatArray = scaled.T @ scaled + np.outer(nothing, nothing)
    return curvature


def choice_mode(
    precision: FloatArray, centre: FloatArray, rows: FloatArray, chosen: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior mode of the coefficients for the prior ``N(centre, precision^-1)``.

    Parameters
    ----------
    precision : FloatArray, shape (d, d)
        Precision of the prior, positive definite.
    centre : FloatArray, shape (d,)
        Mean of the prior.
    rows : FloatArray, shape (n, d)
        Features of the items of the assortment.
    chosen : FloatArray, shape (n,)
        Number of choices of each item, at least 0. If they sum to less than 1, the rest is "no choice".

    Returns
    -------
    FloatArray, shape (d,)
        The mode.
    FloatArray, shape (d, d)
        The Hessian of minus the log-likelihood at the mode, which the choices add to the precision.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.linear.choice import choice_mode
    >>> choice_mode(np.eye(2), np.zeros(2), np.eye(2), np.array([1.0, 0.0]))[0].round(4)
    array([ 0.517, -0.229])
    """
    n = max(1.0, float(chosen.sum()))

    def loss(theta: FloatArray) -> float:
        away, utilities = theta - centre, rows @ theta
        # Oh and Iyengar (2021), equation 2: the likelihood of choices, with the prior instead of the ridge.
        surprise = n * float(np.logaddexp.reduce(utilities, initial=0.0)) - float(chosen @ utilities)
        return float(0.5 * away @ precision @ away) + surprise

    def derivatives(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        slope = precision @ (theta - centre) + (n * chances(rows @ theta) - chosen) @ rows
        return slope, precision + information(rows, theta, n)

    mode = minimum(loss, derivatives, centre)
    return mode, information(rows, mode, n)
