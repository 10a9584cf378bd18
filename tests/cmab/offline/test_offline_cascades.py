"""CLCB-IM-N: the identity it rests on, bounds that hold, logs that say nothing, logs that cannot be."""

import math
from itertools import product

import networkx as nx
import numpy as np
import pytest
from refusals import refused
from scipy.stats import binom

from oracles import (
    DeadlineInfluence,
    DegreeHeuristic,
    DirectedGraph,
    InfluenceMaximization,
    MonteCarloGreedy,
    TopK,
    clcb_cascades,
)
from oracles.influence import variants as cascade_logs

RNG = np.random.default_rng


def drawn(graph, p, q, n, rng):
    """The seeds and who was active after one step in `n` rounds."""
    is_seed = rng.random((n, graph.n_nodes)) < q
    is_active = is_seed.copy()
    for tail, head, chance in zip(graph.tails, graph.heads, p, strict=True):
        is_active[:, head] |= is_seed[:, tail] & (rng.random(n) < chance)
    return [[np.flatnonzero(row).tolist() for row in table] for table in (is_seed, is_active)]


def by_the_paper(edges, seeds, active, delta, divide_by="no seed"):
    """Algorithm 3 line by line and edge by edge, on sets of nodes."""
    n, log_term = len(seeds), math.log(12 * len(seeds) * len(edges) / delta)

    def rho(share, count):
        return math.sqrt(6 * share * (1 - share) * log_term / count) + 9 * log_term / count

    bounds = []
    for u, v in edges:
        q = sum(u in s for s in seeds) / n
        out = sum(v not in a for a in active)
        both = sum(u not in s and v not in a for s, a in zip(seeds, active, strict=True))
        without = sum(u not in s for s in seeds)
        if not without:
            bounds.append(0.0)
            continue
        given = both / (without if divide_by == "no seed" else max(out, 1))
        below = max(given - rho(given, without), 0)
        ratio = min(out / n + rho(out / n, n), 1) / below if below else math.inf
        bounds.append(min(1, max(0, (1 - ratio) / min(q + rho(q, n), 1))))
    return np.array(bounds)


def chances(graph, p, q):
    """For each arc P(v stays out) and P(v stays out | u no seed): all seeds and coins enumerated."""
    m, n = graph.n_arcs, graph.n_nodes
    stays, both = np.zeros(n), np.zeros(m)
    for coins in product((0, 1), repeat=n + m):
        seeds, carries = coins[:n], coins[n:]
        weight = math.prod(x if c else 1 - x for c, x in zip(coins, [*q, *p], strict=True))
        for v in range(n):
            told = any(carries[e] and seeds[graph.tails[e]] for e in range(m) if graph.heads[e] == v)
            if not seeds[v] and not told:
                stays[v] += weight
                for e in range(m):
                    both[e] += weight * (graph.heads[e] == v and not seeds[graph.tails[e]])
    return stays[graph.heads], both / (1 - np.asarray(q)[graph.tails])


