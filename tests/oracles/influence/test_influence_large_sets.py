"""Large sets, for which sets of one node are sampled as well."""

import numpy as np

from instances import IndependentCascade
from oracles import DeadlineInfluence, DirectedGraph, InfluenceMaximization
from oracles import _networks as arrays
from oracles.influence import Search
from oracles.influence.sentinels import sampled_graph
from oracles.influence.sets import ReverseGraph, SetCollection


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
    assert pairs.omits_single_nodes
    options = {"node_weights": None, "sampler": "auto", "model": "ic"}
    whole = sampled_graph(graph, means, **options)
    assert not whole.omits_single_nodes
    # Small sets stay pairs.
    few = sampled_graph(graph, np.full(graph.n_arcs, 0.001), **options)
    assert few.omits_single_nodes
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


def answers(graph, means):
    """Return the answers of all ways to draw sets and to run cascades."""
    rng = np.random.default_rng
    weights = means / np.maximum(1.0, np.bincount(graph.heads, means, graph.n_nodes))[graph.heads]
    for sampler in ("auto", "pairs", "skips", "sentinels"):
        oracle = InfluenceMaximization(graph, 3, epsilon=0.3, search=Search(sampler=sampler))
        answer = oracle.solve_certified(means, rng(0))
        yield answer.seeds.tolist(), answer.ratio, answer.edges_examined, oracle.spread(answer.seeds, means)
    linear = InfluenceMaximization(graph, 3, epsilon=0.3, model="lt")
    yield linear.solve(weights, rng(0)).tolist(), linear.spread(np.array([0, 1, 2]), weights)
    timed = DeadlineInfluence(graph, 3, epsilon=0.3, deadline=2)
    yield timed.solve(means, rng(0)).tolist(), timed.spread(np.array([0, 1, 2]), means)
    played = IndependentCascade(graph, means).play(np.array([0, 1, 2]), rng(0))
    yield played.arms.tolist(), played.outcomes.tolist()


def test_numbers_of_arcs_with_64_bits_give_the_same_answers(monkeypatch):
    """As graphs of more than 2^31 arcs have them; one probability vector is contracted."""
    rng = np.random.default_rng(5)
    tails, heads = rng.integers(60, size=(2, 1500))
    ends, vectors = (tails[tails != heads], heads[tails != heads]), []
    n_arcs = len(ends[0])
    vectors = [rng.random(n_arcs) * 0.1, np.where(rng.random(n_arcs) < 0.1, 1.0, 0.02)]
    short = DirectedGraph(*ends, n_nodes=60)
    assert short.in_arcs[1].dtype == np.int32
    expected = [list(answers(short, means)) for means in vectors]
    monkeypatch.setattr(arrays, "_LONG", 1000)
    long = DirectedGraph(*ends, n_nodes=60)
    assert long.in_arcs[1].dtype == long.out_arcs[1].dtype == np.int64
    assert [list(answers(long, means)) for means in vectors] == expected
