"""The compiled forms of arms in pure exploration: single outcomes from a generator."""

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import borrows, draw_kernel


@draw_kernel
@borrows
def pull_bernoulli(arm: int, integers: IntArray, reals: FloatArray, rng: np.random.Generator) -> float:
    """One outcome of 0 or 1; `reals` holds the means."""
    # One number of the stream an outcome, as numpy takes them for a vector of arms: both loops see the same.
    return 1.0 if rng.random() < reals[arm] else 0.0


@draw_kernel
@borrows
def pull_gaussian(arm: int, integers: IntArray, reals: FloatArray, rng: np.random.Generator) -> float:
    """One normal outcome; `reals` holds the means and, last, the standard deviation."""
    return float(reals[arm] + reals[reals.shape[0] - 1] * rng.standard_normal())