@pytest.mark.parametrize("seed", range(6))
def test_the_identity_is_exact(seed):
    """(13) by enumeration of seeds and coins, and the bounds of a log of infinitely many rounds are p."""
    rng = RNG(seed)
    pairs = [(u, v) for u in range(4) for v in range(4) if u != v]
    chosen = [pairs[i] for i in rng.choice(12, 6, replace=False)]
    graph = DirectedGraph.from_edges(*np.array(chosen).T, n_nodes=4)
    p, q = rng.random(6), rng.uniform(0.2, 0.8, 4)
    stays, given = chances(graph, p, q)
    np.testing.assert_allclose((1 - stays / given) / q[graph.tails], p, atol=1e-12)
    stay_out, gaps = np.zeros(4), []
    stay_out[graph.heads] = stays
    for n in (10**6, 10**8, 10**10, 10**12):
        counts = n * q, n * stay_out, n * given * (1 - q[graph.tails])
        bounds = cascade_logs._bounds(graph, n, *(np.round(x).astype(np.int64) for x in counts), 0.05)
        assert (bounds <= p + 1e-9).all()
        gaps.append(np.max(p - bounds))
    # As one over the root of n.
    assert gaps[0] < 0.2 and 8 < gaps[1] / gaps[2] < 11 and gaps[3] < 3e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_bounds_are_those_of_the_paper(seed, monkeypatch):
    """Edge by edge, in one table and in many; dividing as line 4 is printed gives others."""
    rng, graph = RNG(seed), nx.gnm_random_graph(4, 3, seed=seed, directed=True)
    oracle = InfluenceMaximization(nx.relabel_nodes(graph, "p{}".format), k=2)
    net = oracle.graph
    p = rng.uniform(0.6, 1.0, 3)
    seeds, active = drawn(net, p, rng.uniform(0.4, 0.6, 4), 20_000, rng)
    told = [[[net.label(node) for node in row] for row in log] for log in (seeds, active)]
    edges = list(zip(net.tails.tolist(), net.heads.tolist(), strict=True))
    wanted = by_the_paper(edges, seeds, active, 0.1)
    choice = clcb_cascades(oracle, *told, delta=0.1, rng=4)
    np.testing.assert_allclose(choice.bounds, wanted, rtol=1e-10, atol=1e-12)
    assert wanted.max() > 0.01 and choice.delta == 0.1
    printed = by_the_paper(edges, seeds, active, 0.1, divide_by="as printed")
    assert np.abs(printed - wanted).max() > 0.1
    best = oracle.solve(choice.bounds, RNG(4))
    assert choice.super_arm.tolist() == best.tolist()
    assert choice.reward_bound == pytest.approx(oracle.expected_reward(best, wanted))
    monkeypatch.setattr(cascade_logs, "_CELLS", 6000)
    again = clcb_cascades(oracle, told[0], [set(row) for row in told[1]], delta=0.1, rng=4)
    assert again.bounds.tolist() == choice.bounds.tolist()
    without = [sorted(set(a) - set(s)) for s, a in zip(*told, strict=True)]
    assert clcb_cascades(oracle, told[0], without, delta=0.1).bounds.tolist() == choice.bounds.tolist()


@pytest.mark.slow
def test_bounds_hold_as_often_as_they_say():
    """A thousand logs, drawn as counts of outcomes; false alarm 1e-9, were the error exactly delta.

    Some bounds must say something. Estimates without radii fail in nearly every log.
    """
    rng, delta, n, failures, told, plain = RNG(7), 0.2, 20_000, 0, 0, 0
    coins = np.array(list(product((False, True), repeat=8)))
    is_seed, carries = coins[:, :4], coins[:, 4:]
    pairs = np.array([(u, v) for u in range(4) for v in range(4) if u != v])
    for _ in range(1000):
        graph = DirectedGraph.from_edges(*pairs[rng.choice(12, 4, replace=False)].T, n_nodes=4)
        p, q = rng.random(4), rng.uniform(0.1, 0.9, 4)
        is_out = ~is_seed
        for arc, (tail, head) in enumerate(zip(graph.tails, graph.heads, strict=True)):
            is_out[:, head] &= ~(is_seed[:, tail] & carries[:, arc])
        chance = np.concatenate([q, p])
        often = rng.multinomial(n, np.where(coins, chance, 1 - chance).prod(axis=1))
        seeded, out = often @ is_seed, often @ is_out
        neither = often @ (~is_seed[:, graph.tails] & is_out[:, graph.heads])
        bounds = cascade_logs._bounds(graph, n, seeded, out, neither, delta)
        failures += bool((bounds > p).any())
        told += bool((bounds > 0.1).any())
        given = neither / (n - seeded[graph.tails])
        plain += bool(((1 - out[graph.heads] / n / given) / (seeded[graph.tails] / n) > p).any())
    assert failures <= binom.isf(1e-9, 1000, delta)
    assert told > 500 and plain > 800


