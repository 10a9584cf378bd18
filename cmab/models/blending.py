"""Blends of the user's model with ridge regression, weighted by errors on rows that no fit has used."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.models import estimators
from cmab.models.background import Task

#: Ridge regression is left out beyond this number of features and rows, because its time grows with the cube.
_MOST = 2000


class Line(NamedTuple):
    """A linear function of the features."""

    slope: FloatArray
    constant: float

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the value of each row."""
        values: FloatArray = X @ self.slope + self.constant
        return values


class Blend(NamedTuple):
    """The mean of a model and a line, weighted by `share` and ``1 - share``."""

    model: Any
    line: Line
    share: float

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the prediction of each row."""
        if self.share == 0.0:
            return self.line.predict(X)
        return self.share * estimators.predict(self.model, X) + (1.0 - self.share) * self.line.predict(X)


def blended(tasks: list[Task], models: list[Any]) -> list[Any]:
    """Return the models, each blended with the ridge regression on its own rows.

    Parameters
    ----------
    tasks : list of tuple
        The arguments of the fits. A row of weight 0 was not used by a fit.
    models : list
        The fitted models.

    Notes
    -----
    For each pair of a model and an unused row, let y be the outcome, f the prediction of the model and g that
    of the line. All blends have the same share, which is the minimiser over [0, 1] of the sum of
    ``(y - share f - (1 - share) g)^2``.

    References
    ----------
    L. Breiman: Stacked regressions, Machine Learning 24 (1996); the use of rows left out by the bootstrap is
    from L. Breiman: Out-of-bag estimation (1996). Both from memory.
    """
    if min(tasks[0][1].shape) > _MOST:
        return models
    lines = [ridge(rows, outcomes, weights) for _, rows, outcomes, weights, _ in tasks]
    gains, squares = 0.0, 0.0
    for (_, rows, outcomes, weights, _), model, line in zip(tasks, models, lines, strict=True):
        unused = weights == 0
        if not unused.any():
            continue
        g = line.predict(rows[unused])
        apart = estimators.predict(model, rows[unused]) - g
        gains += float(apart @ (outcomes[unused] - g))
        squares += float(apart @ apart)
    best = gains / squares if squares > 0.0 else 1.0
    share = min(1.0, max(0.0, best)) if np.isfinite(best) else 1.0
    if share == 1.0:
        return models
    return [Blend(model, line, share) for model, line in zip(models, lines, strict=True)]


def ridge(rows: FloatArray, outcomes: FloatArray, weights: IntArray) -> Line:
    """Return ridge regression on standardised features, with the penalty 1.

    Parameters
    ----------
    rows : FloatArray, shape (n, d)
        The features.
    outcomes : FloatArray, shape (n,)
        The outcomes.
    weights : IntArray, shape (n,)
        How often each row counts.
    """
    if not weights.any():
        return Line(np.zeros(rows.shape[1]), float(outcomes.mean()) if len(outcomes) else 0.0)
    centre = np.average(rows, axis=0, weights=weights)
    spread = np.sqrt(np.average((rows - centre) ** 2, axis=0, weights=weights))
    # A constant feature has rounding errors of this size, which a division would enlarge.
    spread[spread <= 1e-9 * np.abs(rows).max(axis=0, initial=0.0)] = np.inf
    root = np.sqrt(weights.astype(np.float64))
    scaled, mean = (rows - centre) / spread * root[:, None], float(np.average(outcomes, weights=weights))
    rest, (n, d) = (outcomes - mean) * root, rows.shape
    if d <= n:
        slope = np.linalg.solve(scaled.T @ scaled + np.eye(d), scaled.T @ rest)
    else:
        slope = scaled.T @ np.linalg.solve(scaled @ scaled.T + np.eye(n), rest)
    slope = slope / spread
    return Line(slope, mean - float(centre @ slope))
