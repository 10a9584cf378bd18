"""The compiled loop of exploration, over any compiled rule and any compiled arms."""

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import typed_kernel
from cmab.compiled._kernels_signatures import EXPLORE
from cmab.compiled._kernels_statistics import observe_outcome


@typed_kernel(EXPLORE)
def explore(
    decide: Any,
    is_random: bool,
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
    """Sample as `decide` says until it stops or `max_samples` would be exceeded; return whether it is over.

    Every arm has an outcome already. The state and ``clock = (rounds, samples)`` are changed in place. It
    is not over after `max_steps` steps, when the caller may look at signals and call again.
    """
    chosen = np.empty(means.shape[0], np.int64)
    for _ in range(max_steps):
        coin = rng.random() if is_random else 0.0
        size = decide(counts, means, deviations, clock[0], clock[1], coin, integers, reals, chosen)
        if size < 0 or clock[1] + size > max_samples:
            return True
        for j in range(size):
            arm = chosen[j]
            observe_outcome(arm, draw(arm, arm_integers, arm_reals, coins), counts, means, deviations)
        clock[0] += 1
        clock[1] += size
    return False
