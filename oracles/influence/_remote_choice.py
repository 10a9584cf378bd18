"""Greedy choices from sets on a cluster, from the counts of candidates; exact by bounds.

The workers send the nodes with the largest counts. Every other node is in at most as many sets as the sum of
the largest counts that the workers did not send. If this bound is below all gains that matter, the choice and
the bound on the optimum from the candidates are those from all nodes. Otherwise, more candidates are sent.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cmab.arrays import AnyArray, BoolArray, IntArray
from cmab.compiled.forms import call_kernel
from oracles.diffusion._kernels_cover import Index, cover, cover_and_gain, invert, is_greedy
from oracles.influence._choosing import NEAR, bound_with_certain, fill_up, near_cut, tangent
from oracles.influence._cluster import RemoteSets
from oracles.influence._sentinels import hold_back
from oracles.influence.certificate import upper_bound

# The first number of candidates for each seed, the least number, and the factor by which it grows.
_PER_SEED, _LEAST, _GROWTH = 4 * NEAR, 4096, 8


def choose_remotely(
    sets: RemoteSets,
    k: int,
    allowed: BoolArray,
    log_term: float,
    is_last: bool = False,
    least_share: float = 0.0,
) -> tuple[IntArray, int, float]:
    """Return what `choose_some` returns for the same sets on one machine."""
    reverse = sets.graph
    per_set = reverse.total_weight / sets.n_sets
    pairs = len(reverse.world.gammas) > 0
    for nodes, most in _candidates(sets, k, allowed):
        ends, pool = sets.restricted(nodes)
        index = Index(ends, pool, *call_kernel(invert, ends, pool, len(nodes)))
        certain, numbers = reverse.certain[nodes], np.arange(len(nodes))
        outside = _largest_outside(reverse.certain, nodes, allowed) if most >= 0 else -1.0
        if pairs:
            picked, covered = call_kernel(cover_and_gain, index, k, numbers, certain, per_set)
            if outside >= 0.0 and not _is_above(index, picked, k, certain, per_set, outside + per_set * most):
                continue
            _, slope = tangent(reverse, index, covered, log_term)
            if outside >= 0.0 and not _is_near(index, picked, k, certain, slope, outside + slope * most):
                continue
            optimum = bound_with_certain(reverse, index, k, numbers, certain, picked, covered, log_term)
        else:
            given = np.searchsorted(nodes, sets.sentinels)
            is_open = allowed[nodes]
            picked, covered, bound, gain = call_kernel(cover, index, k, is_open, given)
            if most > 0 and _kth_gain(index, picked, k, is_open) <= most:
                continue
            if len(given) and hold_back(len(given), covered, bound, gain, least_share):
                sets.complete()
                return choose_remotely(sets, k, allowed, log_term, is_last)
            optimum = upper_bound(bound, sets.n_sets, reverse.total_weight, log_term)
        if is_last:
            assert is_greedy(index, numbers[allowed[nodes]], certain, per_set, picked), "greedy"
        return fill_up(nodes[picked], k, allowed, reverse), covered, optimum
    raise AssertionError("all nodes are candidates in the last round")


def _candidates(sets: RemoteSets, k: int, allowed: BoolArray) -> Iterator[tuple[IntArray, int]]:
    """Yield more and more candidates with a bound on the count of other nodes; -1 if there are no others."""
    size = max(_LEAST, _PER_SEED * k)
    while size < len(allowed):
        nodes, most = sets.top(size, allowed)
        yield np.union1d(nodes, sets.sentinels), most
        size *= _GROWTH
    yield np.flatnonzero(allowed | np.isin(np.arange(len(allowed)), sets.sentinels)), -1


def _largest_outside(certain: AnyArray, nodes: IntArray, allowed: BoolArray) -> float:
    """Return the largest certain value of an allowed node that is no candidate, or -1 if there is none."""
    others = allowed.copy()
    others[nodes] = False
    return float(certain[others].max(initial=-1.0))


def _gains(index: Index, picked: IntArray) -> IntArray:
    """Return the number of sets that each node would cover besides those of `picked`."""
    covered = np.zeros(len(index.ends) - 1, np.bool_)
    for v in picked:
        covered[index.sets[index.offsets[v] : index.offsets[v + 1]]] = True
    is_free = np.repeat(~covered, np.diff(index.ends))
    return np.bincount(index.pool[is_free], minlength=len(index.offsets) - 1)


def _kth_gain(index: Index, picked: IntArray, k: int, is_open: BoolArray) -> int:
    """Return the k-th largest gain after the choice; gains only decrease, so no earlier one is smaller."""
    gains = np.where(is_open, _gains(index, picked), 0)
    return int(np.partition(gains, -k)[-k]) if len(gains) >= k else 0


def _is_above(index: Index, picked: IntArray, k: int, certain: AnyArray, per_set: float, bar: float) -> bool:
    """Return whether `k` nodes were picked, and each of them gained more than `bar` when it was picked."""
    if len(picked) < k:
        return False
    # The gain of the last node is the smallest.
    last = picked[-1]
    return bool(certain[last] + per_set * _gains(index, picked[:-1])[last] > bar)


def _is_near(index: Index, picked: IntArray, k: int, certain: AnyArray, slope: float, bar: float) -> bool:
    """Return whether the nodes that `bound_after` examines first are candidates, and suffice to the end."""
    n = len(certain)
    if n < NEAR * k:
        return False
    cut = near_cut(index, k, np.arange(n), certain, slope)
    left = certain.copy()
    left[picked] = 0.0
    # Values only decrease, so the k-th largest value is smallest after the choice.
    values = left + slope * _gains(index, picked)
    return bool(cut > bar and np.partition(values, -k)[-k] >= cut)