@pytest.mark.slow
def test_logs_that_say_nothing_of_an_edge():
    """Seeds that never or always are, heads always active, somebody alone, one round only: bounds of 0."""
    graph = nx.DiGraph(
        [("never", "a"), ("always", "a"), ("u", "a"), ("u", "always"), ("a", "u"), ("u", "sure")]
    )
    graph.add_node("alone")
    oracle, rng, seeds, active = DegreeHeuristic(graph, k=2), RNG(0), [], []
    for _ in range(12000):
        picked = {name for name in ("u", "a", "alone") if rng.random() < 0.5}
        told = {"sure"} if "u" in picked and rng.random() < 0.9 else set()
        seeds.append(["always", *picked])
        active.append(told | ({"u"} if "a" in picked and rng.random() < 0.9 else set()))
    choice = clcb_cascades(oracle, seeds, active)
    found = dict(zip(oracle._arm_labels(), choice.bounds.tolist(), strict=True))
    assert found.pop(("a", "u")) > 0.2 and found.pop(("u", "sure")) > 0.2
    assert set(found.values()) == {0.0}
    for one in (clcb_cascades(oracle, seeds[:1], active[:1]), clcb_cascades(oracle, [[]], [[]])):
        assert not one.bounds.any() and one.reward_bound == 2.0
    empty = DegreeHeuristic(DirectedGraph.from_edges([], [], n_nodes=3), k=1)
    assert clcb_cascades(empty, [[0], [1, 1]], [[], []]).bounds.tolist() == []


@pytest.mark.slow
def test_arcs_back_and_forth_are_told_apart():
    oracle = MonteCarloGreedy(nx.Graph([("u", "v")]), k=1)
    seeds, active = drawn(oracle.graph, [0.9, 0.0], [0.5, 0.5], 12000, RNG(1))
    names = [[[oracle.graph.label(i) for i in row] for row in log] for log in (seeds, active)]
    forth, back = clcb_cascades(oracle, *names).bounds
    assert 0.3 < forth < 0.9 and back == 0.0
    assert oracle.labels(clcb_cascades(oracle, *names).super_arm) == ["u"]


def fork(**options):
    return InfluenceMaximization(nx.DiGraph([("a", "b"), ("a", "c")]), k=1, **options)


test_logs_that_cannot_be_are_refused = refused(
    (
        lambda: clcb_cascades(fork(), [], []),
        "seeds and active must have the same number of rounds, at least 1, got 0 and 0",
    ),
    (lambda: clcb_cascades(fork(), [["a"]], []), "got 1 and 0"),
    (lambda: clcb_cascades(fork(), [["a"], ["x"]], [[], []]), r"seeds must hold names .* in round 1"),
    (lambda: clcb_cascades(fork(), [["a"]], [[["b"]]]), "active must hold names of the network"),
    (lambda: clcb_cascades(fork(), [[0]], [[]]), "seeds must hold names of the network"),
    (lambda: clcb_cascades(fork(), [3], [[]]), "seeds must hold names of the network"),
    (
        lambda: clcb_cascades(fork(), [["a"], ["b"]], [["b"], ["c"]]),
        "active must be people whom a seed can reach, got 'c' in round 1",
    ),
    (lambda: clcb_cascades(fork(), [["a"]], [[]], delta=1.0), "delta must"),
    (lambda: clcb_cascades(fork(model="lt"), [["a"]], [[]]), "oracle must be an influence oracle"),
    (lambda: clcb_cascades(TopK(2, 1), [[0]], [[]]), "oracle must be an influence oracle"),
    (
        lambda: clcb_cascades(
            DeadlineInfluence(nx.DiGraph([(0, 1)]), 1, deadline=2, meeting=0.5), [[0]], [[]]
        ),
        "oracle must be an influence oracle",
    ),
    (
        lambda: clcb_cascades(DegreeHeuristic(nx.MultiDiGraph([(0, 1), (0, 1)]), 1), [[0]], [[1]]),
        "parallel edges",
    ),
    (lambda: clcb_cascades(DegreeHeuristic(nx.DiGraph([(0, 0)]), 1), [[0]], [[]]), "self-loops"),
)
