"""Sets that are large, or drawn from very different probabilities."""

import numpy as np
import pytest

from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence import Search
from oracles.influence import sampling as _tables
from oracles.influence.sampling import CLASSED, class_of
from oracles.influence.sentinels import sampled_graph
from oracles.influence.sets import ReverseGraph, SetCollection


def uneven(n_arcs, rng):
    """Return probabilities of many orders of magnitude, among them 0 and 1."""
    chances = 2.0 ** -rng.uniform(0.0, 45.0, n_arcs)
    chances[:6] = 0.0, 1.0, 0.5, 0.25, np.nextafter(0.25, 0.0), 2.0**-31
    return rng.permutation(chances)


def test_arcs_in_classes_are_drawn_with_their_probabilities():
    # The largest of 300 normal numbers exceeds 5 with a probability below 2e-4.
    rng = np.random.default_rng(0)
    chances = uneven(300, rng)
    graph = DirectedGraph(np.arange(1, 301), np.zeros(300, int), n_nodes=301)
    root = np.zeros(301)
    root[0] = 1.0
    reverse = ReverseGraph.of(graph, chances, node_weights=root, sampler="skips")
    assert reverse.world.rates[0] == CLASSED
    n_sets = 40_000
    sets = SetCollection(reverse, 3)
    sets.grow(n_sets)
    seen = np.bincount(sets.pool[: sets.ends[-1]], minlength=301)[1:]
    deviations = np.sqrt(n_sets * chances * (1.0 - chances))
    certain = (chances == 0.0) | (chances == 1.0)
    assert (seen[certain] == n_sets * chances[certain]).all()
    common = ~certain & (n_sets * chances > 10.0)
    assert common.sum() > 50
    assert (np.abs(seen - n_sets * chances)[common] < 5.0 * deviations[common]).all()
    # All rare arcs together: a Poisson number, 6 standard deviations from its mean with chance below 1e-8.
    rare = ~certain & ~common
    mean = n_sets * chances[rare].sum()
    assert abs(seen[rare].sum() - mean) < 6.0 * np.sqrt(mean)
    # The size of a set has the variance of independent arcs; the estimate has a relative error of 1/141.
    variance = (chances * (1.0 - chances)).sum()
    assert np.var(np.diff(sets.ends)) == pytest.approx(variance, rel=0.06)


@pytest.mark.parametrize("threads", [1, 2])
def test_sorting_into_classes_permutes_the_arcs_into_each_node(threads, monkeypatch):
    monkeypatch.setattr(_tables, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr("oracles.influence.sampling._WORTH_A_THREAD", 1)
    rng = np.random.default_rng(1)
    ends = rng.integers(20, size=(2, 8000))
    ends = ends[:, ends[0] != ends[1]]
    graph = DirectedGraph(*ends, n_nodes=20)
    means = uneven(graph.n_arcs, rng)
    plain = ReverseGraph.of(graph, means, sampler="coins", contract=False).world
    world = ReverseGraph.of(graph, means, sampler="skips", contract=False, threads=threads).world
    assert (world.rates == CLASSED).any()
    for v in range(20):
        part = slice(world.offsets[v], world.offsets[v + 1])
        rows, others = (
            list(zip(one.tails[part], one.limits[part], one.arms[part], strict=True))
            for one in (world, plain)
        )
        if world.rates[v] == CLASSED:
            classes = [class_of(limit) for _, limit, _ in rows]
            assert classes == sorted(classes)
            rows, others = sorted(rows), sorted(others)
        assert rows == others


def crowd(n=20_000, core=1500):
    """Return a graph of a dense core, whose sets are large, and its followers, most of which join alone."""
    rng = np.random.default_rng(2)
    tails, heads = rng.integers(core, size=(2, 150 * core))
    followers = np.arange(core, n)
    tails = np.concatenate((tails, rng.integers(core, size=n - core)))
    heads = np.concatenate((heads, followers))
    kept = tails != heads
    graph = DirectedGraph(tails[kept], heads[kept], n_nodes=n)
    return graph, np.where(graph.heads < core, 0.02, 0.01)


def test_sets_of_one_node_are_sampled_if_the_other_sets_are_large():
    graph, means = crowd()
    pairs = ReverseGraph.of(graph, means)
    assert len(pairs.world.gammas) > 0
    options = {"node_weights": None, "sampler": "auto", "model": "ic"}
    whole = sampled_graph(graph, means, **options)
    assert len(whole.world.gammas) == 0
    # Small sets stay pairs.
    few = sampled_graph(graph, np.full(graph.n_arcs, 0.001), **options)
    assert len(few.world.gammas) > 0
    sets = SetCollection(whole, 0)
    sets.grow(200)
    oracle = InfluenceMaximization(graph, k=5)
    found = oracle.solve_certified(means, np.random.default_rng(0))
    assert found.certified
    assert found.edges_examined / found.rr_sets < sets.edges_examined / sets.n_sets / 3
    spread, error = oracle.spread(found.seeds, means, cascades=2_000)
    # 6 standard errors: false alarms below 1e-8.
    assert abs(found.spread - spread) < 6.0 * np.hypot(error, found.standard_error)
    search = Search(sampler="pairs", max_rr_sets=400)
    seeds = InfluenceMaximization(graph, k=5, search=search).solve_certified(means, 0).seeds
    other, other_error = oracle.spread(seeds, means, cascades=2_000)
    assert spread > 0.98 * other - 4.0 * np.hypot(error, other_error)


def test_sampling_with_single_nodes_keeps_the_weights():
    graph, means = crowd(2000, 150)
    weights = np.random.default_rng(4).random(2000)
    pairs = ReverseGraph.of(graph, means, node_weights=weights, sampler="pairs")
    whole = pairs.with_single_nodes()
    assert whole.total_weight == pytest.approx(weights.sum())
    assert not whole.certain.any()
    roots, (n_sets, key) = np.zeros(2000), (30_000, 9)
    sets = SetCollection(whole, key)
    sets.stop_at(np.arange(2000))  # a set ends at its root
    sets.grow(n_sets)
    np.add.at(roots, sets.pool[sets.ends[:-1]], 1.0)
    expected = n_sets * weights / weights.sum()
    # The sum of 2,000 squared normal numbers has mean 2,000 and standard deviation 63.
    assert abs((((roots - expected) ** 2) / np.maximum(expected, 1e-9)).sum() - 2000) < 6.0 * 66.0
