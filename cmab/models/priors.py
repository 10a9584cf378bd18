"""Random prior functions, which make the members of an ensemble differ where nothing was observed."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.models import estimators

#: The number of random cosines of a prior function.
_COSINES = 32


class Priors:
    """The random prior functions of an ensemble, in the place of artificial rows.

    Attributes
    ----------
    ends : tuple of float or None
        The support. The prior functions have a standard deviation of a quarter of its length; of the
        deviation of the outcomes if it is None.
    first : int
        The number of the first member with a prior function.
    """

    def __init__(self, ends: tuple[float, float] | None, first: int = 0) -> None:
        self.ends, self.first = ends, first

    def added(
        self,
        rows: FloatArray,
        outcomes: FloatArray,
        weights: IntArray,
        seed: int,  # noqa: ARG002
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the data as they are."""
        return rows, outcomes, weights

    def around(self, estimator: Any, seed: int) -> Any:
        """Return the estimator of the differences between the outcomes and the prior function of a seed."""
        return WithPrior(estimator, seed, None if self.ends is None else (self.ends[1] - self.ends[0]) / 4.0)


class WithPrior:
    """An estimator that adds a fixed random function to a model of the remaining differences.

    Parameters
    ----------
    estimator : object
        The regressor.
    seed : int
        The seed of the function.
    scale : float or None
        The standard deviation of the function; None for that of the first outcomes.

    References
    ----------
    I. Osband, J. Aslanides, A. Cassirer: Randomized prior functions for deep reinforcement learning, NeurIPS
    2018, algorithm 1. A. Rahimi, B. Recht: Random features for large-scale kernel machines, NIPS 2007, for
    the cosines. From memory.
    """

    def __init__(self, estimator: Any, seed: int, scale: float | None) -> None:
        self.estimator, self.seed, self.scale = estimator, seed, scale
        self.shown_as = estimators.named(estimator)

    def fit(self, X: FloatArray, y: FloatArray) -> WithPrior:
        """Fit the estimator to the differences, and standardise the features of the prior function."""
        self._centre = X.mean(axis=0)
        deviations = X.std(axis=0)
        self._spread = np.where(deviations > 0.0, deviations, 1.0)
        rng, d = np.random.default_rng(self.seed), X.shape[1]
        self._turns = rng.standard_normal((d, _COSINES)) / np.sqrt(d)
        self._starts = rng.uniform(0.0, 2.0 * np.pi, _COSINES)
        scale = float(y.std()) if self.scale is None else self.scale
        self._factors = rng.standard_normal(_COSINES) * scale * np.sqrt(2.0 / _COSINES)
        self.estimator.fit(X, y - self.prior(X))
        return self

    def partial_fit(self, X: FloatArray, y: FloatArray) -> WithPrior:
        """Fit the estimator to further differences."""
        self.estimator.partial_fit(X, y - self.prior(X))
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the predictions of the estimator plus the prior function."""
        rest = np.asarray(self.estimator.predict(X))
        return (rest[:, 0] if rest.ndim == 2 and rest.shape[1] == 1 else rest) + self.prior(X)

    def prior(self, X: FloatArray) -> FloatArray:
        """Return the prior function of each row."""
        angles = (X - self._centre) / self._spread @ self._turns + self._starts
        values: FloatArray = np.cos(angles) @ self._factors
        return values
