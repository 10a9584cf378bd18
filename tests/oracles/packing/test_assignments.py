"""Generalised assignment: enumeration, scipy's integer programs, b-matchings, and what is refused."""

import networkx as nx
import numpy as np
from refusals import refused

from oracles import GeneralizedAssignment, Matching

RNG = np.random.default_rng


def test_weights_of_one_are_b_matchings():
    graph = nx.complete_bipartite_graph(3, 5)
    oracle = GeneralizedAssignment(np.ones((3, 5)), [2, 1, 1])
    matching = Matching(graph, capacity={0: 2, 1: 1, 2: 1, **dict.fromkeys(range(3, 8), 1)})
    for seed in range(10):
        means = RNG(seed).normal(size=15)
        assert oracle.solve(means, 0).tolist() == matching.solve(means, 0).tolist()


test_bad_input_is_refused = refused(
    (lambda: GeneralizedAssignment([1, 2], [1]), "weights must have shape"),
    (lambda: GeneralizedAssignment([[1, -2]], [1]), "weights must be finite"),
    (lambda: GeneralizedAssignment([[1, 2]], [1, 2]), "capacities"),
    (lambda: GeneralizedAssignment([[1]], [1], method="best"), "method"),
    (lambda: GeneralizedAssignment([[1]], [1], sense="most"), "sense"),
    (lambda: GeneralizedAssignment([[1]], [1], method="local_ratio", sense="min"), "must be 'program'"),
    (lambda: GeneralizedAssignment([[1]], [1], gap=1.0), "gap"),
    (lambda: GeneralizedAssignment([[1]], [1], method="local_ratio").solve(np.array([-1.0]), 0), "means"),
)
