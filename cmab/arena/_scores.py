"""The scores of the arena, computed from the regrets of all replications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray

#: The floor of regrets, as a share of the benchmark: smaller regrets count as equal.
FLOOR = 0.001
#: Problems on which a ratio is at most this number count as close to the best.
CLOSE = 1.5
#: The quantile over replications that is compared with the median of the reference.
TAIL = 0.95


@dataclass(frozen=True, eq=False)
class Regrets:
    """The final regrets of all entries on one problem, after a tenth of the rounds and after all rounds.

    Attributes
    ----------
    values : FloatArray, shape (2, R, E)
        The regret of each replication and entry; ``nan`` for an entry that does not play.
    floors : FloatArray, shape (2,)
        The floors: `FLOOR` times the mean benchmark.
    """

    values: FloatArray
    floors: FloatArray

    @property
    def best(self) -> IntArray:
        """The entry with the smallest mean regret after a tenth of the rounds and after all, shape (2,)."""
        return np.asarray(np.nanargmin(self.values.mean(axis=1), axis=1), np.int64)

    def ratios(self, weights: FloatArray | None = None) -> FloatArray:
        """Return the mean regret of each entry divided by that of the best, shape (..., 2, E).

        Both means are at least the floor. `weights`, of shape (..., R), are the weights of the replications.
        They are the same for all entries, and the best entry does not depend on them.
        """
        if weights is None:
            means = self.values.mean(axis=1)
        else:
            means = np.einsum("...r,hre->...he", weights, self.values)
        raised = np.maximum(means, self.floors[:, None])
        return np.asarray(raised / raised[..., [0, 1], self.best][..., None], np.float64)

    def tails(self, reference: int | None) -> FloatArray:
        """Return the 95th percentile over replications, divided by the median of the reference, shape (2, E).

        Both are at least the floor. Without a reference, the result is ``nan``.
        """
        if reference is None:
            return np.full(self.values[:, 0].shape, np.nan)
        high = np.maximum(np.quantile(self.values, TAIL, axis=1), self.floors[:, None])
        median = np.maximum(np.median(self.values[:, :, reference], axis=1), self.floors)
        return np.asarray(high / median[:, None], np.float64)


def resampled(n: int, times: int, rng: np.random.Generator) -> FloatArray:
    """Return bootstrap weights of n replications, shape (times, n)."""
    return rng.multinomial(n, np.full(n, 1.0 / n), size=times) / n


def summarised(ratios: FloatArray) -> dict[str, FloatArray]:
    """Return the scores of entries from their ratios.

    Parameters
    ----------
    ratios : FloatArray, shape (..., C, E)
        The ratio of each case (problem and horizon) and entry; ``nan`` if the entry does not play it.

    Returns
    -------
    dict of FloatArray, shape (..., E)
        The geometric mean, the worst ratio, and the share of cases with a ratio of at most `CLOSE`. They are
        ``nan`` for an entry without a case.
    """
    played: BoolArray = np.isfinite(ratios)
    count = played.sum(axis=-2)
    known = np.where(played, ratios, 1.0)
    some = np.where(count > 0, 1.0, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.exp(np.log(known).sum(axis=-2) / count)
        close = (played & (known <= CLOSE)).sum(axis=-2) / count
    return {"mean": mean * some, "worst": known.max(axis=-2, initial=1.0) * some, "close": close * some}


def interval(draws: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return the percentile interval of bootstrap draws, which are the first axis."""
    low, high = np.quantile(draws, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return low, high


def stacked(parts: Sequence[FloatArray]) -> FloatArray:
    """Return ratios of shape (..., 2 P, E) from those of P problems, each of shape (..., 2, E)."""
    return np.concatenate(list(parts), axis=-2)
