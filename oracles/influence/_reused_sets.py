"""Reverse-reachable sets that are kept from call to call, and a search that allows their dependence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, IntArray
from cmab.compiled.forms import call_kernel
from oracles.diffusion._memory import require_memory
from oracles.diffusion.reverse_sets import ReverseGraph, SetCollection
from oracles.influence._choosing import choose_some
from oracles.influence.search import Found, Plan, secured_by

if TYPE_CHECKING:
    from oracles.diffusion._kernels_sets import World

# The share of all random numbers from which drawing them is as fast as comparing the relevant ones.
_WORTH_REPAIRING = 0.3


class Sample(NamedTuple):
    """The sets of one key under given probabilities; immutable.

    Attributes
    ----------
    limits, floors, ceilings : AnyArray, shape (n_arcs,)
        The probabilities as multiples of 2^-31, and the range in which each may move without changing a set.
    ends, pool : IntArray and AnyArray
        Set i is ``pool[ends[i]:ends[i + 1]]``.
    holders, sets : IntArray and AnyArray
        The sets that hold node v are ``sets[holders[v]:holders[v + 1]]``.
    drawn, edges_examined : int
        The number of sets that were drawn and not copied, and the number of arcs into their nodes.
    """

    limits: AnyArray
    floors: AnyArray
    ceilings: AnyArray
    ends: IntArray
    pool: AnyArray
    holders: IntArray
    sets: AnyArray
    drawn: int
    edges_examined: int

    @property
    def n_sets(self) -> int:
        """The number of sets."""
        return len(self.ends) - 1


def sample_under(world: World, key: int, n_sets: int, previous: Sample | None = None) -> Sample:
    """Return at least the first `n_sets` sets of `key`; `previous` only saves time."""
    from oracles.influence._kernels_repair import Guards, coins_to_compare, find_stale

    old = _no_sets(world) if previous is None else previous
    some, whole = coins_to_compare(world.offsets, world.limits, Guards(old.floors, old.ceilings), old.holders)
    if some > _WORTH_REPAIRING * whole:
        old = _no_sets(world)
    guards = Guards(old.floors.copy(), old.ceilings.copy())
    stale = find_stale(
        world.offsets,
        key,
        old.limits,
        world.limits,
        guards,
        old.holders,
        old.sets,
        old.n_sets,
    )
    guarded = old._replace(limits=world.limits, **guards._asdict(), drawn=0, edges_examined=0)
    if n_sets <= old.n_sets and not stale.any():
        return guarded
    return _with_drawn(world, key, max(n_sets, old.n_sets), guarded, stale)


def _no_sets(world: World) -> Sample:
    from oracles.diffusion._kernels_graph import CERTAIN

    n_arcs, n = len(world.limits), len(world.offsets) - 1
    floors, ceilings = np.zeros(n_arcs, np.uint32), np.full(n_arcs, CERTAIN)
    nothing = np.empty(0, np.int32)
    return Sample(
        world.limits,
        floors,
        ceilings,
        np.zeros(1, np.int64),
        nothing,
        np.zeros(n + 1, np.int64),
        nothing,
        0,
        0,
    )


def _with_drawn(world: World, key: int, n_sets: int, old: Sample, stale: BoolArray) -> Sample:
    """Return `old` with `stale` sets drawn again and missing sets added; update its guards in place."""
    from oracles.diffusion._kernels_cover import invert
    from oracles.influence._kernels_repair import Guards, OldSets, draw_or_copy

    n = len(world.offsets) - 1
    kept, guards = OldSets(stale, old.ends, old.pool), Guards(old.floors, old.ceilings)
    ends, pool = np.zeros(n_sets + 1, np.int64), np.empty(0, np.int32)
    done, drawn, arcs = 0, 0, 0
    per_set = old.ends[-1] / max(1, old.n_sets)
    while done < n_sets:
        # Extrapolate the required size, and at least double the pool.
        room = max(int(1.1 * per_set * n_sets), 2 * len(pool)) + 2 * n
        require_memory(12 * room, f"a sample of {n_sets} reverse-reachable sets")
        larger = np.empty(room, np.int32)
        larger[: ends[done]] = pool[: ends[done]]
        pool = larger
        done, more, examined = draw_or_copy(world, key, done, kept, guards, ends, pool)
        drawn, arcs, per_set = drawn + more, arcs + examined, ends[done] / max(1, done)
    holders, sets = call_kernel(invert, ends, pool, n)
    return Sample(world.limits, old.floors, old.ceilings, ends, pool, holders, sets, drawn, arcs)


def trimmed(sample: Sample, n_sets: int) -> Sample:
    """Return the first `n_sets` sets of `sample`."""
    from oracles.diffusion._kernels_cover import invert

    ends = sample.ends[: n_sets + 1].copy()
    pool = sample.pool[: ends[-1]].copy()
    holders, sets = call_kernel(invert, ends, pool, len(sample.holders) - 1)
    return sample._replace(ends=ends, pool=pool, holders=holders, sets=sets)


class FirstSets(SetCollection):
    """The first sets of a sample, as a collection from which to choose."""

    def __init__(self, graph: ReverseGraph, key: int, sample: Sample, n_sets: int) -> None:
        super().__init__(graph, key)
        self.ends, self.pool = sample.ends[: n_sets + 1], sample.pool
        self._sample = sample

    def index(self) -> tuple[IntArray, AnyArray]:
        whole = self.n_sets == self._sample.n_sets
        return (self._sample.holders, self._sample.sets) if whole else super().index()


def search_with(plan: Plan, first_sets: Callable[[int], SetCollection], k: int, allowed: BoolArray) -> Found:
    """Return `k` components as `find` does, from sets that are kept from call to call.

    `first_sets` returns the choosing sets, on which the probabilities may depend. The keys are new, so the
    sets of the second key are independent of the choice and of the optimum, and bound both. At the last size,
    the choice is made from new sets of the first key, for which greedy needs no test.
    """
    from oracles.diffusion._kernels_cover import count_covered

    reverse, last, log_term = plan.reverse, plan.schedule.last, plan.schedule.log_term
    n_sets, edges = plan.first_sets, 0
    fresh = SetCollection(reverse, plan.keys[1], threads=plan.threads)
    while True:
        if n_sets < last:
            sets = first_sets(n_sets)
        else:
            sets = SetCollection(reverse, plan.keys[0], threads=plan.threads)
            sets.grow(n_sets)
            edges += sets.edges_examined
        chosen, covered, hoped = choose_some(sets, k, allowed, log_term, n_sets == last)
        # A test with new sets takes time, so do it only if the optimistic test with the old sets passes.
        likely = (
            covered >= plan.least_hits
            and secured_by(reverse, chosen, covered, n_sets, log_term) >= plan.ratio * hoped
        )
        if likely or n_sets == plan.max_sets:
            fresh.grow(n_sets)
            _, _, optimum = choose_some(fresh, k, allowed, log_term)
            hits = count_covered(*fresh.index(), chosen, np.zeros(n_sets, np.bool_))
            secured = secured_by(reverse, chosen, hits, n_sets, log_term)
            if secured >= plan.ratio * optimum or n_sets == plan.max_sets:
                return plan.found(chosen, secured, optimum, hits, n_sets, edges + fresh.edges_examined)
        n_sets = min(2 * n_sets, plan.max_sets)
