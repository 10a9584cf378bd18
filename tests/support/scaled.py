"""Oracles of a realistic size, and which policies of `cases.POLICIES` go with each."""

import networkx as nx
import numpy as np
from cases import ITEMS, JOINT, UNIFORM

from cmab import C2UCB, CombLinTS, ContextualMNLTS, ContextualMNLUCB, LogisticTS
from oracles import GraphicMatroid, InfluenceMaximization, Matching, ShortestPath, TopK


def streets():
    """Return the streets of a town of 400 crossings."""
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 20))


def people():
    """Return two hundred people with some friends each."""
    return nx.barabasi_albert_graph(200, 3, seed=0).to_directed()


SCALED = {
    "top 10 of 100": lambda: TopK(100, 10),
    "top 20 of 1000": lambda: TopK(1_000, 20),
    "matching 20 x 20": lambda: Matching(nx.complete_bipartite_graph(20, 20), method="assignment"),
    "matching 20 x 20 by the solver": lambda: Matching(nx.complete_bipartite_graph(20, 20)),
    "path on 20 x 20": lambda: ShortestPath(streets(), 0, 399),
    "tree of 200 edges": lambda: GraphicMatroid(nx.gnm_random_graph(80, 200, seed=1)),
    "influence of 200": lambda: InfluenceMaximization(people(), 5, epsilon=0.3),
}


def features(oracle):
    """Return five features of each arm, of length one."""
    drawn = np.random.default_rng(0).normal(size=(oracle.n_arms, 5))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


# The rows of `cases.POLICIES` give each arm a feature of its own, whose matrices are too large here.
MADE = {
    "c2ucb": lambda oracle: C2UCB(oracle, features(oracle), radius=0.5),
    "comblints": lambda oracle: CombLinTS(oracle, features(oracle)),
    "contextual_mnl_ts": lambda oracle: ContextualMNLTS(oracle, features(oracle), ridge=0.5),
    "contextual_mnl_ucb": lambda oracle: ContextualMNLUCB(oracle, features(oracle), radius_factor=0.3),
    "logisticts": lambda oracle: LogisticTS(oracle, features(oracle), prior_mean=-1.0),
}


def made(case, oracle):
    """Return the policy of a row for a large oracle."""
    return MADE.get(case.name, case.make)(oracle)


def fits(case, oracle):
    """Return whether the row of a policy can be made for an oracle."""
    if case.name in JOINT:
        return oracle.is_linear and getattr(oracle, "_can_solve_root", False)
    if case.name in UNIFORM:
        return getattr(oracle, "_uniform_size", None) is not None
    if case.name in ITEMS:
        return oracle.is_linear
    return case.family is TopK


def seen_arms(oracle, super_arm):
    """Return base arms as a round shows them: of influence, the ties out of the seeds."""
    if not hasattr(oracle, "graph") or not isinstance(oracle, InfluenceMaximization):
        return oracle.triggered_arms(super_arm)
    return np.flatnonzero(np.isin(oracle.graph.tails, super_arm))
