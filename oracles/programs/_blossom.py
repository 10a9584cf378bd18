"""Matchings in general graphs by the blossom algorithm of rustworkx."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles.programs._mixed_integer import scaled

# The weights in rustworkx are 128-bit integers: about 62 bits for the largest mean, 40 bits to separate ties,
# and the bits of a sum.
_EXPONENT, _NOISE = 50, 40


def best_matching(
    tails: IntArray, heads: IntArray, worth: FloatArray, perfect: bool, allowed: IntArray | None = None
) -> IntArray | None:
    """Return the edges of the best (perfect) matching in increasing order, or None if it does not exist.

    `allowed` are the edges that may be chosen; by default all edges.

    Means are rounded to 2^-61 of the largest. Each edge also gets its own smaller weight (a hash), so that
    the best matching is unique (isolation lemma; Mulmuley, Vazirani, Vazirani 1987). So the answer does not
    depend on the order in which the library examines edges.
    """
    import rustworkx

    edges = np.arange(len(worth)) if allowed is None else allowed
    values = np.zeros(len(worth))
    values[edges] = np.ldexp(scaled(worth[edges])[0], _EXPONENT)
    if not perfect:
        edges = edges[values[edges] > 0.0]
    n_nodes = int(max(tails.max(), heads.max())) + 1
    shift = _NOISE + n_nodes.bit_length()
    noise = np.random.default_rng(0).integers(0, 2**_NOISE, len(values)).tolist()
    weights = {int(edge): (int(values[edge]) << shift) + noise[edge] for edge in edges}
    # Only the best of several parallel edges can be in the matching.
    of_pair: dict[tuple[int, int], int] = {}
    for edge in sorted(weights, key=weights.__getitem__):
        of_pair[_pair(tails[edge], heads[edge])] = edge
    graph: Any = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(n_nodes))
    graph.add_edges_from([(*pair, weights[edge]) for pair, edge in of_pair.items()])
    matched = rustworkx.max_weight_matching(graph, max_cardinality=perfect, weight_fn=int)
    if perfect and 2 * len(matched) < n_nodes:
        return None
    return np.array(sorted(of_pair[_pair(*pair)] for pair in matched), np.int64)


def _pair(one: Any, other: Any) -> tuple[int, int]:
    return (int(one), int(other)) if one < other else (int(other), int(one))
