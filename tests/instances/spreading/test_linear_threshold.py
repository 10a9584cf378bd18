"""Linear thresholds: enumeration, Kempe et al.'s definition and the pool, against each other."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from refusals import refused

from instances import LinearThreshold
from oracles import DirectedGraph
from oracles.influence.spread import threshold_spread


def random_environment(rng, n=6, arcs=10, **options):
    tails = rng.integers(n, size=arcs)
    graph = DirectedGraph.from_edges(tails, (tails + rng.integers(1, n, size=arcs)) % n, n_nodes=n)
    shares = rng.random(arcs)
    shares /= np.bincount(graph.heads, shares, n)[graph.heads]
    return LinearThreshold(graph, shares * rng.choice([0.3, 0.7, 1.0], n)[graph.heads], **options)


def by_live_edges(environment, seeds):
    """Sum over all choices of at most one arc into each node."""
    graph, means = environment.graph, environment.means
    choices = []
    for v in range(graph.n_nodes):
        arcs = np.flatnonzero(graph.heads == v)
        choices.append([*((int(graph.tails[a]), means[a]) for a in arcs), (None, 1 - means[arcs].sum())])
    total = 0.0
    for picks in product(*choices):
        active = set(seeds)
        for _ in range(graph.n_nodes):
            active |= {v for v, (u, _) in enumerate(picks) if u in active}
        total += math.prod(p for _, p in picks) * len(active)
    return total


def by_thresholds(environment, seeds, rng):
    """One cascade by the definition: all nodes whose active in-neighbours outweigh their threshold."""
    graph, thresholds = environment.graph, rng.random(environment.graph.n_nodes)
    active = np.zeros(graph.n_nodes, bool)
    active[seeds] = True
    while True:
        pressure = np.bincount(graph.heads, environment.means * active[graph.tails], graph.n_nodes)
        larger = active | (thresholds < pressure)
        if (larger == active).all():
            return int(active.sum())
        active = larger


def test_expected_reward_against_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(15):
        environment = random_environment(rng)
        for size in (1, 2, 3):
            seeds = rng.choice(6, size, replace=False)
            wanted = by_live_edges(environment, seeds.tolist())
            assert environment.expected_reward(seeds) == pytest.approx(wanted, abs=1e-12)
            assert environment.standard_error(seeds) == 0.0


@pytest.mark.slow
def test_rounds_and_batches_against_the_definition():
    """Three simulators and, where it is not enumerated, the pool: 12 comparisons at 5.5 errors, 5e-7."""
    rng = np.random.default_rng(1)
    environment = random_environment(rng, n=40, arcs=160, n_rr_sets=50_000)
    for size in (1, 3, 8):
        seeds = rng.choice(40, size, replace=False)
        value, error = environment.expected_reward(seeds), environment.standard_error(seeds)
        assert error > 0.0
        played = [environment.play(seeds, rng).reward for _ in range(4000)]
        defined = [by_thresholds(environment, seeds, rng) for _ in range(4000)]
        batch, batch_error = threshold_spread(environment.graph, environment.means, seeds, 4000, key=size)
        assert abs(batch - value) <= 5.5 * math.hypot(error, batch_error)
        for rewards in (played, defined):
            assert abs(np.mean(rewards) - value) <= 5.5 * math.hypot(error, np.std(rewards) / 4000**0.5)
        assert abs(np.mean(defined) - batch) <= 5.5 * math.hypot(batch_error, np.std(defined) / 4000**0.5)


def test_optimum_by_enumeration_and_by_greedy():
    small = random_environment(np.random.default_rng(2), k=2)
    assert small.optimum_is_exact
    values = [by_live_edges(small, pair) for pair in combinations(range(6), 2)]
    assert small.optimum == pytest.approx(max(values), abs=1e-12)
    large = random_environment(np.random.default_rng(3), n=40, arcs=160, k=4, n_rr_sets=20_000)
    assert not large.optimum_is_exact
    rng = np.random.default_rng(0)
    tried = [large.expected_reward(rng.choice(40, 4, replace=False)) for _ in range(50)]
    assert large.optimum >= max(tried)


test_refuses = refused(
    ([0.5], "length 2"),
    ([0.5, 0.6], r"sum to at most 1 .* 1.1 at node 'c'"),
    ([-0.1, 0.5], "edge_weight"),
    by=lambda weight: LinearThreshold(
        DirectedGraph.from_edges([0, 1], [2, 2], labels=["a", "b", "c"]), weight
    ),
)
