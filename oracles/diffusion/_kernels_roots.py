"""Tables that determine how roots are drawn and which nodes skip failures."""

import math

import numpy as np

from cmab.kernels import kernel, lean_kernel
from oracles.diffusion._kernels_graph import SCALE
from oracles.diffusion._kernels_sets import CLASSED, N_CLASSES, class_of

# For smaller p, 1 / ln(1 - p) is not finite.
_LEAST_CHANCE = 1e-300
# Measured: one draw with a logarithm costs as much as four to five single coins.
_LEAST_DEGREE, _COST_OF_SKIP = 15, 4.5
# Sorting arcs by their classes takes memory, so it has to save a third of the draws.
_MUCH_LESS = 2 / 3


@kernel
def write_live_chances(offsets, arms, chances, masses, first, last, gammas):
    """Write to `gammas` the probability that each of some nodes has a live arc into it.

    Return the mass of the nodes ``first..last - 1``, each times its probability.
    """
    mass = 0.0
    for v in range(first, last):
        gamma = 0.0
        for i in range(offsets[v], offsets[v + 1]):
            gamma += (1.0 - gamma) * chances[arms[i]]  # accurate even for small probabilities
        gammas[v] = min(gamma, 1.0)
        mass += gammas[v] * masses[v]
    return mass


@kernel
def write_skip_rates(offsets, limits, arms, chances, may_sort, first, last, rates, tops):
    """Write 1 / ln(1 - p) and p for the largest probability p of some nodes; 0 if coins are faster.

    If `may_sort` is true and skips are much faster with arcs in classes (see `write_classes`), the rate is
    CLASSED. Return the number of arcs into such nodes.
    """
    classed, counts = 0, np.zeros(N_CLASSES, np.int64)
    for v in range(first, last):
        rates[v], tops[v] = 0.0, 0.0
        degree = offsets[v + 1] - offsets[v]
        if degree < _LEAST_DEGREE:
            continue
        most = np.uint32(0)
        for i in range(offsets[v], offsets[v + 1]):
            most = max(most, limits[i])
        # The expected draws of a node that skips are its successes at the largest probability plus one, in
        # units of coins.
        cost = min(float(degree), (degree * (most + 1.0) / SCALE + 1.0) * _COST_OF_SKIP)
        if may_sort and _cost_in_classes(offsets[v], offsets[v + 1], limits, counts) < _MUCH_LESS * cost:
            rates[v] = CLASSED
            classed += degree
        elif cost < degree:
            for i in range(offsets[v], offsets[v + 1]):
                tops[v] = max(tops[v], chances[arms[i]])
            if tops[v] > _LEAST_CHANCE:
                rates[v] = 1.0 / math.log1p(-tops[v])
    return classed


@lean_kernel
def _cost_in_classes(first, stop, limits, counts):
    """Return the expected cost of trying the arcs of a node in classes, in units of coins."""
    counts[:] = 0
    for i in range(first, stop):
        counts[class_of(limits[i])] += 1
    # An arc of class 0 takes a coin. In other classes, there is a draw for each success at the largest
    # probability of the class, and at most one more for each class.
    draws = 0.0
    for c in range(1, counts.shape[0]):
        if counts[c] > 0:
            draws += counts[c] * 0.5**c + 1.0
    return counts[0] + draws * _COST_OF_SKIP


@kernel
def write_classes(offsets, rates, arcs, first, last, sorted_arcs):
    """Write the arcs into some nodes, in the order of their classes if the rate of the node is CLASSED.

    `arcs` and `sorted_arcs` are (tails, limits, arms). The order within a class does not change.
    """
    tails, limits, arms = arcs
    new_tails, new_limits, new_arms = sorted_arcs
    places = np.empty(N_CLASSES + 1, np.int64)
    for v in range(first, last):
        start, stop = offsets[v], offsets[v + 1]
        places[:] = 0
        if rates[v] == CLASSED:
            for i in range(start, stop):
                places[class_of(limits[i]) + 1] += 1
            for c in range(N_CLASSES):
                places[c + 1] += places[c]
        for i in range(start, stop):
            c = class_of(limits[i]) if rates[v] == CLASSED else 0
            at = start + places[c]
            places[c] += 1
            new_tails[at], new_limits[at], new_arms[at] = tails[i], limits[i], arms[i]


@kernel
def alias_table(masses):
    """Return Vose's alias table (cuts, aliases) of the distribution proportional to `masses`."""
    n = masses.shape[0]
    cuts, aliases = np.ones(n), np.arange(n).astype(np.int32)
    scaled = masses * (n / masses.sum())
    small, large, n_small, n_large = np.empty(n, np.int32), np.empty(n, np.int32), 0, 0
    for v in range(n):
        if scaled[v] < 1.0:
            small[n_small] = v
            n_small += 1
        else:
            large[n_large] = v
            n_large += 1
    # Each slot has probability 1 / n: a small slot is filled up from a large one.
    while n_small > 0 and n_large > 0:
        n_small -= 1
        v, u = small[n_small], large[n_large - 1]
        cuts[v], aliases[v] = scaled[v], u
        scaled[u] -= 1.0 - scaled[v]
        if scaled[u] < 1.0:
            n_large -= 1
            small[n_small] = u
            n_small += 1
    return cuts, aliases
