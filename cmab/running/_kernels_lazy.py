"""The compiled loop of CUCB on the k best of many arms, which computes few indices in most rounds.

An arm that is not observed keeps its mean and its count, so its index grows only with the logarithm of the
round. The indices of all arms in a later round are therefore upper bounds until that round. The arms with the
largest bounds are the candidates. While the k best candidates rank before the largest bound of the other
arms, they are the k best of all arms, and the super arm is the same as after a full scan, including ties. The
bounds also hold in floating-point arithmetic, because the logarithm (of integers), root, quotient and sum are
monotone.
"""

import math

import numpy as np

from cmab.compiled import kernel, loop_kernel
from cmab.policies.ucb import squared_radius, upper_bound, write_bounds
from cmab.running._kernels_bundles import (
    CHECKPOINT,
    LAST,
    LOOP,
    PLAYED,
    SIZE,
)
from cmab.selection import last_in_rank, renew_top_k, top_k
from cmab.statistics import observe_outcomes

_LONGEST_WAIT = 256


@kernel
def choose_candidates(counters, means, until, reals, bounds, chosen):
    """Write the arms with the best indices in round `until`, in order, with the best of the others last."""
    n = chosen.shape[0]
    write_bounds(counters, means, until, reals, bounds)
    top_k(bounds, n, chosen)
    place = last_in_rank(bounds, n, chosen)
    other = chosen[place]
    for j in range(place, n - 1):
        chosen[j] = chosen[j + 1]
    chosen[n - 1] = other


@kernel
def best_candidates(counts, averages, candidates, bound, term, high, values, places):
    """Write the positions of the best candidates; return whether they rank before all other arms."""
    n = counts.shape[0]
    for j in range(n):
        values[j] = upper_bound(averages[j], counts[j], term, high)
    renew_top_k(values, places.shape[0], places)
    last = places[last_in_rank(values, places.shape[0], places)]
    return bool(values[last] > bound or (values[last] == bound and candidates[last] < candidates[n]))


@loop_kernel(LOOP)
def play_rounds_lazily(index, learn, solve, play, arguments, learned, log, streams):
    """Play rounds like ``play_rounds`` with a rule that has ``is_lazy`` and an oracle of the k best."""
    counters, means, deviations, memory = learned
    reals, learns, last_best, _, environment_integers, environment_reals = arguments[:6]
    progress, checkpoints, recorded, earned, super_arm, bounds = log[:6]
    arms, outcomes, totals = log[6:9]
    coins = streams.coins
    m, k, high = means.shape[0], last_best.shape[0], reals[5]
    # Choosing candidates costs about m and lasts about n / k rounds, each of which costs n.
    n = min(m - 1, int(2.0 * math.sqrt(k * m)))
    candidates, place_of, places = np.empty(n + 1, np.int64), np.empty(m, np.int64), np.empty(k, np.int64)
    counts, averages, values = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for i in range(m):
        place_of[i] = -1
    for j in range(k):
        places[j] = j
        if progress[SIZE] == 0:  # without a last super arm, start from the first k arms
            super_arm[j] = j
    built, until, bound, resume, wait = progress[PLAYED] + 1, 0, 0.0, 0, 1
    for t in range(progress[PLAYED] + 1, progress[LAST] + 1):
        term = squared_radius(t, reals)
        is_known, is_rebuilt = False, False
        while True:  # a single call site, because compiling the call takes a second
            if t <= until:
                is_known = best_candidates(counts, averages, candidates, bound, term, high, values, places)
            if is_known or is_rebuilt or t < resume:
                break
            for j in range(n):
                if until > 0:
                    place_of[candidates[j]] = -1
            until, built, is_rebuilt = t + 2 * (t - built) + 8, t, True
            choose_candidates(counters, means, until, reals, bounds, candidates)
            bound = bounds[candidates[n]]
            for j in range(n):
                place_of[candidates[j]] = j
                counts[j], averages[j] = counters[candidates[j]], means[candidates[j]]
        if is_rebuilt:
            wait = 1 if is_known else min(2 * wait, _LONGEST_WAIT)
            resume = t if is_known else t + wait
        if is_known:
            for j in range(k):
                super_arm[j] = candidates[places[j]]
        else:
            write_bounds(counters, means, t, reals, bounds)
            renew_top_k(bounds, k, super_arm)
        key = np.int64(coins.random() * 2.0**53)
        n_observed = play(super_arm, k, key, environment_integers, environment_reals, arms, outcomes, totals)
        observe_outcomes(n_observed, arms, outcomes, counters, means, deviations)
        if learns:
            learn(arms, n_observed, outcomes, t, reals, memory)
        # As in ``play_rounds``.
        earned[0] += totals[0]
        earned[1] += totals[1]
        progress[PLAYED], progress[SIZE], position = t, k, progress[CHECKPOINT]
        if position < checkpoints.shape[0] and checkpoints[position] == t:
            recorded[position, 0], recorded[position, 1] = earned[0], earned[1]
            progress[CHECKPOINT] += 1
        for j in range(n_observed):
            place = place_of[arms[j]]
            if place < 0:
                until = min(until, t)  # the index of another arm has changed
            else:
                counts[place], averages[place] = counters[arms[j]], means[arms[j]]
    return True
