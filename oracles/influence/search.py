"""The search of OPIM-C: sample, choose, bound, validate, double."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, IntArray
from oracles.diffusion.reverse_sets import ReverseGraph, SetCollection
from oracles.influence.certificate import Schedule, estimate, lower_bound, secures

Chooser = Callable[[SetCollection, float, bool], tuple[IntArray, int, float]]


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

    `choose` returns components that cover many sets, how many, and an upper bound on the best spread; told
    that no test follows, it makes sure that its choice is greedy. Below `patience` sets the higher ratio
    `aim` is wanted. `place` puts sentinels into a sample that is to have a number of sets.

    The first key's sets choose and bound the optimum, the second's validate: each of those is left at its
    first seed, none is stored, and they are drawn again, the same, for the next choice.
    """
    sets = SetCollection(reverse, keys[0], threads=threads)
    most = min(most, plan.last)
    n_sets, edges = min(plan.first, most), 0
    if place is not None:
        place(sets, n_sets)
    while True:
        if n_sets == plan.last and len(sets.sentinels):
            # That so many sets are enough is proved for greedy on complete ones.
            edges += sets.edges_examined
            sets = SetCollection(reverse, keys[0], threads=threads)
        sets.grow(n_sets)
        wanted = target if aim is None or n_sets >= patience else aim
        is_last = n_sets == plan.last
        assert not (is_last and len(sets.sentinels)), "no test follows: sets must be complete"
        chosen, covered, optimum = choose(sets, plan.log_term, is_last)
        goal = wanted * optimum
        # The choice's own coverage is optimistic: validation is worth its time only where even that passes.
        if n_sets == most or _is_shown(reverse, chosen, covered, n_sets, plan.log_term, goal):
            seen = _validated(reverse, chosen, keys[1], n_sets, goal, plan.log_term, n_sets == most, threads)
            edges += seen.edges_examined
            if n_sets == most or seen.secured >= goal:
                break
        n_sets = _next_size(reverse, chosen, covered, optimum, n_sets, most, plan.log_term, target)
    ratio = min(1.0, seen.secured / max(optimum, seen.secured))
    if is_last:
        ratio = max(ratio, target)
    spread, error = estimate(seen.hits, n_sets, reverse.scale)
    spread += float(reverse.certain[chosen].sum())
    return Found(chosen, ratio, spread, error, 2 * n_sets, edges + sets.edges_examined)


def _next_size(
    reverse: ReverseGraph,
    chosen: IntArray,
    covered: int,
    optimum: float,
    n_sets: int,
    most: int,
    log_term: float,
    target: float,
) -> int:
    """Return the next number of sets, doubled until a test could pass: leaving tests out costs no confidence.

    It could not if it fails with as large a share of covered sets as now, while the bound on the optimum
    comes closer to the choice's own value as fast as errors fall.
    """
    value = reverse.scale * covered / n_sets + float(reverse.certain[chosen].sum())
    factor = 2
    while factor * n_sets < most:
        bound = value + (optimum - value) / math.sqrt(factor)
        if _is_shown(reverse, chosen, factor * covered, factor * n_sets, log_term, target * bound):
            break
        factor *= 2
    return min(factor * n_sets, most)


def _is_shown(
    reverse: ReverseGraph, chosen: IntArray, hits: int, n_sets: int, log_term: float, spread: float
) -> bool:
    """Return whether so many hits would secure `spread`."""
    drawn = spread - float(reverse.certain[chosen].sum())
    return float(reverse.masses[chosen].sum()) >= spread or secures(
        hits, n_sets, drawn / reverse.scale, log_term
    )


class _Validation(NamedTuple):
    hits: int
    edges_examined: int
    secured: float


def secured_by(reverse: ReverseGraph, chosen: IntArray, hits: int, n_sets: int, log_term: float) -> float:
    """Return what the spread of `chosen` exceeds with confidence, if they had hit so many sets."""
    drawn = lower_bound(hits, n_sets, reverse.scale, log_term)
    return max(float(reverse.masses[chosen].sum()), float(reverse.certain[chosen].sum()) + drawn)


def _validated(
    reverse: ReverseGraph,
    chosen: IntArray,
    key: int,
    n_sets: int,
    goal: float,
    log_term: float,
    patient: bool,
    threads: int,
) -> _Validation:
    """Return how many of the first `n_sets` sets of `key` meet `chosen`, and the spread which that secures.

    Stop early when `goal` is out of reach by two standard errors, unless `patient`: giving up costs no
    confidence. Success never stops it, which would flatter the estimate of the spread.
    """
    owners = reverse.owners(chosen)
    hits, arcs, done = 0, 0, 0
    for last in (n_sets // 8, n_sets // 4, n_sets // 2, n_sets):
        more, examined = count_hits(reverse, key, done, last, owners, threads)
        hits, arcs, done = hits + more, arcs + examined, last
        if done and not patient:
            share, error = estimate(hits, done, 1.0)
            at_best = min(n_sets, math.ceil((share + 2.0 * error) * n_sets))
            if not _is_shown(reverse, chosen, at_best, n_sets, log_term, goal):
                return _Validation(hits, arcs, 0.0)
    return _Validation(hits, arcs, secured_by(reverse, chosen, hits, n_sets, log_term))


def count_hits(
    reverse: ReverseGraph, key: int, first: int, last: int, owners: AnyArray, threads: int = 1
) -> tuple[int, int]:
    """Return how many of the sets ``first..last - 1`` hold a component with an owner, and what it took."""
    from oracles.diffusion._threads import in_parts

    n, no_ends = reverse.n_components, np.empty(0, np.int64)

    def counted(start: int, stop: int) -> tuple[int, int]:
        pool, stamps = np.empty(n, np.int32), np.zeros(n, np.int32)
        return reverse.draw(key, start, stop, owners, no_ends, pool, stamps)[1:]

    parts = in_parts(threads, first, last, counted)
    return sum(part[0] for part in parts), sum(part[1] for part in parts)
