"""Sampling of sets by random numbers of (key, set, arc), and repair of the sets for changed probabilities.

Set i is a function of (key, i, probabilities). A set uses the random number of an arc only if it contains the
head of the arc. So a set changes only if such a number is between the old and the new probability.

Reverse-reachable sets that are kept from call to call, and a search that allows their dependence.

Influence maximisation that reuses its reverse-reachable sets in later calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from cmab.kernels import GOLDEN, kernel, mix
from cmab.validation import integer
from oracles.influence.cover import choose_some
from oracles.influence.graph import CERTAIN, DirectedGraph, require_memory
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.sampling import S33, draw_root, limits_of
from oracles.influence.search import USUAL, Found, Plan, Search, secured_by
from oracles.influence.sets import ReverseGraph, SetCollection

if TYPE_CHECKING:
    import networkx as nx

    from oracles.influence.sampling import World


# The first numbers of the stream of a set determine its root.
_COINS = 3


class Guards(NamedTuple):
    """Bounds on the random numbers of each arc: the largest live one, the smallest dead one."""

    floors: AnyArray
    ceilings: AnyArray


class OldSets(NamedTuple):
    """Sets that were drawn before, and which are stale; set i is ``pool[ends[i]:ends[i + 1]]``."""

    stale: BoolArray
    ends: IntArray
    pool: AnyArray


@kernel
def coin(base, number, arc):
    """Return the 31-bit random number of an arc in a set; `base` is the mixed key."""
    stream = mix(base + np.uint64(number + 1) * GOLDEN)
    return mix(stream + np.uint64(arc + _COINS) * GOLDEN) >> S33


@kernel
def draw_or_copy(world, key, done, old, guards, ends, pool):
    """Fill `ends` and `pool` from set number `done` on, until the pool could overflow.

    Old sets that are not stale are copied; the others are drawn, and their random numbers update the guards.
    Return the number of finished sets, the number of drawn sets, and the number of arcs examined for them.
    """
    stale, old_ends, old_pool = old
    floors, ceilings = guards
    roots, cuts, aliases = world.roots, world.cuts, world.aliases
    offsets, tails, limits = world.offsets, world.tails, world.limits
    n = offsets.shape[0] - 1
    base, stamps, drawn, examined = mix(np.uint64(key)), np.zeros(n, np.int32), 0, 0
    for j in range(done, ends.shape[0] - 1):
        start = ends[j]
        if j < stale.shape[0] and not stale[j]:
            size = old_ends[j + 1] - old_ends[j]
            if start + size > pool.shape[0]:
                return j, drawn, examined
            # Copy the set: none of its random numbers lies between an old and a new limit.
            for at in range(size):
                pool[start + at] = old_pool[old_ends[j] + at]
            ends[j + 1] = start + size
            continue
        if start + n > pool.shape[0]:
            return j, drawn, examined
        stamp = j + 1
        stream = mix(base + np.uint64(stamp) * GOLDEN)
        root, _ = draw_root(roots, cuts, aliases, stream)
        pool[start], stamps[root] = root, stamp
        at, end = start, start + 1
        while at < end:
            v = pool[at]
            at += 1
            examined += offsets[v + 1] - offsets[v]
            # The arcs into a node are adjacent, so their random numbers are adjacent in the stream.
            state = stream + np.uint64(offsets[v] + _COINS - 1) * GOLDEN
            for i in range(offsets[v], offsets[v + 1]):
                state += GOLDEN  # the same state as in `coin`, by one addition
                tossed = np.uint32(mix(state) >> S33)
                if tossed >= limits[i]:
                    # A dead number bounds the ceiling of its arc, a live one the floor. Limits may move
                    # between them.
                    ceilings[i] = min(ceilings[i], tossed)
                    continue
                floors[i] = max(floors[i], np.uint32(tossed + 1))
                u = tails[i]
                if stamps[u] != stamp:
                    stamps[u] = stamp
                    pool[end] = u
                    end += 1
        ends[j + 1] = end
        drawn += 1
    return ends.shape[0] - 1, drawn, examined


@kernel
def coins_to_compare(offsets, limits, guards, holders):
    """Return how many random numbers `find_stale` would compare, and how many all sets have together."""
    floors, ceilings = guards
    some, whole = 0, 0
    for v in range(offsets.shape[0] - 1):
        count = holders[v + 1] - holders[v]
        # Drawing all sets again draws all these numbers: the caller compares the two costs.
        whole += count * (offsets[v + 1] - offsets[v])
        for i in range(offsets[v], offsets[v + 1]):
            if limits[i] < floors[i] or limits[i] > ceilings[i]:
                some += count
    return some, whole


@kernel
def find_stale(offsets, key, before, after, guards, holders, sets, n_sets):
    """Return which sets change if the limits `before` become `after`, and update the guards.

    The sets that contain node v are ``sets[holders[v]:holders[v + 1]]``. No random number is between the
    guards of an arc, so a limit that stays between them changes no set.
    """
    floors, ceilings = guards
    base, stale = mix(np.uint64(key)), np.zeros(n_sets, np.bool_)
    for v in range(offsets.shape[0] - 1):
        for i in range(offsets[v], offsets[v + 1]):
            # The limit stays between the guards of this arc, so no set changes because of it.
            if floors[i] <= after[i] <= ceilings[i]:
                continue
            low, high = min(before[i], after[i]), max(before[i], after[i])
            floor, ceiling = np.uint32(0), CERTAIN
            for j in range(holders[v], holders[v + 1]):
                tossed = np.uint32(coin(base, sets[j], i))
                # The arc was live and is dead now, or vice versa.
                if low <= tossed < high:
                    stale[sets[j]] = True
                if tossed < after[i]:
                    floor = max(floor, np.uint32(tossed + 1))
                else:
                    ceiling = min(ceiling, tossed)
            floors[i], ceilings[i] = floor, ceiling
    return stale


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
    from oracles.influence.graph import CERTAIN

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
    from oracles.influence.cover import invert

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
    from oracles.influence.cover import invert

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
    from oracles.influence.cover import count_covered

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


# The largest number of nodes in the first 64 sets. Measured on the graphs of the benchmark: for larger sets
# it is faster to stop each set at its first seed, as the ordinary search does. Often the first 8 sets show
# this.
_MOST_NODES, _PROBES = 384, (8, 64)
# If a sample has this many times the sets that the last call used, the other sets are discarded.
_TOO_MANY = 4


class RepairedInfluence(InfluenceMaximization):
    """`InfluenceMaximization` that keeps the choosing sample and repairs it for the means of each call.

    The sample that chooses the seeds depends on the parameter `rng` of the oracle and not on the call: the
    random number of an edge in a set is a hash of (`rng`, set, edge), which is compared with the mean of the
    edge. From one call to the next, a set changes only if such a number is between the old and the new mean
    of its edge. The oracle searches for these numbers in the sets that contain the head of the edge, and
    draws the affected sets again. The result is the same, set for set, as a new sample. So an answer depends
    only on the means, the parameter `rng` and the generator of the call. Earlier calls change the time of a
    call, but not its answer. A copy of the oracle, or a worker process, starts without sets.

    **Guarantee.** In every call, given the entire past, the spread of the seeds is at least
    `Certificate.ratio` times the optimum, and at least ``alpha`` times the optimum, with probability at least
    ``beta``. The means may depend on earlier answers, on the parameter `rng` and on the kept sets, but not on
    the future random numbers of the generator. So pass the same generator to all calls. Do not create a
    generator from the round, the means or the parameter `rng`, because the past may already depend on its
    numbers. OPIM-C bounds the optimum from the choosing sample, which it assumes to be independent of the
    means. Here, this bound is only a heuristic. A second sample, new in every call, bounds both the optimum
    and the spread of the seeds. At the size where OPIM-C needs no test, the choice is made from a new sample,
    too.

    **Limitation.** All calls share a sample, so its errors recur in each round, and in each replication with
    the same parameter `rng`. The answers then vary less than those of `InfluenceMaximization`, and explore
    less by chance.

    This oracle is moderately faster if the sets are small and most means change little from call to call. It
    is not faster under Thompson sampling, where all means change. If certain edges are contracted, if sets of
    one node are omitted, or if sets have more than six nodes on average, a call is an ordinary call of
    `InfluenceMaximization`. The kept sample takes 12 bytes per edge, 8 bytes per set and 8 bytes per node of
    each set.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds, in ``[1, number of candidates]``.
    delta : float, optional
        The probability that the guarantee of a call fails, in (0, 1). The default is one over the number of
        arms, but at most 1/2.
    epsilon : float, optional
        The accuracy, in (0, 1 - (1 - 1/k)^k); 0.1 by default.
    rng : int
        The seed of the sample that chooses, nonnegative.
    node_weights, candidates, search
        As in `InfluenceMaximization`, except that `search` must not have a time limit or a sampler. Its
        threads draw only the sets that are not kept.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, RepairedInfluence
    >>> graph = DirectedGraph.from_edges([0, 1, 3], [1, 2, 1])
    >>> oracle, means = RepairedInfluence(graph, k=1, epsilon=0.2), np.array([0.5, 0.9, 0.2])
    >>> oracle.solve(means, np.random.default_rng(0))
    array([0])
    >>> means[2] = 0.95
    >>> oracle.solve(means, np.random.default_rng(1))
    array([3])

    References
    ----------
    J. Tang, X. Tang, X. Xiao, J. Yuan: Online Processing Algorithms for Influence Maximization, SIGMOD 2018,
    section 4. Repair, and the bound on the optimum from the second sample, are our derivation.
    """

    _fixed: ClassVar[Mapping[str, Any]] = {"sampler": "auto", "time_limit": None}

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        rng: int = 0,
        node_weights: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        search: Search = USUAL,
    ) -> None:
        super().__init__(
            graph,
            k,
            delta=delta,
            epsilon=epsilon,
            node_weights=node_weights,
            candidates=candidates,
            search=search,
        )
        self.rng = integer("rng", rng, 0)
        # Samples are replaced, never changed, so threads that share this object do not interfere.
        self._sample: Sample | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sample": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # In pickles of version 0.2, this attribute is called "seed".
        self.__dict__ |= {"rng" if name == "seed" else name: value for name, value in state.items()}

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        available = self._check_available(available)
        restricted = self._restricted(available)
        seeds = restricted.solve(means, rng)
        self._sample = restricted._sample  # the sets do not depend on the candidates
        return seeds

    def _search(self, plan: Plan, k: int, allowed: BoolArray) -> Found:
        reverse = plan.reverse
        if reverse.n_components < self.graph.n_nodes or len(reverse.world.gammas) > 0:
            return super()._search(plan, k, allowed)
        # Include impossible arcs in this array, because the random numbers belong to positions in it.
        offsets, arms = self.graph.in_arcs
        known = reverse.world.limits
        is_whole = reverse.world.arms is arms
        limits = known.copy() if is_whole else limits_of(reverse.world.chances, arms, self.threads)
        world = reverse.world._replace(offsets=offsets, tails=self.graph.in_tails, limits=limits, arms=arms)
        sample, used, examined = self._sample, 0, 0

        def first_sets(n_sets: int) -> SetCollection:
            nonlocal sample, used, examined
            if sample is None or sample.limits is not limits or n_sets > sample.n_sets:
                sample = sample_under(world, self.rng, n_sets, sample)
                examined += sample.edges_examined
            used = n_sets
            return FirstSets(reverse, self.rng, sample, n_sets)

        try:
            is_ordinary = any(first_sets(few).ends[-1] > _MOST_NODES for few in _PROBES)
            found = None if is_ordinary else search_with(plan, first_sets, k, allowed)
        except MemoryError:
            # The ordinary search stores one sample instead of two, and its bounds do not depend on this
            # search.
            sample, found = None, None
        if found is None:
            found = super()._search(plan, k, allowed)
        if sample is not None and sample.n_sets >= _TOO_MANY * used > 0:
            sample = trimmed(sample, used)
        self._sample = sample
        return replace(found, edges_examined=found.edges_examined + examined)
