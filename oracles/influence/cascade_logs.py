"""Seeds from a log of cascades of which only people were seen: CLCB-IM-N."""

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
# Cells of the tables (rounds, nodes) that are looked at together.
_CELLS = 2**22


def clcb_cascades(
    oracle: InfluenceOracle, seeds: Rounds, active: Rounds, *, delta: float = 0.05, rng: Seed = 0
) -> OfflineChoice:
    """Return the seeds that are best if all edges carry as little as a log of cascades allows.

    The log says who was a seed and who was active one step later, but not which edge carried the message.
    Who was a seed must be independent from person to person and from round to round: each person u in a
    round with a probability q_u of their own, which need not be known, as if an advertisement reaches people
    at random. Then an edge's probability is ``(1 - P(v stays out) / P(v stays out | u is no seed)) / q_u``,
    and each of the three is replaced by the end of its interval that makes the edge worst. Where the seeds
    of the log were chosen together, bounds may be wrong, and nothing in the log shows it.

    The bounds hold together with probability at least ``1 - delta``. They are 0 for edges out of people who
    never or always were seeds, and into people who always were active. They need long logs: in the example
    20,000 rounds give 0.61 to an edge of 0.8.

    Parameters
    ----------
    oracle : InfluenceOracle
        The network and its seeds, under independent cascades. Between two people there may be one edge in
        each direction.
    seeds : sequence of collections
        The names of the seeds of each round; numbers where the network has no names.
    active : sequence of collections
        The names of those who were active after one step; seeds always are, whether or not they are named.
    delta : float
        Error probability, in (0, 1).
    rng : int, numpy.random.Generator or None
        Randomness of the oracle.

    Returns
    -------
    OfflineChoice
        ``super_arm`` has the seeds, ``bounds`` the lower bounds of all edges, and ``reward_bound`` is their
        spread on these bounds: exact or the mean of 2,000 cascades, as in `InfluenceOracle.expected_reward`.

    Raises
    ------
    ValueError
        If `oracle` is of another model or has parallel edges, the lists are empty or not equally long, a
        name is unknown, somebody was active whom no seed can have told, or `delta` is out of range.

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
    (line 4 as its radius has it: rounds in which u was no seed) and Theorem 5. W. Chen, X. Sun, J. Zhang,
    Z. Zhang: Network Inference and Influence Maximization from Samples, ICML 2021, for the identity.
    """
    given: object = oracle
    if not isinstance(given, InfluenceOracle) or oracle.model != "ic" or not oracle._people_tell_coins:
        raise ValueError(f"oracle must be of influence under independent cascades, got {shown(oracle)}")
    graph, names = oracle.graph, ("seeds", "active")
    arcs = graph.tails.astype(np.int64) * graph.n_nodes + graph.heads
    if len(np.unique(arcs)) < graph.n_arcs:
        raise ValueError("oracle must have no parallel edges: who was active cannot tell them apart")
    real("delta", delta, 0.0, 1.0, inside=True)
    rounds = [listed(name, log, "rounds") for name, log in zip(names, (seeds, active), strict=True)]
    n = len(rounds[0])
    if not n == len(rounds[1]) > 0:
        raise ValueError(f"seeds and active must have a round or more each, got {n} and {len(rounds[1])}")
    told = [_numbers(graph, name, log) for name, log in zip(names, rounds, strict=True)]
    bounds = _bounds(graph, n, *_counts(graph, *told), float(delta))
    return recommended(oracle, bounds, bounds, delta, rng)


def _numbers(graph: DirectedGraph, what: str, log: list[Collection[Hashable]]) -> list[list[int]]:
    """Return the node numbers of each round."""
    known, found = graph.node_numbers, []
    for t, names in enumerate(log):
        try:
            # A text is one name or a mistake, and not the names of its letters.
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
    """Return how often each node was a seed, how often not active, and how often each arc had neither.

    Neither: its tail was no seed and its head was not active.
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
            raise ValueError(f"no seed can have told {graph.label(int(node))!r} in round {start + t}")
        seeded += is_seed.sum(axis=0)
        reached += is_active.sum(axis=0)
        np.add.at(both, arc[is_active[row, heads]], 1)
    return seeded, n - reached, n - seeded[graph.tails] - reached[graph.heads] + both


def _table(n_nodes: int, rounds: list[list[int]]) -> BoolArray:
    """Return which nodes are in which round."""
    table = np.zeros((len(rounds), n_nodes), np.bool_)
    lengths = [len(nodes) for nodes in rounds]
    table[np.repeat(np.arange(len(rounds)), lengths), [node for nodes in rounds for node in nodes]] = True
    return table


def _tried(graph: DirectedGraph, is_seed: BoolArray) -> tuple[IntArray, AnyArray]:
    """Return all pairs of a round and an arc out of one of its seeds."""
    offsets, arcs = graph.out_arcs
    row, tails = np.nonzero(is_seed)
    degrees = offsets[tails + 1] - offsets[tails]
    ends = np.cumsum(degrees)
    # The i-th arc out of each seed: where its arcs begin, and i.
    places = np.repeat(offsets[tails] - ends + degrees, degrees) + np.arange(degrees.sum())
    return np.repeat(row, degrees), arcs[places]


def _bounds(
    graph: DirectedGraph, n: int, seeded: IntArray, inactive: IntArray, neither: IntArray, delta: float
) -> FloatArray:
    """Return the lower bound of each arc's probability."""
    log_term = math.log(12.0 * n * max(graph.n_arcs, 1) / delta)
    unseeded = (n - seeded)[graph.tails]
    shares, stays = seeded / n, inactive / n
    # Algorithm 3, line 4, but divided by the rounds in which the tail was no seed.
    stays_without = neither / np.maximum(unseeded, 1)
    # Lines 5 and 6.
    most = np.minimum(shares + _radius(shares, n, log_term), 1.0)[graph.tails]
    above = np.minimum(stays + _radius(stays, n, log_term), 1.0)[graph.heads]
    below = np.maximum(stays_without - _radius(stays_without, unseeded, log_term), 0.0)
    with np.errstate(divide="ignore"):
        # Line 7; where `below` is 0, nothing is known.
        bounds: FloatArray = np.clip((1.0 - above / below) / most, 0.0, 1.0)
    return bounds


def _radius(share: FloatArray, count: IntArray | int, log_term: float) -> FloatArray:
    """Return the radius of line 5, infinite where nothing was counted."""
    with np.errstate(divide="ignore"):
        per_round = log_term / np.asarray(count, np.float64)
    # 0 times infinity stands for shares of nothing.
    spread = np.sqrt(6.0 * share * (1.0 - share) * np.where(np.isfinite(per_round), per_round, 0.0))
    radius: FloatArray = spread + 9.0 * per_round
    return radius
