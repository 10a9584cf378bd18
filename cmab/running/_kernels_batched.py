"""The loop of many replications side by side, around an oracle that answers for all of them at once."""

from cmab.compiled._kernels import kernel, loop_kernel
from cmab.compiled._kernels_statistics import observe_outcomes
from cmab.running._kernels_bundles import BATCHED_LOOP, CHECKPOINT, PLAYED


@kernel
def finish_rows(t, log):
    """Record the rewards of all replications at a checkpoint."""
    log.progress[PLAYED], position = t, log.progress[CHECKPOINT]
    if position < log.checkpoints.shape[0] and log.checkpoints[position] == t:
        log.recorded[:, position] = log.earned
        log.progress[CHECKPOINT] += 1


@loop_kernel(BATCHED_LOOP)
def play_batch(index, learn, ask, play, arguments, learned, log, rows):
    """Play as many rounds as `rows` has keys, or until `ask` answers a negative number.

    A row belongs to a replication; `ask` writes all their super arms and sizes. The rest is as in
    ``play_rounds``.
    """
    counters, means, deviations, memory = learned
    policy, learns, oracle_integers, _, environment_integers, environment_reals = arguments[:6]
    indices, keys = log.indices, rows.keys
    n_rows = means.shape[0]
    arms, outcomes, totals = log.arms, log.outcomes, log.totals
    for column in range(keys.shape[1]):
        t = log.progress[PLAYED] + 1
        # A random rule needs each replication's own stream, which lives in Python: `ask` writes its indices.
        if not rows.is_random:
            for row in range(n_rows):
                known = (counters[row], means[row], deviations[row], memory[row])
                index(*known, t, policy, rows.nobody, indices[row])
        # A callback has the form of an oracle but reads no argument except its address, in the integers.
        if ask(indices[0], oracle_integers, policy, rows.sizes) < 0:
            return
        for row in range(n_rows):
            super_arm, size = log.super_arm[row], rows.sizes[row]
            integers, reals = environment_integers, environment_reals
            # The key is the one that the replication would draw in its own loop in this round.
            n = play(super_arm, size, keys[row, column], integers, reals, arms, outcomes, totals)
            observe_outcomes(n, arms, outcomes, counters[row], means[row], deviations[row])
            if learns:
                learn(arms, n, outcomes, t, policy, memory[row])
            log.earned[row] += totals
        finish_rows(t, log)
