"""Estimated spreads over weights of any size, and sample sizes at both ends."""

import math

import numpy as np
import pytest

from oracles import (
    DirectedGraph,
    InfluenceMaximization,
    TriggeringInfluence,
    TriggeringModel,
)


class CoinFlips(TriggeringModel):
    def live_arcs(self, graph, means, rng):
        return rng.random(graph.n_arcs) < means


@pytest.mark.parametrize("kind", ["ic", "lt", "triggering"])
@pytest.mark.parametrize("unit", [1e-320, 1e-300, 1e-160, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("heaviest", [1.0, 1e9])
def test_spread_and_its_error_follow_weights_of_any_size(kind, unit, heaviest):
    """A star of 30 fair coins, alone or under a hub that outweighs them: by the binomial's moments.

    Means within 6 standard errors and errors within 20 %: by chance otherwise with probability below 1e-8.
    """
    graph, means = DirectedGraph([0] * 30, range(1, 31), n_nodes=40), np.full(30, 0.5)
    weights = np.full(40, unit)
    if unit * heaviest < 1e306:
        weights[0] *= heaviest
    oracle = (
        TriggeringInfluence(graph, triggering=CoinFlips(), k=1, epsilon=0.3, node_weights=weights)
        if kind == "triggering"
        else InfluenceMaximization(graph, 1, epsilon=0.3, node_weights=weights, model=kind)
    )
    mean, error = oracle.spread(np.array([0]), means, cascades=500)
    wanted = math.sqrt(30 / 4 / 500)
    assert (mean - weights[0]) / unit == pytest.approx(15.0, abs=6 * wanted + 1e-15 * heaviest)
    assert error / unit == pytest.approx(wanted, rel=0.2, abs=1e-323 / unit)
