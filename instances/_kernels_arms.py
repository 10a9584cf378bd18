"""The compiled doors of arms: outcomes of a round from its key."""

import numpy as np

from cmab._kernels import kernel
from cmab._kernels_doors import draw_kernel, play_kernel
from cmab._kernels_random import keyed_uniform, normal_quantile
from cmab.arrays import FloatArray, IntArray


@kernel
def sum_in_order(values: FloatArray) -> float:
    """Return the sum from the first entry to the last, as the fused loop adds up."""
    total = 0.0
    for value in values:
        total += value
    return total


@play_kernel
def play_bernoulli(
    super_arm: IntArray,
    size: int,
    key: int,
    integers: IntArray,
    reals: FloatArray,
    arms: IntArray,
    outcomes: FloatArray,
    totals: FloatArray,
) -> int:
    """Outcomes of 0 and 1; `reals` holds the means."""
    totals[0], totals[1] = 0.0, 0.0
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        outcomes[j] = 1.0 if keyed_uniform(key, arm) < reals[arm] else 0.0
        totals[0] += outcomes[j]
        totals[1] += reals[arm]
    return size


@play_kernel
def play_gaussian(
    super_arm: IntArray,
    size: int,
    key: int,
    integers: IntArray,
    reals: FloatArray,
    arms: IntArray,
    outcomes: FloatArray,
    totals: FloatArray,
) -> int:
    """Normal outcomes; `reals` holds the means and, last, the standard deviation."""
    sigma = reals[reals.shape[0] - 1]
    totals[0], totals[1] = 0.0, 0.0
    for j in range(size):
        arm = super_arm[j]
        arms[j] = arm
        outcomes[j] = reals[arm] + sigma * normal_quantile(keyed_uniform(key, arm))
        totals[0] += outcomes[j]
        totals[1] += reals[arm]
    return size


@draw_kernel
def pull_bernoulli(arm: int, integers: IntArray, reals: FloatArray, rng: np.random.Generator) -> float:
    """One outcome of 0 or 1; `reals` holds the means."""
    return 1.0 if rng.random() < reals[arm] else 0.0


@draw_kernel
def pull_gaussian(arm: int, integers: IntArray, reals: FloatArray, rng: np.random.Generator) -> float:
    """One normal outcome; `reals` holds the means and, last, the standard deviation."""
    return float(reals[arm] + reals[reals.shape[0] - 1] * rng.standard_normal())


@kernel
def normal_quantiles(uniforms: FloatArray) -> FloatArray:
    """Return `normal_quantile` of every entry."""
    out = np.empty(uniforms.shape[0])
    for i in range(uniforms.shape[0]):
        out[i] = normal_quantile(uniforms[i])
    return out
