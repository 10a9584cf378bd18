"""The search of OPIM-C: sample, choose, bound, validate, double."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cmab.arrays import AnyArray, BoolArray, IntArray
from oracles._reverse_sets import ReverseGraph, SetCollection
from oracles.influence_certificate import Schedule, estimate, lower_bound, upper_bound

Chooser = Callable[[SetCollection, float], tuple[IntArray, int, float]]

# Nodes among which the k best are nearly always found, in units of k.
_NEAR = 16


@dataclass(frozen=True, eq=False)
class Found:
    """Components and what is known about them."""

    chosen: IntArray
    ratio: float
    spread: float
    standard_error: float
    rr_sets: int
    edges_examined: int


def search(
    reverse: ReverseGraph,
    choose: Chooser,
    target: float,
    plan: Schedule,
    most: int,
    keys: tuple[int, int],
    threads: int = 1,
    *,
    aim: float | None = None,
    patience: int = 0,
    place: Callable[[SetCollection, int], None] | None = None,
) -> Found:
    """Return components of certified ratio `target`, or of less after `most` sets.

    `choose` returns components that cover many sets, how many, and an upper bound on the best spread. Below
    `patience` sets the higher ratio `aim` is wanted. `place` puts sentinels into a sample that is to have a
    number of sets.

    The first key's sets choose and bound the optimum, the second's validate: each of those is left at its
    first seed, none is stored, and they are drawn again, the same, for the next choice.
    """
    sets = SetCollection(reverse, keys[0], threads)
    most = min(most, plan.last)
    n_sets, edges = min(plan.first, most), 0
    if place is not None:
        place(sets, n_sets)
    while True:
        if n_sets == plan.last and len(sets.sentinels):
            # That so many sets are enough is proved for greedy on complete ones.
            edges += sets.edges_examined
            sets = SetCollection(reverse, keys[0], threads)
        sets.grow(n_sets)
        wanted = target if aim is None or n_sets >= patience else aim
        chosen, covered, optimum = choose(sets, plan.log_term)
        needed = _hits_needed(reverse, chosen, n_sets, plan.log_term, wanted * optimum)
        # The choice's own coverage is optimistic: validation is worth its time only where even that passes.
        if covered >= needed or n_sets == most:
            hopeless = 0 if n_sets == most else needed
            hits, examined = _validated(reverse, chosen, keys[1], n_sets, hopeless, threads)
            edges += examined
            if hits >= needed or n_sets == most:
                break
        n_sets = min(2 * n_sets, most)
    secured = secured_by(reverse, chosen, hits, n_sets, plan.log_term)
    ratio = min(1.0, secured / max(optimum, secured))
    if n_sets == plan.last:
        ratio = max(ratio, target)
    spread, error = estimate(hits, n_sets, reverse.scale)
    spread += float(reverse.certain[chosen].sum())
    return Found(chosen, ratio, spread, error, 2 * n_sets, edges + sets.edges_examined)


def _hits_needed(reverse: ReverseGraph, chosen: IntArray, n_sets: int, log_term: float, spread: float) -> int:
    """Return how many of `n_sets` must be hit to secure `spread`; more than there are where none suffice."""
    return bisect.bisect_left(
        range(n_sets + 1), spread, key=lambda hits: secured_by(reverse, chosen, hits, n_sets, log_term)
    )


def _validated(
    reverse: ReverseGraph, chosen: IntArray, key: int, n_sets: int, needed: int, threads: int
) -> tuple[int, int]:
    """Return how many of the first `n_sets` sets meet `chosen`, and the arcs examined.

    Stop early when `needed` are out of reach by two standard errors: giving up costs no confidence.
    """
    owners = reverse.owners(chosen)
    hits, arcs, done = 0, 0, 0
    for last in (n_sets // 8, n_sets // 4, n_sets // 2, n_sets):
        more, examined = count_hits(reverse, key, done, last, owners, threads)
        hits, arcs, done = hits + more, arcs + examined, last
        if done:
            mean, error = estimate(hits, done, n_sets)
            if mean + 2.0 * error < needed:
                break
    return hits, arcs


def count_hits(
    reverse: ReverseGraph, key: int, first: int, last: int, owners: AnyArray, threads: int = 1
) -> tuple[int, int]:
    """Return how many of the sets ``first..last - 1`` hold a component with an owner, and what it took."""
    from oracles._threads import in_parts

    n, no_ends = reverse.n_components, np.empty(0, np.int64)

    def counted(start: int, stop: int) -> tuple[int, int]:
        pool, stamps = np.empty(n, np.int32), np.zeros(n, np.int32)
        return reverse.draw(key, start, stop, owners, no_ends, pool, stamps)[1:]

    parts = in_parts(threads, first, last, counted)
    return sum(part[0] for part in parts), sum(part[1] for part in parts)


def choose_some(
    sets: SetCollection, k: int, allowed: BoolArray, log_term: float
) -> tuple[IntArray, int, float]:
    """Return `k` greedily chosen allowed components, their coverage, and a bound on the best spread.

    At least `k` components must be allowed. When no set is left to cover, the largest others follow.
    """
    from oracles._kernels_influence_greedy import cover, cover_and_gain

    reverse, n_sets = sets.graph, sets.n_sets
    offsets, index = sets.index()
    total = float(reverse.masses.sum())
    if len(reverse.world.gammas) == 0:
        chosen, covered, bound = cover(sets.ends, sets.pool, offsets, index, k, allowed, sets.sentinels)
        optimum = upper_bound(bound, n_sets, reverse.scale, log_term)
        return _filled(chosen, k, allowed, reverse), covered, optimum
    # The best seeds are worth A + (scale / n) g(L) with coverage L unknown and g concave (the root of the
    # upper bound). A tangent of g at any point lies above it, and A + slope * L is what greedy can bound.
    degrees = np.diff(offsets)[allowed]
    size = min(k, len(degrees))
    around = float(np.partition(degrees, -size)[-size:].sum())
    half = log_term / 2.0
    root = math.sqrt(around + half)
    steepness = 1.0 + math.sqrt(half) / root
    intercept = (root + math.sqrt(half)) ** 2 - steepness * around
    per_set = reverse.scale / n_sets
    slope = per_set * steepness
    nodes = np.flatnonzero(allowed)
    worths = reverse.certain[nodes] + slope * degrees
    few = min(len(nodes), _NEAR * k)
    cut = float(np.partition(worths, -few)[-few])
    chosen, covered, worth = cover_and_gain(
        sets.ends, sets.pool, offsets, index, k, nodes, reverse.certain, per_set, slope, cut
    )
    return _filled(chosen, k, allowed, reverse), covered, min(total, per_set * intercept + worth)


def _filled(chosen: IntArray, k: int, allowed: BoolArray, reverse: ReverseGraph) -> IntArray:
    """Return `chosen` and the largest other allowed components, `k` together."""
    if len(chosen) == k:
        return chosen
    free = allowed.copy()
    free[chosen] = False
    others = np.flatnonzero(free)
    largest_first = np.argsort(-reverse.masses[others], kind="stable")
    return np.concatenate((chosen, others[largest_first[: k - len(chosen)]]))


def secured_by(reverse: ReverseGraph, chosen: IntArray, hits: int, n_sets: int, log_term: float) -> float:
    """Return what the spread of `chosen` exceeds with confidence, if they had hit so many sets."""
    drawn = lower_bound(hits, n_sets, reverse.scale, log_term)
    return max(float(reverse.masses[chosen].sum()), float(reverse.certain[chosen].sum()) + drawn)
