"""The loop of many replications side by side, around an oracle that answers for all of them at once."""

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import typed_kernel
from cmab.compiled._kernels_signatures import BATCHED_LOOP
from cmab.compiled._kernels_statistics import observe


@typed_kernel(BATCHED_LOOP)
def play_batch(
    index: Any,
    is_random: bool,
    policy_reals: FloatArray,
    ask: Any,
    oracle_integers: IntArray,
    play: Any,
    environment_integers: IntArray,
    environment_reals: FloatArray,
    keys: IntArray,
    owners: IntArray,
    sizes: IntArray,
    counters: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    indices: FloatArray,
    super_arms: IntArray,
    lengths: IntArray,
    earned: FloatArray,
    progress: IntArray,
    checkpoints: IntArray,
    recorded: FloatArray,
) -> None:
    """Play as many rounds as `keys` has columns, or until `ask` answers a negative number.

    A row belongs to a replication. `ask` fills `super_arms` and `lengths`, and before that `indices` too if
    the index rule is a random one. The rest is as in ``play_rounds``.
    """
    n_arms = means.shape[1]
    arms, outcomes, totals = np.empty(n_arms, np.int64), np.empty(n_arms), np.empty(2)
    ones = np.ones(n_arms, np.int64)
    for column in range(keys.shape[1]):
        t = progress[0] + 1
        if not is_random:
            for row in range(means.shape[0]):
                counts = counters[row][owners] if owners.shape[0] > 0 else counters[row]
                index(counts, means[row], t, policy_reals, indices[row])
        if ask(indices[0], oracle_integers, policy_reals, lengths) < 0:
            return
        for row in range(means.shape[0]):
            key, arm, size = keys[row, column], super_arms[row], lengths[row]
            n = play(arm, size, key, environment_integers, environment_reals, arms, outcomes, totals)
            learned = (counters[row], owners, sizes, means[row], deviations[row])
            observe(n, arms, outcomes, ones, outcomes, *learned)
            earned[row, 0] += totals[0]
            earned[row, 1] += totals[1]
        progress[0], position = t, progress[1]
        if position < checkpoints.shape[0] and checkpoints[position] == t:
            for row in range(means.shape[0]):
                recorded[row, position, 0], recorded[row, position, 1] = earned[row, 0], earned[row, 1]
            progress[1] += 1
