"""The main job, end to end on small problems: learners find what the clairvoyant chooses."""

import networkx as nx
import numpy as np
import pytest

from cmab import CUCB, simulate
from instances import IndependentCascade
from oracles import InfluenceMaximization


@pytest.mark.slow
def test_cucb_learns_the_seeds_of_the_clairvoyant():
    """Four hubs of different strength: Algorithm 1 ends on the best pair, and loses less and less.

    The best pair is worth a quarter more than the next, so neither the oracle's epsilon nor luck decides.
    """
    graph = nx.DiGraph()
    for hub, (probability, leaves) in {"a": (0.9, 6), "b": (0.7, 6), "c": (0.2, 6), "d": (0.1, 6)}.items():
        graph.add_edges_from(((hub, f"{hub}{i}") for i in range(leaves)), p=probability)
    oracle = InfluenceMaximization(graph, k=2, epsilon=0.1)
    environment = IndependentCascade(graph, "p", k=2)
    assert environment.optimum == pytest.approx(2 + 6 * 0.9 + 6 * 0.7)
    clairvoyant = oracle.solve(environment.means, np.random.default_rng(0))
    result = simulate(CUCB(oracle), environment, 800, checkpoints=[200, 600, 800], rng=0)
    assert set(result.super_arms[0]) == set(clairvoyant)
    assert set(oracle.labels(clairvoyant)) == {"a", "b"}
    per_round = result.reward_per_round[0]
    assert per_round[0] < per_round[2]
    assert per_round[2] > 0.97 * environment.optimum
