"""The compiled loop of many replications, with one call of the oracle per round for all of them."""

from cmab.compiled import kernel, loop_kernel
from cmab.running._kernels_bundles import BATCHED_LOOP, CHECKPOINT, PLAYED
from cmab.statistics import observe_outcomes


@kernel
def finish_rows(t, log):
    """Record the rewards of all replications at a checkpoint."""
    log.progress[PLAYED], position = t, log.progress[CHECKPOINT]
    if position < log.checkpoints.shape[0] and log.checkpoints[position] == t:
        log.recorded[:, position] = log.earned
        log.progress[CHECKPOINT] += 1


@loop_kernel(BATCHED_LOOP)
def play_batch(index, learn, ask, play, arguments, learned, log, rows):
    """Play one round for each column of `rows.keys`, or until `ask` returns a negative number.

    Each row belongs to a replication. `ask` writes the super arms and sizes of all replications. Otherwise
    the function is like ``play_rounds``.
    """
    counters, means, deviations, memory = learned
    policy, learns, oracle_integers, _, environment_integers, environment_reals = arguments[:6]
    indices, keys = log.indices, rows.keys
    n_rows = means.shape[0]
    arms, outcomes, totals = log.arms, log.outcomes, log.totals
    for column in range(keys.shape[1]):
        t = log.progress[PLAYED] + 1
        # A random rule needs the streams of the replications, which are in Python: `ask` writes its indices.
        if not rows.is_random:
            for row in range(n_rows):
                known = (counters[row], means[row], deviations[row], memory[row])
                index(*known, t, policy, rows.nobody, indices[row])
        # A callback has the signature of an oracle, but only uses its address in the integers.
        if ask(indices[0], oracle_integers, policy, rows.sizes) < 0:
            return
        for row in range(n_rows):
            super_arm, size = log.super_arm[row], rows.sizes[row]
            integers, reals = environment_integers, environment_reals
            # The same key as in this round of a separate run of the replication.
            n = play(super_arm, size, keys[row, column], integers, reals, arms, outcomes, totals)
            observe_outcomes(n, arms, outcomes, counters[row], means[row], deviations[row])
            if learns:
                learn(arms, n, outcomes, t, policy, memory[row])
            log.earned[row] += totals
        finish_rows(t, log)
