"""lil'UCB's rule, by a scan and by a tree."""

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import kernel, typed_kernel
from cmab.compiled._kernels_signatures import EXPLORE_TREES
from cmab.compiled._kernels_statistics import observe_outcome
from cmab.compiled._kernels_trees import plant, put, tree_size
from cmab.confidence._kernels_radii import radius_at


@kernel
def largest_bound(means: FloatArray, radii: FloatArray, factor: float) -> int:
    """Return the arm with the largest ``mean + factor radius``; ties go to the lower index."""
    best = 0
    for i in range(means.shape[0]):
        if means[i] + factor * radii[i] > means[best] + factor * radii[best]:
            best = i
    return best


@kernel
def dominates(most: int, samples: int, ratio: float) -> bool:
    """Return whether an arm with `most` of all `samples` has `ratio` times as many as the others."""
    return bool(most >= 1.0 + ratio * (samples - most))


@typed_kernel(EXPLORE_TREES)
def explore_lil_ucb(
    integers: IntArray,
    reals: FloatArray,
    draw: Any,
    arm_integers: IntArray,
    arm_reals: FloatArray,
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    rng: np.random.Generator,
    coins: np.random.Generator,
    clock: IntArray,
    max_samples: int,
    max_steps: int,
) -> bool:
    """Do what `LilUCB` does, O(log n) a sample; `reals` as for trees, then factor and ratio."""
    n, table = means.shape[0], reals[:-2]
    factor, ratio = reals[reals.shape[0] - 2], reals[reals.shape[0] - 1]
    keys, winners = plant(1, tree_size(n))
    most = 0
    for i in range(n):
        put(keys, winners, 0, i, means[i] + factor * radius_at(counts[i], True, table), False)
        most = max(most, counts[i])
    for _ in range(max_steps):
        if dominates(most, clock[1], ratio) or clock[1] + 1 > max_samples:
            return True
        arm = winners[0, 1]
        observe_outcome(arm, draw(arm, arm_integers, arm_reals, coins), counts, means, deviations)
        most = max(most, counts[arm])
        put(keys, winners, 0, arm, means[arm] + factor * radius_at(counts[arm], True, table), False)
        clock[0] += 1
        clock[1] += 1
    return False
