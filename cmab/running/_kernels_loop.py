"""The compiled loop of rounds: many rounds without returning to Python."""

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import typed_kernel
from cmab.compiled._kernels_signatures import LOOP, index_kernel, random_index_kernel
from cmab.compiled._kernels_statistics import observe, observe_outcomes


@index_kernel
def no_index(counts: IntArray, means: FloatArray, t: int, reals: FloatArray, out: FloatArray) -> None:
    """Stand where a random index rule takes its place."""


@random_index_kernel
def no_random_index(
    counts: IntArray, means: FloatArray, t: int, reals: FloatArray, rng: np.random.Generator, out: FloatArray
) -> None:
    """Stand where an index rule without randomness takes its place."""


@typed_kernel(LOOP)
def play_rounds(
    index: Any,
    random_index: Any,
    is_random: bool,
    policy_reals: FloatArray,
    solve: Any,
    oracle_integers: IntArray,
    oracle_reals: FloatArray,
    play: Any,
    environment_integers: IntArray,
    environment_reals: FloatArray,
    learner_rng: np.random.Generator,
    counters: IntArray,
    owners: IntArray,
    sizes: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    coins: np.random.Generator,
    last: int,
    progress: IntArray,
    checkpoints: IntArray,
    recorded: FloatArray,
    earned: FloatArray,
    super_arm: IntArray,
    indices: FloatArray,
) -> bool:
    """Play up to round `last`, inclusive, exactly as `Session` and `simulate` would one by one.

    The state (counters, means, deviations), the cumulative `earned` (realised and expected), what of it is
    `recorded` at `checkpoints`, and the last `super_arm` are changed in place; so is `progress`: rounds so
    far, next checkpoint, size of the last super arm. Returns whether the oracle did not end the run before.
    """
    n_arms = means.shape[0]
    shared = owners.shape[0] > 0
    counts = counters[owners] if shared else counters
    arms, outcomes, totals = np.empty(n_arms, np.int64), np.empty(n_arms), np.empty(2)
    ones = np.ones(n_arms, np.int64)
    for t in range(progress[0] + 1, last + 1):
        if is_random:
            random_index(counts, means, t, policy_reals, learner_rng, indices)
        else:
            index(counts, means, t, policy_reals, indices)
        size = solve(indices, oracle_integers, oracle_reals, super_arm)
        if size < 0:
            return False
        key = np.int64(coins.random() * 2.0**53)
        n = play(super_arm, size, key, environment_integers, environment_reals, arms, outcomes, totals)
        if shared:
            observe(n, arms, outcomes, ones, outcomes, counters, owners, sizes, means, deviations)
        else:
            observe_outcomes(n, arms, outcomes, counters, means, deviations)
        # As in the other loop: a function's references to its arrays would be counted in every round.
        earned[0] += totals[0]
        earned[1] += totals[1]
        progress[0], progress[2], position = t, size, progress[1]
        if position < checkpoints.shape[0] and checkpoints[position] == t:
            recorded[position, 0], recorded[position, 1] = earned[0], earned[1]
            progress[1] += 1
        if shared:
            for j in range(n):
                counts[arms[j]] = counters[owners[arms[j]]]
    return True
