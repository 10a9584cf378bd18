"""Spread against CyNetDiff, an independent simulator: 18 comparisons at 5.5 standard errors, 7e-7 in all."""

import math

import numpy as np
import pytest

from instances import IndependentCascade, LinearThreshold, weighted_cascade
from oracles import DirectedGraph
from oracles.influence.spread import estimated_spread, threshold_spread


def network(rng, n=300, arcs=1500):
    tails = rng.integers(n, size=arcs)
    pairs = np.unique(np.stack([tails, (tails + rng.integers(1, n, size=arcs)) % n]), axis=1)
    return DirectedGraph.from_edges(*pairs, n_nodes=n)


def out_rows(graph, values):
    """CyNetDiff's form: first arc of each node, heads and values in that order, 32 bits each."""
    offsets, arms = graph.out_arcs
    rows = offsets[:-1].astype(np.uint32), graph.heads[arms].astype(np.uint32), values[arms]
    return rows[0], rows[1], rows[2].astype(np.float32)


def their_spread(model, seeds, cascades=4000):
    model.set_rng(7)
    model.set_seeds(set(seeds.tolist()))
    sizes = np.empty(cascades)
    for i in range(cascades):
        model.reset_model()
        model.advance_until_completion()
        sizes[i] = model.get_num_activated_nodes()
    return sizes.mean(), sizes.std() / math.sqrt(cascades)


@pytest.mark.parametrize("values", ["weighted", "constant", "threshold"])
def test_mean_spread_agrees_with_cynetdiff(values):
    models = pytest.importorskip("cynetdiff.models")
    rng = np.random.default_rng(0)
    graph = network(rng)
    p = np.full(graph.n_arcs, 0.15) if values == "constant" else weighted_cascade(graph)
    starts, edges, chances = out_rows(graph, p)
    if values == "threshold":
        ours, estimate = LinearThreshold(graph, p), threshold_spread
        theirs = models.LinearThresholdModel(starts, edges, influence=chances)
    else:
        ours, estimate = IndependentCascade(graph, p), estimated_spread
        theirs = models.IndependentCascadeModel(starts, edges, activation_probs=chances)
    for size in (1, 5, 20):
        seeds = rng.choice(graph.n_nodes, size, replace=False)
        wanted, their_error = their_spread(theirs, seeds)
        mean, error = estimate(graph, p, seeds, 4000, key=size)
        assert abs(mean - wanted) <= 5.5 * math.hypot(error, their_error)
        played = np.array([ours.play(seeds, rng).reward for _ in range(2000)])
        error = math.hypot(played.std() / math.sqrt(2000), their_error)
        assert abs(played.mean() - wanted) <= 5.5 * error
