"""The compiled loop of exploration, over any compiled rule and any compiled arms."""

import numpy as np

from cmab.compiled._kernels import loop_kernel
from cmab.compiled._kernels_exploration import (
    EXPLORE,
    MOST_SAMPLES,
    ROUNDS,
    SAMPLES,
    STEPS,
)
from cmab.compiled._kernels_statistics import observe_outcome


@loop_kernel(EXPLORE)
def explore(decide, is_random, rule, draw, arms, seen, streams):
    """Sample as `decide` says until it stops or the cap would be exceeded; return whether it is over.

    Every arm has an outcome already. What was `seen` is changed in place. It is not over after the steps that
    the clock allows, when the caller may look at signals and call again.
    """
    # Bundles are opened here: each look into one inside the loop would count references, which takes long.
    counts, means, deviations, clock = seen
    (integers, reals), (draw_integers, draw_reals), (learner, coins) = rule, arms, streams
    chosen = np.empty(means.shape[0], np.int64)
    for _ in range(clock[STEPS]):
        # The coin of the last step is drawn though nothing is sampled; the stream is not used after it.
        coin = learner.random() if is_random else 0.0
        size = decide(seen, coin, integers, reals, chosen)
        if size < 0 or clock[SAMPLES] + size > clock[MOST_SAMPLES]:
            return True
        for j in range(size):
            arm = chosen[j]
            observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
        clock[ROUNDS] += 1
        clock[SAMPLES] += size
    return False
