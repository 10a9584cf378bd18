"""Matchings of any graph by Edmonds' blossom algorithm, as rustworkx has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles.programs._mixed_integer import scaled

# Weights are 128-bit integers there: the largest gets 62 bits or so, what parts ties 40 and those of a sum.
_EXPONENT, _NOISE = 50, 40


def best_matching(
    tails: IntArray, heads: IntArray, worth: FloatArray, perfect: bool, allowed: IntArray | None = None
) -> IntArray | None:
    """Return the edges of the matching worth most (of the perfect ones), in order; None if there is none.

    `allowed` are the edges that may be taken, all of them if left out.

    Weights are rounded to 2^-61 of the largest. Below that, each edge has a number of its own (a hash), so
    that the best matching is unique (isolation, Mulmuley, Vazirani, Vazirani 1987): ties do not depend on
    the order in which a library looks at edges.
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
    # Of parallel edges only the best can be of use.
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
