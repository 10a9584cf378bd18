"""The rule of lil'UCB (Jamieson et al., COLT 2014, Figure 1, from memory), with a scan and with a tree."""

import numpy as np

from cmab.compiled import (
    EXPLORE_TREES,
    MOST_SAMPLES,
    ROUNDS,
    SAMPLES,
    STEPS,
    Arguments,
    Rule,
    decide_kernel,
    kernel,
    loop_kernel,
)
from cmab.confidence._kernels_radii import PARAMETERS, RADII, radius_at
from cmab.selection import plant, put, tree_size
from cmab.statistics import observe_outcome

# decide_lil_ucb: `reals` holds the parameters of `radius_at`, then these two.
FACTOR, RATIO = PARAMETERS, PARAMETERS + 1


def lil_ucb_rule(level: float, epsilon: float, sigma: float, factor: float, ratio: float) -> Rule:
    """Return the rule of lil'UCB."""
    return Rule(decide_lil_ucb, [], [epsilon, sigma, level, level, factor, ratio])


@kernel
def dominates(most, samples, ratio):
    """Return whether an arm with `most` of all `samples` has `ratio` times as many as the others together."""
    # Figure 1 (from memory): T_i >= 1 + lambda sum over j != i of T_j.
    return bool(most >= 1.0 + ratio * (samples - most))


def lil_ucb_tree(level: float, epsilon: float, sigma: float, factor: float, ratio: float) -> Arguments:
    """Return the parameters of `explore_lil_ucb`, with a table for radii before the last two."""
    reals = np.zeros(PARAMETERS + RADII + 2)
    reals[:PARAMETERS], reals[-2:] = (epsilon, sigma, level, level), (factor, ratio)
    return Arguments(np.empty(0, np.int64), reals)


@decide_kernel
def decide_lil_ucb(seen, coin, integers, reals, chosen):
    """Sample the arm with the largest upper bound (ties: the lower index); stop when one arm dominates."""
    counts, means, table = seen.counts, seen.means, reals[:PARAMETERS]
    largest = -np.inf
    for i in range(means.shape[0]):
        # Figure 1 (from memory): mean + (1 + beta) U(T, w), where the factor is 1 + beta.
        bound = means[i] + reals[FACTOR] * radius_at(counts[i], True, table)
        if bound > largest:
            chosen[0], largest = i, bound
    return -1 if dominates(int(counts.max()), seen.clock[SAMPLES], reals[RATIO]) else 1


@loop_kernel(EXPLORE_TREES)
def explore_lil_ucb(rule, draw, arms, seen, streams):
    """Take the same samples as `explore` with `decide_lil_ucb`, in O(log n) time per sample.

    `reals` holds the parameters of `radius_at`, the table for radii, the factor and the ratio.
    """
    (counts, means, deviations, clock), reals = seen, rule.reals
    (draw_integers, draw_reals), coins = arms, streams.coins
    n, table = means.shape[0], reals[:-2]
    factor, ratio = reals[reals.shape[0] - 2], reals[reals.shape[0] - 1]
    keys, winners = plant(1, tree_size(n))
    most = 0
    for i in range(n):
        put(keys, winners, 0, i, means[i] + factor * radius_at(counts[i], True, table), False)
        most = max(most, counts[i])
    for _ in range(clock[STEPS]):
        if dominates(most, clock[SAMPLES], ratio) or clock[SAMPLES] + 1 > clock[MOST_SAMPLES]:
            return True
        arm = winners[0, 1]
        observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
        most = max(most, counts[arm])
        put(keys, winners, 0, arm, means[arm] + factor * radius_at(counts[arm], True, table), False)
        clock[ROUNDS] += 1
        clock[SAMPLES] += 1
    return False
