"""Tables of a round that decide how roots are drawn and which nodes skip failures."""

import math

import numpy as np

from cmab.kernels import kernel
from oracles.diffusion._kernels_graph import SCALE

# Below, 1 / ln(1 - p) is not finite.
_LEAST_CHANCE = 1e-300
# Measured: a draw with a logarithm costs as much as four to five coins.
_LEAST_DEGREE, _COST_OF_SKIP = 15, 4.5


@kernel
def live_chances(offsets, arms, chances, masses, most):
    """Return the probability that at least one arc into each node is live, and the mass of such nodes.

    Stop when that is above `most`: the rest is left at 0.
    """
    gammas, mass = np.zeros(offsets.shape[0] - 1), 0.0
    for v in range(gammas.shape[0]):
        gamma = 0.0
        for i in range(offsets[v], offsets[v + 1]):
            gamma += (1.0 - gamma) * chances[arms[i]]  # exact to rounding however small it is
        gammas[v] = min(gamma, 1.0)
        mass += gammas[v] * masses[v]
        if mass > most:
            break
    return gammas, mass


@kernel
def skip_rates(offsets, limits, arms, chances):
    """Return 1 / ln(1 - p) of each node's largest probability p, and p; 0 where single coins are faster."""
    n = offsets.shape[0] - 1
    rates, tops = np.zeros(n), np.zeros(n)
    for v in range(n):
        degree = offsets[v + 1] - offsets[v]
        if degree < _LEAST_DEGREE:
            continue
        most = np.uint32(0)
        for i in range(offsets[v], offsets[v + 1]):
            most = max(most, limits[i])
        # Draws of a node that skips: its successes at the largest probability, and the last; in coins.
        if (degree * (most + 1.0) / SCALE + 1.0) * _COST_OF_SKIP >= degree:
            continue
        for i in range(offsets[v], offsets[v + 1]):
            tops[v] = max(tops[v], chances[arms[i]])
        if tops[v] > _LEAST_CHANCE:
            rates[v] = 1.0 / math.log1p(-tops[v])
    return rates, tops


@kernel
def alias_table(masses):
    """Return Vose's alias table (cuts, aliases) of a distribution in proportion to `masses`."""
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
    # Each slot holds a share 1 / n: what a small one lacks comes from a large one.
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
