"""The exchanges of one arm that lead from a basis to another one, by enumeration of all bases."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from oracles import GraphicMatroid, LaminarMatroid, PartitionMatroid, TransversalMatroid

SQUARE = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
MATROIDS = {
    "trees": lambda sense: GraphicMatroid(SQUARE, sense),
    "parts": lambda sense: PartitionMatroid([0, 0, 1, 1, 1], {0: 1, 1: 2}, sense=sense),
    "laminar": lambda sense: LaminarMatroid(5, [([0, 1], 1), ([0, 1, 2], 2)], sense=sense),
    "transversal": lambda sense: TransversalMatroid(5, [[0, 1, 2], [2, 3], [3, 4]], sense=sense),
}


def bases(oracle):
    n, size = oracle.n_arms, len(oracle.solve(np.arange(oracle.n_arms) / 10.0, np.random.default_rng(0)))
    return [arms for arms in combinations(range(n), size) if oracle.is_feasible(np.array(arms))]


@pytest.mark.parametrize("name", MATROIDS)
def test_exchanges_are_those_of_the_bases(name):
    oracle = MATROIDS[name]("max")
    family = {frozenset(arms) for arms in bases(oracle)}
    for basis in family:
        inside = sorted(basis)
        expected = [
            [i, j]
            for i in inside
            for j in range(oracle.n_arms)
            if j not in basis and basis - {i} | {j} in family
        ]
        assert oracle.exchange_pairs(inside[::-1]).tolist() == expected
    with pytest.raises(ValueError, match="basis"):
        oracle.exchange_pairs([0])
