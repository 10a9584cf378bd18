"""Tables that determine how roots are drawn and which nodes skip failures."""

import math

import numpy as np

from cmab.kernels import kernel
from oracles.diffusion._kernels_graph import SCALE

# For smaller p, 1 / ln(1 - p) is not finite.
_LEAST_CHANCE = 1e-300
# Measured: one draw with a logarithm costs as much as four to five single coins.
_LEAST_DEGREE, _COST_OF_SKIP = 15, 4.5


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
def write_skip_rates(offsets, limits, arms, chances, first, last, rates, tops):
    """Write 1 / ln(1 - p) and p for the largest probability p of some nodes; 0 if coins are faster."""
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
        if (degree * (most + 1.0) / SCALE + 1.0) * _COST_OF_SKIP >= degree:
            continue
        for i in range(offsets[v], offsets[v + 1]):
            tops[v] = max(tops[v], chances[arms[i]])
        if tops[v] > _LEAST_CHANCE:
            rates[v] = 1.0 / math.log1p(-tops[v])


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
