"""Artificial outcomes, which make the members of an ensemble differ where nothing was observed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray


class History(NamedTuple):
    """Artificial rows with random outcomes, different for each member of an ensemble.

    Each feature of an artificial row is drawn from the observed values of this feature. Its outcome is one of
    two values, with equal probability.

    Attributes
    ----------
    size : int
        The number of artificial rows.
    ends : tuple of float or None
        The two outcomes; None for the smallest and the largest observed outcome.
    first : int
        The number of the first member that has artificial rows.
    together : int
        The number of last columns that are copied together from one row, such as indicators of positions.

    References
    ----------
    I. Osband, B. Van Roy: Bootstrapped Thompson Sampling and Deep Exploration, arXiv:1507.00300 (2015),
    section 4 (from memory); the features are our own choice.
    """

    size: int
    ends: tuple[float, float] | None
    first: int = 0
    together: int = 0

    def added(
        self, rows: FloatArray, outcomes: FloatArray, weights: IntArray, seed: int
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return rows, outcomes and weights with the artificial rows of this seed added."""
        rng, (n, d) = np.random.default_rng(seed), rows.shape
        sources = rng.integers(n, size=(self.size, d))
        if self.together:
            sources[:, -self.together :] = sources[:, -1:]
        drawn = rows[sources, np.arange(d)]
        low, high = self.ends or (float(outcomes.min()), float(outcomes.max()))
        ends = np.where(rng.random(self.size) < 0.5, low, high)
        return (
            np.concatenate([rows, drawn]),
            np.concatenate([outcomes, ends]),
            np.concatenate([weights, np.ones(self.size, np.int64)]),
        )

    def around(self, estimator: Any, seed: int) -> Any:  # noqa: ARG002
        """Return the estimator as it is."""
        return estimator
