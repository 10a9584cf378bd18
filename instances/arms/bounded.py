"""Arms with outcomes in an interval: Beta distributions and recorded outcomes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.validation import ends, frozen, listed, vector
from instances.arms.arms import Arms


class BetaArms(Arms):
    """Base arms with outcomes in [0, 1] from Beta distributions.

    Parameters
    ----------
    a, b : array_like, shape (n_arms,)
        Parameters of the distribution of each arm, positive. The mean is ``a / (a + b)``.

    Examples
    --------
    >>> from instances import BetaArms
    >>> BetaArms(a=[1.0, 3.0], b=[1.0, 1.0]).means
    array([0.5 , 0.75])
    """

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        smallest = float(np.nextafter(0.0, 1.0))
        self.a = frozen(vector("a", a, low=smallest))
        self.b = frozen(vector("b", b, len(self.a), low=smallest))
        self.means = frozen(self.a / (self.a + self.b))

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return rng.beta(self.a[arms], self.b[arms])

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        from scipy.special import betaincinv

        return np.asarray(betaincinv(self.a[arms], self.b[arms], uniforms), np.float64)


class EmpiricalArms(Arms):
    """Base arms with outcomes drawn uniformly, with replacement, from recorded outcomes.

    Parameters
    ----------
    samples : sequence of array_like
        The recorded outcomes of each arm, at least one per arm.
    support : tuple of float
        An interval that contains all outcomes.

    Examples
    --------
    >>> from instances import EmpiricalArms
    >>> EmpiricalArms([[0.0, 1.0, 1.0, 1.0], [0.2]]).means
    array([0.75, 0.2 ])
    """

    def __init__(self, samples: Sequence[ArrayLike], support: tuple[float, float] = (0.0, 1.0)) -> None:
        low, high = ends("support", support)
        given = listed("samples", samples, "outcomes")
        recorded = [vector(f"samples[{i}]", values, None, low, high) for i, values in enumerate(given)]
        empty = [i for i, values in enumerate(recorded) if len(values) == 0]
        if empty or not recorded:
            raise ValueError(f"samples must have at least one outcome per arm, got none for arms {empty}")
        self.support = (low, high)
        self._sizes = np.array([len(values) for values in recorded], np.int64)
        # All records in one array: the outcomes of arm i begin at starts[i], and there are sizes[i] of them.
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])
        self._outcomes = frozen(np.concatenate(recorded))
        self.means = frozen(np.array([values.mean() for values in recorded]))

    def __repr__(self) -> str:
        return described(self, outcomes=len(self._outcomes), means=self.means)

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return self.quantile(arms, rng.random(len(arms)))

    def quantile(self, arms: IntArray, uniforms: FloatArray) -> FloatArray:
        # Uniform numbers are below 1, and their product with a size rounds to less than the size.
        position = (uniforms * self._sizes[arms]).astype(np.int64)
        return self._outcomes[self._starts[arms] + position]

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums and sums of squares, from single draws or, for many pulls, from multinomial counts."""
        arms, pulls = self._check_pulls(arms, pulls)
        sums, squares = np.empty(len(arms)), np.empty(len(arms))
        for i, (arm, n) in enumerate(zip(arms, pulls, strict=True)):
            values = self._outcomes[self._starts[arm] : self._starts[arm] + self._sizes[arm]]
            if n < len(values):
                drawn = values[rng.integers(len(values), size=n)]
                sums[i], squares[i] = drawn.sum(), drawn @ drawn
                continue
            times = rng.multinomial(n, np.full(len(values), 1 / len(values)))
            sums[i], squares[i] = times @ values, times @ values**2
        return sums, squares
