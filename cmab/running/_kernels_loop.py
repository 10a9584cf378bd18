"""The compiled loop of rounds, which does not return to Python between rounds."""

import math

import numpy as np

from cmab.compiled import lean_kernel, loop_kernel
from cmab.running._kernels_bundles import (
    CHECKPOINT,
    LAST,
    LOOP,
    PLAYED,
    SIZE,
)
from cmab.statistics import observe_outcomes


@lean_kernel
def are_finite(values):
    """Return whether no value is infinite or nan."""
    finite = True
    for value in values:
        finite &= math.isfinite(value)
    return finite


@loop_kernel(LOOP, is_lean=True)
def play_rounds(index, learn, solve, play, arguments, learned, log, streams):
    """Play up to and including the last round in `log`, with the same results as the Python loop.

    `learned` and `log` are changed in place. The function returns False if the oracle or an index that is not
    finite ended the run earlier, and True otherwise.
    """
    counters, means, deviations, memory = learned
    policy, learns, oracle_integers, oracle_reals, environment_integers, environment_reals = arguments[:6]
    progress, checkpoints, recorded, earned, super_arm, indices = log[:6]
    arms, outcomes, totals = log[6:9]
    learner, coins = streams
    for t in range(progress[PLAYED] + 1, progress[LAST] + 1):
        index(counters, means, deviations, memory, t, policy, learner, indices)
        # Compiled oracles do not check indices and would also return a super arm for nan.
        if arguments.is_watched and not are_finite(indices):
            return False
        size = solve(indices, oracle_integers, oracle_reals, super_arm)
        if size < 0:
            return False
        # One draw per round for any super arm, so that all policies share the random numbers.
        key = np.int64(coins.random() * 2.0**53)
        n = play(super_arm, size, key, environment_integers, environment_reals, arms, outcomes, totals)
        observe_outcomes(n, arms, outcomes, counters, means, deviations)
        if learns:
            learn(arms, n, outcomes, t, policy, memory)
        # Not a separate function, which would count references to the arrays of `log` in each round.
        earned[0] += totals[0]
        earned[1] += totals[1]
        progress[PLAYED], progress[SIZE], position = t, size, progress[CHECKPOINT]
        if position < checkpoints.shape[0] and checkpoints[position] == t:
            recorded[position, 0], recorded[position, 1] = earned[0], earned[1]
            progress[CHECKPOINT] += 1
    return True
