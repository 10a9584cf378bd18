"""The compiled loop of exploration, for any compiled rule and any compiled arms."""

import numpy as np

from cmab.compiled import EXPLORE, MOST_SAMPLES, ROUNDS, SAMPLES, STEPS, loop_kernel
from cmab.statistics import observe_outcome


@loop_kernel(EXPLORE)
def explore(decide, is_random, rule, draw, arms, seen, streams):
    """Sample the arms that `decide` chooses, and return whether the run is over.

    The run is over if `decide` stops or if the next samples would exceed the limit. Every arm must already
    have an outcome. The loop updates `seen` in place. It returns False after the number of steps in the
    clock, so the caller can handle signals and call the loop again.
    """
    # The tuples are unpacked here because access inside the loop would count references, which is slow.
    counts, means, deviations, clock = seen
    (integers, reals), (draw_integers, draw_reals), (learner, coins) = rule, arms, streams
    chosen = np.empty(means.shape[0], np.int64)
    for _ in range(clock[STEPS]):
        # The last step draws a coin without a sample. Nothing uses the random generator after it.
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
