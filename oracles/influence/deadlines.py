"""Influence maximisation with a deadline: message delays, cascades up to the deadline, and their sets.

Forward and backward, nodes are settled in order of time, as in Dijkstra's algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Unpack

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.compiled import GOLDEN, eager_kernel, kernel, keyed_uniform, lean_kernel, mix, to_unit
from cmab.selection import heap_drop, heap_rise
from cmab.validation import frozen, integer, per_arm, real
from oracles.influence.graph import DirectedGraph, require_memory
from oracles.influence.maximization import InfluenceMaximization, Options
from oracles.influence.sampling import draw_root
from oracles.influence.sets import ReverseGraph, Room
from oracles.influence.spread import KEY, MOST_CASCADES, cascade_key, mean_and_error, node_worths

if TYPE_CHECKING:
    import networkx as nx


_DELAYS = 0x71CE  # separates the delay of an arc from its outcome
_TINY = 2.0**-53


class Timed(NamedTuple):
    """The arcs ``offsets[v]:offsets[v + 1]`` of each node v, to or from `others`.

    Arc j succeeds with probability ``chances[j]`` after its delay. The delay is ``ln(u) * scales[j]`` for a
    uniform u; with `steps`, it is one plus the integer part of this. Events after `deadline` do not happen.
    """

    offsets: IntArray
    others: AnyArray
    chances: FloatArray
    scales: FloatArray
    steps: bool
    deadline: float


@lean_kernel
def _delay(number, scale, steps):
    # In (0, 1], so the logarithm is finite. P[delay > t] = e^(-rate t), or (1 - meeting)^t for integers t.
    delay = math.log(number + _TINY) * scale
    return 1.0 + math.floor(delay) if steps else delay


@lean_kernel
def _arrive(v, time, times, heap, keys, size):
    """Activate node v at `time` unless it is active earlier; return the size of the heap."""
    times[v] = time
    heap[size], keys[size] = v, -time
    heap_rise(heap, keys, size)
    return size + 1


@kernel
def timed_cascade(world, arms, seeds, key, times, heap, keys, active, observed, outcomes):
    """Run one cascade; outcome and delay of the arc at position j are functions of (key, j).

    An arc out of an active node is observed if its delay is over by the deadline, even if its head is already
    active. `times` must be infinite at first; it returns the times of the `active` nodes, which are in order
    of time. If `observed` is empty, nothing is recorded. Return the number of active nodes and of observed
    arcs.
    """
    offsets, others, chances, scales, steps, deadline = world
    shows = observed.shape[0] > 0
    size, n_active, seen = 0, 0, 0
    for seed in seeds:
        size = _arrive(seed, 0.0, times, heap, keys, size)
    while size > 0:
        v, now = heap[0], -keys[0]
        size = heap_drop(heap, keys, size)
        if now > times[v]:  # an outdated entry: an earlier message was found later
            continue
        active[n_active] = v
        n_active += 1
        for j in range(offsets[v], offsets[v + 1]):
            then = now + _delay(keyed_uniform(key ^ _DELAYS, j), scales[j], steps)
            if then > deadline:
                continue
            success = keyed_uniform(key, j) < chances[j]
            if shows:
                observed[seen], outcomes[seen] = arms[j], success
                seen += 1
            if success and then < times[others[j]]:
                size = _arrive(others[j], then, times, heap, keys, size)
    return n_active, seen


@eager_kernel
def timed_sums(world, weights, seeds, key, first, last, origin):
    """Return `spread_sums` for the spreads of cascades up to the deadline."""
    n, m = world.offsets.shape[0] - 1, world.others.shape[0]
    times, active = np.full(n, np.inf), np.empty(n, np.int64)
    heap, keys = np.empty(n + m, np.int64), np.empty(n + m)
    nothing, no_arms, no_numbers = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
    total, squares = 0.0, 0.0
    for i in range(first, last):
        run, spread = cascade_key(key, i), 0.0
        size, _ = timed_cascade(world, no_arms, seeds, run, times, heap, keys, active, nothing, no_numbers)
        for v in active[:size]:
            spread += weights[v]
            times[v] = np.inf
        total += spread
        squares += (spread - origin) ** 2
    return total, squares


@eager_kernel
def draw_timed_sets(world, backwards, key, first, last, owners, ends, pool, stamps):
    """Draw sets of the nodes that reach a root by the deadline (Tang et al. 2015, section 5)."""
    roots, cuts, aliases = world.roots, world.cuts, world.aliases
    offsets, others, chances, scales, steps, deadline = backwards
    base, n, keep = mix(np.uint64(key)), offsets.shape[0] - 1, ends.shape[0] > 0
    heap, keys = np.empty(n + others.shape[0], np.int64), np.empty(n + others.shape[0])
    times = np.empty(n)  # valid for nodes with the stamp of the set
    hits, examined, start = 0, 0, ends[0] if keep else 0
    for j in range(last - first):
        if start + n > pool.shape[0]:
            return j, hits, examined
        stamp = first + j + 1
        v, state = draw_root(roots, cuts, aliases, mix(base + np.uint64(stamp) * GOLDEN))
        pool[start], stamps[v], end, owner = v, stamp, start + 1, owners[v]
        size = _arrive(v, 0.0, times, heap, keys, 0)
        while size > 0 and owner < 0:
            v, now = heap[0], -keys[0]
            size = heap_drop(heap, keys, size)
            if now > times[v]:
                continue
            examined += offsets[v + 1] - offsets[v]
            for i in range(offsets[v], offsets[v + 1]):
                state += GOLDEN
                if to_unit(mix(state)) >= chances[i]:
                    continue
                state += GOLDEN
                then, u = now + _delay(to_unit(mix(state)), scales[i], steps), others[i]
                is_new = stamps[u] != stamp
                # A node that is in time once is in the set. A shorter path only lets it reach further back.
                if then > deadline or not (is_new or then < times[u]):
                    continue
                size = _arrive(u, then, times, heap, keys, size)
                if is_new:
                    stamps[u], pool[end] = stamp, u
                    end += 1
                    owner = owners[u]
                    if owner >= 0:
                        break
        hits += owner >= 0
        if keep:
            if owner >= 0 and pool[end - 1] != owner:
                pool[end] = owner
                end += 1
            ends[j + 1] = start = end
    return last - first, hits, examined


_BYTES_OF_ARC, _BYTES_OF_NODE = 40, 40


@dataclass(frozen=True, eq=False)
class Delays:
    """The delay distribution of each arc, and the deadline.

    Attributes
    ----------
    scales : FloatArray, shape (n_arcs,)
        The delay is ``ln(u) * scale`` for a uniform u. If `steps` is true, it is one plus the integer part of
        this.
    steps : bool
        Whether time is discrete.
    deadline : float
        The time after which activations do not count.
    meeting, rates : FloatArray, optional
        The arguments from which the scales were computed.
    """

    scales: FloatArray
    steps: bool
    deadline: float
    meeting: FloatArray | None = None
    rates: FloatArray | None = None

    @classmethod
    def of(
        cls, graph: DirectedGraph, deadline: float, meeting: ArrayLike | None, rates: ArrayLike | None
    ) -> Delays:
        """Return the delays for meeting probabilities, for rates, or for one step if both are None."""
        deadline = real("deadline", deadline, 0.0, inside=True)
        if meeting is not None and rates is not None:
            raise ValueError("rates must be None if meeting is given, got both")
        if rates is not None:
            given = frozen(_each("rates", rates, graph.n_arcs, np.inf))
            return cls(-1.0 / given, False, deadline, rates=given)
        if meeting is None:
            return cls(np.zeros(graph.n_arcs), True, deadline)
        given = frozen(_each("meeting", meeting, graph.n_arcs, 1.0))
        with np.errstate(divide="ignore"):
            return cls(1.0 / np.log1p(-given), True, deadline, meeting=given)

    def chances_within(self, time: float) -> FloatArray:
        """Return the probability that each delay is at most `time`."""
        passed = float(np.floor(time)) if self.steps else time
        if passed <= 0.0:
            return np.zeros(len(self.scales))
        with np.errstate(divide="ignore"):  # a message that takes one step has scale 0
            chances: FloatArray = -np.expm1(passed / -np.abs(self.scales))
        return chances

    def along(self, offsets: IntArray, arms: AnyArray, others: AnyArray, means: FloatArray) -> Timed:
        """Return the arrays for the kernels, in the order of `arms`."""
        return Timed(offsets, others, means[arms], self.scales[arms], self.steps, self.deadline)

    def spread(
        self,
        graph: DirectedGraph,
        means: FloatArray,
        seeds: IntArray,
        cascades: int,
        *,
        key: int = KEY,
        node_weights: FloatArray | None = None,
        threads: int = 1,
    ) -> tuple[float, float]:
        """Return the mean weight of nodes active by the deadline over `cascades`, and its standard error."""
        needed = _BYTES_OF_ARC * graph.n_arcs + _BYTES_OF_NODE * graph.n_nodes
        require_memory(threads * needed, f"cascades on {graph!r} on {threads} threads")
        world = self.along(*graph.out_arcs, graph.out_heads, means)
        return mean_and_error(
            cascades,
            threads,
            node_worths(graph, node_weights),
            lambda *at: timed_sums(world, at[0], seeds, key, *at[1:]),
        )


def _each(name: str, values: ArrayLike, n_arcs: int, most: float) -> FloatArray:
    """Return a positive number for each arc, from one number for all arcs or from an array."""
    numbers = per_arm(name, values, n_arcs, 0.0, most)
    if not (numbers > 0.0).all():
        raise ValueError(f"{name} must be positive, got 0 for arm {int(np.argmin(numbers))}")
    return numbers


@dataclass(frozen=True, eq=False)
class TimedSets(ReverseGraph):
    """Sets of the nodes that reach a root by the deadline."""

    backwards: Timed | None = None

    @classmethod
    def within(
        cls, delays: Delays, graph: DirectedGraph, means: FloatArray, node_weights: FloatArray | None = None
    ) -> TimedSets:
        """Return the reverse graph for a deadline."""
        # Contract and omit nothing, because a certain message takes time, too.
        plain = ReverseGraph.of(
            graph, np.full(graph.n_arcs, 0.5), node_weights=node_weights, sampler="coins", contract=False
        )
        return cls(**vars(plain), backwards=delays.along(*graph.in_arcs, graph.in_tails, means))

    def draw(self, key: int, first: int, last: int, room: Room) -> tuple[int, int, int]:
        assert self.backwards is not None
        drawn: tuple[int, int, int] = draw_timed_sets(self.world, self.backwards, key, first, last, *room)
        return drawn


_CASCADES = 2000


class DeadlineInfluence(InfluenceMaximization):
    """The `k` nodes that activate the most nodes by a deadline, with OPIM-C's guarantee.

    A node that becomes active sends one message along each outgoing edge. The message takes a random time of
    known distribution and succeeds with the edge's mean. Arms, super arms, ``alpha``, ``beta`` and the search
    are those of `InfluenceMaximization`. A reverse-reachable set has the nodes that reach its root by the
    deadline.

    There are three delay models. Without `meeting` and `rates`, each message takes one step, and the deadline
    is a number of hops. With `meeting`, two people meet in each step with this probability, and the message
    takes until their first meeting (the IC-M model). With `rates`, time is continuous and delays are
    exponential.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds, in ``[1, number of candidates]``.
    deadline : float
        The time up to which activations count, positive. Seeds are active at time 0.
    meeting : float or array_like, shape (n_arms,), optional
        The probability of a meeting in a step, in (0, 1]. A scalar applies to all edges.
    rates : float or array_like, shape (n_arms,), optional
        One over the mean delay, positive. A scalar applies to all edges. Give either `rates` or `meeting`.
    **options
        `delta`, `epsilon`, `node_weights`, `candidates` and `search` as in `InfluenceMaximization`, except
        that `search` must not have a sampler.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DeadlineInfluence, DirectedGraph
    >>> chain_or_star = DirectedGraph.from_edges([0, 1, 2, 3, 5, 5], [1, 2, 3, 4, 6, 7])
    >>> means, rng = np.full(6, 0.9), np.random.default_rng(0)
    >>> [DeadlineInfluence(chain_or_star, k=1, deadline=hops).solve(means, rng).tolist() for hops in (1, 4)]
    [[5], [0]]

    References
    ----------
    W. Chen, W. Lu, N. Zhang: Time-Critical Influence Maximization in Social Networks with Time-Delayed
    Diffusion Process, AAAI 2012 (IC-M).
    N. Du, L. Song, M. Gomez-Rodriguez, H. Zha: Scalable Influence Estimation in Continuous-Time Diffusion
    Networks, NIPS 2013.
    Y. Tang, Y. Shi, X. Xiao: Influence Maximization in Near-Linear Time: A Martingale Approach, SIGMOD 2015,
    on sets in continuous time (section number from memory: 4.3).
    """

    triggers_surely = False
    #: Reports of people do not show which messages were still under way.
    _people_tell_coins: ClassVar[bool] = False
    _fixed: ClassVar[Mapping[str, Any]] = {"sampler": "coins"}

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        deadline: float,
        meeting: ArrayLike | None = None,
        rates: ArrayLike | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(graph, k, model="ic", backend=None, **options)
        self.delays = Delays.of(self.graph, deadline, meeting, rates)
        self.deadline, self.meeting, self.rates = deadline, self.delays.meeting, self.delays.rates
        # Some messages of a sender arrive in time and others do not, so the edges out of a node are not a
        # cluster.
        self.clusters = None

    def spread(
        self, super_arm: IntArray, means: FloatArray, *, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the mean number (or weight) of nodes active by the deadline, and its standard error.

        The mean is over `cascades` simulated cascades with the same random numbers in every call.
        """
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        probabilities = self._probabilities(means)
        cascades = integer("cascades", cascades, 2, MOST_CASCADES)
        return self.delays.spread(
            self.graph, probabilities, super_arm, cascades, node_weights=self.node_weights
        )

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:
        """Return None: the probabilities depend on delays, which cannot be enumerated."""
        return None

    def _hop_chances(self, probabilities: FloatArray, hops: int) -> FloatArray:
        # Give each hop of a path an equal part of the time: a lower bound on the chance to be in time.
        return probabilities * self.delays.chances_within(self.deadline / hops)

    def _reverse_graph(self, probabilities: FloatArray) -> ReverseGraph:
        return TimedSets.within(self.delays, self.graph, probabilities, self.node_weights)
