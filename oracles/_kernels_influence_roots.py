"""Tables of a round that decide how roots are drawn and which nodes skip failures."""

import math

import numpy as np

from cmab._kernels import kernel
from cmab.arrays import AnyArray, FloatArray, IntArray

_TO_CHANCE, _SCALE = 2.0**-31, 2.0**31
_CERTAIN = np.uint32(1 << 31)
# Measured: a draw with a logarithm costs as much as four to five coins.
_LEAST_DEGREE, _COST_OF_SKIP = 15, 4.5


@kernel
def live_chances(
    offsets: IntArray, limits: AnyArray, masses: FloatArray, most: float
) -> tuple[FloatArray, float]:
    """Return the probability that at least one arc into each node is live, and the mass of such nodes.

    Stop when that is above `most`: the rest is left at 0.
    """
    gammas, mass = np.zeros(offsets.shape[0] - 1), 0.0
    for v in range(gammas.shape[0]):
        all_dead = 1.0
        for i in range(offsets[v], offsets[v + 1]):
            all_dead *= 1.0 - limits[i] * _TO_CHANCE
        gammas[v] = 1.0 - all_dead
        mass += gammas[v] * masses[v]
        if mass > most:
            break
    return gammas, mass


@kernel
def skip_rates(offsets: IntArray, limits: AnyArray) -> tuple[FloatArray, AnyArray]:
    """Return 1 / ln(1 - p) of each node's largest probability p, and p; 0 where single coins are faster."""
    n = offsets.shape[0] - 1
    rates, tops = np.zeros(n), np.zeros(n, np.uint32)
    for v in range(n):
        degree = offsets[v + 1] - offsets[v]
        if degree < _LEAST_DEGREE:
            continue
        for i in range(offsets[v], offsets[v + 1]):
            tops[v] = max(tops[v], limits[i])
        p = tops[v] * _TO_CHANCE
        if (degree * p + 1.0) * _COST_OF_SKIP < degree:
            rates[v] = 1.0 / math.log1p(-p)
    return rates, tops


@kernel
def alias_table(masses: FloatArray) -> tuple[AnyArray, AnyArray]:
    """Return Vose's alias table (cuts, aliases) of a distribution in proportion to `masses`."""
    n = masses.shape[0]
    cuts, aliases = np.full(n, _CERTAIN, np.uint32), np.arange(n).astype(np.int32)
    scaled = masses * (n / masses.sum())
    small, large, n_small, n_large = np.empty(n, np.int32), np.empty(n, np.int32), 0, 0
    for v in range(n):
        if scaled[v] < 1.0:
            small[n_small] = v
            n_small += 1
        else:
            large[n_large] = v
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        v, u = small[n_small], large[n_large - 1]
        cuts[v], aliases[v] = np.uint32(scaled[v] * _SCALE + 0.5), u
        scaled[u] -= 1.0 - scaled[v]
        if scaled[u] < 1.0:
            n_large -= 1
            small[n_small] = u
            n_small += 1
    return cuts, aliases
