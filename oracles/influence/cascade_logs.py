"""Seed selection from a log of cascades without edge feedback: CLCB-IM-N."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.logs.offline import OfflineChoice, recommended
from cmab.seeding import Seed
from cmab.validation import listed, real, shown
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.influence.base import InfluenceOracle

Rounds = Sequence[Collection[Hashable]]
# The largest number of cells (round, node) that are processed at once.
_CELLS = 2**22


def clcb_cascades(
    oracle: InfluenceOracle, seeds: Rounds, active: Rounds, *, delta: float = 0.05, rng: Seed = 0
) -> OfflineChoice:
    """Return the best seeds for lower confidence bounds on the edges, computed from a log of cascades.

    The log contains the seeds and the people active one step later. It does not contain the edges
    that carried the message. Whether a person is a seed must be independent over people and rounds: in each
    round, each person u is a seed with a fixed probability q_u, which need not be known, as if an
    advertisement reached people at random. The probability of the edge (u, v) is then
    ``(1 - P(v stays out) / P(v stays out | u is not a seed)) / q_u``. The bound replaces each of the three
    probabilities by the end of its confidence interval that gives the lowest value. If the seeds of the log
    were chosen jointly, the bounds may be wrong, and the log cannot show this.

    All bounds hold simultaneously with probability at least ``1 - delta``. A bound is 0 if the tail of the
    edge was a seed in no round or in all rounds, or if its head was active in all rounds. The bounds need
    long logs: in the example below, 20,000 rounds give a bound of 0.61 for an edge of probability 0.8.

    Parameters
    ----------
    oracle : InfluenceOracle
        The oracle with the network, under independent cascades. There may be at most one edge from one person
        to another.
    seeds : sequence of collections
        The names of the seeds of each round; node numbers if the network has no names.
    active : sequence of collections
        The names of the people active after one step. Seeds are always active and may be omitted.
    delta : float
        The error probability, in (0, 1).
    rng : int, numpy.random.Generator or None
        The source of randomness of the oracle.

    Returns
    -------
    OfflineChoice
        ``super_arm`` has the seeds and ``bounds`` the lower bounds of all edges. ``reward_bound`` is the
        spread of the seeds at these bounds, exact or the mean of 2,000 cascades as in
        `InfluenceOracle.expected_reward`.

    Raises
    ------
    ValueError
        If `oracle` has another model or parallel edges, if the lists are empty or differ in length, if a name
        is unknown, if no seed can have reached an active person, or if `delta` is out of range.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import InfluenceMaximization, clcb_cascades
    >>> friends = nx.DiGraph([("ann", "bob"), ("dan", "bob"), ("dan", "eve")])
    >>> rng, seeds, active = np.random.default_rng(0), [], []
    >>> for _ in range(20_000):
    ...     seeds.append([name for name in ("ann", "dan") if rng.random() < 0.5])
    ...     chances = {"ann": [("bob", 0.8)], "dan": [("bob", 0.1), ("eve", 0.1)]}
    ...     active.append({v for u in seeds[-1] for v, p in chances[u] if rng.random() < p})
    >>> oracle = InfluenceMaximization(friends, k=1)
    >>> choice = clcb_cascades(oracle, seeds, active)
    >>> oracle.labels(choice.super_arm), choice.bounds.round(2), round(choice.reward_bound, 2)
    (['ann'], array([0.61, 0.  , 0.03]), 1.61)

    References
    ----------
    X. Liu et al.: Offline Learning for Combinatorial Multi-armed Bandits, ICML 2025, appendix C, Algorithm 3
    (line 4 with the rounds in which u was not a seed, as in its radius) and Theorem 5. W. Chen, X. Sun,
    J. Zhang, Z. Zhang: Network Inference and Influence Maximization from Samples, ICML 2021 (identity).
    """
    given: object = oracle
    if not isinstance(given, InfluenceOracle) or oracle.model != "ic" or not oracle._people_tell_coins:
        raise ValueError(f"oracle must be an influence oracle for independent cascades, got {shown(oracle)}")
    graph, names = oracle.graph, ("seeds", "active")
    arcs = graph.tails.astype(np.int64) * graph.n_nodes + graph.heads
    if len(np.unique(arcs)) < graph.n_arcs:
        raise ValueError("oracle must not have parallel edges, because the log cannot distinguish them")
    real("delta", delta, 0.0, 1.0, inside=True)
    rounds = [listed(name, log, "rounds") for name, log in zip(names, (seeds, active), strict=True)]
    n = len(rounds[0])
    if not n == len(rounds[1]) > 0:
        raise ValueError(
            f"seeds and active must have the same number of rounds, at least 1, got {n} and {len(rounds[1])}"
        )
    told = [_numbers(graph, name, log) for name, log in zip(names, rounds, strict=True)]
    bounds = _bounds(graph, n, *_counts(graph, *told), float(delta))
    return recommended(oracle, bounds, bounds, delta, rng)


def _numbers(graph: DirectedGraph, what: str, log: list[Collection[Hashable]]) -> list[list[int]]:
    """Return the node numbers of each round."""
    known, found = graph.node_numbers, []
    for t, names in enumerate(log):
        try:
            # Reject a string, which would otherwise be read as the names of its letters.
            if isinstance(names, str | bytes):
                raise TypeError
            found.append([known[name] for name in names])
        except (KeyError, TypeError):
            raise ValueError(
                f"{what} must hold names of the network, got {shown(names)} in round {t}"
            ) from None
    return found


def _counts(
    graph: DirectedGraph, seeds: list[list[int]], active: list[list[int]]
) -> tuple[IntArray, IntArray, IntArray]:
    """Return how often each node was a seed and inactive, and each arc "neither".

    An arc is "neither" in a round if its tail is not a seed and its head is not active.
    """
    n, size = len(seeds), max(1, _CELLS // graph.n_nodes)
    seeded, reached = np.zeros((2, graph.n_nodes), np.int64)
    both = np.zeros(graph.n_arcs, np.int64)
    for start in range(0, n, size):
        is_seed = _table(graph.n_nodes, seeds[start : start + size])
        is_active = is_seed | _table(graph.n_nodes, active[start : start + size])
        row, arc = _tried(graph, is_seed)
        heads = graph.heads[arc]
        is_reachable = is_seed.copy()
        is_reachable[row, heads] = True
        strays = np.argwhere(is_active & ~is_reachable)
        if len(strays):
            t, node = strays[0]
            raise ValueError(
                f"active must be people whom a seed can reach, got {graph.label(int(node))!r}"
                f" in round {start + t}"
            )
        seeded += is_seed.sum(axis=0)
        reached += is_active.sum(axis=0)
        np.add.at(both, arc[is_active[row, heads]], 1)
    return seeded, n - reached, n - seeded[graph.tails] - reached[graph.heads] + both


def _table(n_nodes: int, rounds: list[list[int]]) -> BoolArray:
    """Return a table of the nodes in each round."""
    table = np.zeros((len(rounds), n_nodes), np.bool_)
    lengths = [len(nodes) for nodes in rounds]
    table[np.repeat(np.arange(len(rounds)), lengths), [node for nodes in rounds for node in nodes]] = True
    return table


def _tried(graph: DirectedGraph, is_seed: BoolArray) -> tuple[IntArray, AnyArray]:
    """Return all pairs of a round and an arc out of a seed of that round."""
    offsets, arcs = graph.out_arcs
    row, tails = np.nonzero(is_seed)
    degrees = offsets[tails + 1] - offsets[tails]
    ends = np.cumsum(degrees)
    # The arcs out of a seed are numbered i = 0, 1, ... from the place where its arcs begin.
    places = np.repeat(offsets[tails] - ends + degrees, degrees) + np.arange(degrees.sum())
    return np.repeat(row, degrees), arcs[places]


def _bounds(
    graph: DirectedGraph, n: int, seeded: IntArray, inactive: IntArray, neither: IntArray, delta: float
) -> FloatArray:
    """Return a lower confidence bound on the probability of each arc."""
    log_term = math.log(12.0 * n * max(graph.n_arcs, 1) / delta)
    unseeded = (n - seeded)[graph.tails]
    shares, stays = seeded / n, inactive / n
    # Algorithm 3, line 4, but divided by the number of rounds in which the tail was not a seed.
    stays_without = neither / np.maximum(unseeded, 1)
    # Lines 5 and 6.
    most = np.minimum(shares + _radius(shares, n, log_term), 1.0)[graph.tails]
    above = np.minimum(stays + _radius(stays, n, log_term), 1.0)[graph.heads]
    below = np.maximum(stays_without - _radius(stays_without, unseeded, log_term), 0.0)
    with np.errstate(divide="ignore"):
        # Line 7. If `below` is 0, the log does not bound the probability.
        bounds: FloatArray = np.clip((1.0 - above / below) / most, 0.0, 1.0)
    return bounds


def _radius(share: FloatArray, count: IntArray | int, log_term: float) -> FloatArray:
    """Return the radius of line 5, which is infinite for a count of 0."""
    with np.errstate(divide="ignore"):
        per_round = log_term / np.asarray(count, np.float64)
    # Avoid 0 times infinity for a count of 0.
    spread = np.sqrt(6.0 * share * (1.0 - share) * np.where(np.isfinite(per_round), per_round, 0.0))
    radius: FloatArray = spread + 9.0 * per_round
    return radius
