"""Purchases by multinomial logit."""

import math

from cmab.kernels import keyed_uniform, lean_kernel, play_kernel
from oracles.choices._kernels_assortment import revenue_of


@lean_kernel
def bought(super_arm, size, key, attractions):
    """Return the position in `super_arm` of the item that is bought, -1 if no item is bought."""
    # Of independent exponential times with rates v_i, the first is that of i with probability v_i / sum v.
    # The time of an item depends only on (round, item). The time of buying nothing, with rate 1, depends on
    # the round.
    first, place = -math.log1p(-keyed_uniform(key, attractions.shape[0])), -1
    for j in range(size):
        v = attractions[super_arm[j]]
        if v > 0.0:
            time = -math.log1p(-keyed_uniform(key, super_arm[j])) / v
            if time < first:
                first, place = time, j
    return place


@play_kernel
def play_customer(super_arm, size, key, integers, reals, arms, outcomes, totals):
    """The compiled form of `MultinomialLogit.play`; `reals` has max_attraction, v, means and revenues."""
    m = integers[0]
    means, revenues = reals[m + 1 : 2 * m + 1], reals[2 * m + 1 :]
    place = bought(super_arm, size, key, reals[1 : m + 1])
    totals[1] = revenue_of(super_arm, size, means, revenues, reals[0])
    if place >= 0:
        arms[0], outcomes[0] = super_arm[place], 1.0
        totals[0] = revenues[super_arm[place]]
        return 1
    for j in range(size):
        arms[j], outcomes[j] = super_arm[j], 0.0
    totals[0] = 0.0
    return size
