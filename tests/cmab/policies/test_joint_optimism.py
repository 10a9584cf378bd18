"""`solve_root` against enumeration, and the rules that are optimistic for a super arm as a whole."""

from itertools import combinations
from math import log

import networkx as nx
import numpy as np
import pulp
import pytest
from cases import paths

from cmab import CUCB, ESCB, ArmStatistics, LinearOracle, simulate
from instances import BernoulliArms, SemiBandit
from oracles import BruteForce, GraphicMatroid, Matching, PuLPOracle, ShortestPath, TopK


def eastward(side):
    """Return the ways over a square grid, east and south."""
    graph = nx.DiGraph()
    for i, j in nx.grid_2d_graph(side, side):
        graph.add_edges_from(((i, j), end) for end in ((i + 1, j), (i, j + 1)) if max(end) < side)
    return graph


def trees(graph):
    """Return the spanning trees as sets of edge numbers."""
    edges, n = list(graph.edges), len(graph)
    parts = (
        (arms, nx.Graph([edges[arm] for arm in arms])) for arms in combinations(range(len(edges)), n - 1)
    )
    return [arms for arms, part in parts if len(part) == n and nx.is_connected(part)]


def cover_program(n_arms, rng):
    """Return an integer program whose relaxation is fractional, and its solutions."""
    rows = [np.sort(rng.choice(n_arms, 3, replace=False)) for _ in range(5)]
    problem = pulp.LpProblem("rows", pulp.LpMaximize)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(n_arms)]
    for row in rows:
        problem += pulp.lpSum(x[i] for i in row) <= 1
    every = (arms for size in range(n_arms + 1) for arms in combinations(range(n_arms), size))
    return PuLPOracle(problem, x), [s for s in every if all(len({*row} & {*s}) <= 1 for row in rows)]


def matchings(graph):
    """Return all matchings, by taking edges in turn."""
    edges, found = list(graph.edges), [()]
    for arm, (u, v) in enumerate(edges):
        found += [(*arms, arm) for arms in found if not {u, v} & {x for a in arms for x in edges[a]}]
    return found


ROADS, TEAMS, CIRCLE = eastward(7), nx.complete_bipartite_graph(4, 4), nx.complete_graph(6)
# Oracles with all their super arms, up to ten thousand.
FAMILIES = {
    "top_k": lambda: (TopK(18, 5), list(combinations(range(18), 5))),
    "top_k_min": lambda: (TopK(12, 6, sense="min"), list(combinations(range(12), 6))),
    "paths": lambda: (ShortestPath(ROADS, (0, 0), (6, 6)), paths(ROADS, (0, 0), (6, 6))),
    "paths_max": lambda: (ShortestPath(ROADS, (0, 0), (6, 6), sense="max"), paths(ROADS, (0, 0), (6, 6))),
    "matchings": lambda: (Matching(TEAMS), matchings(TEAMS)),
    "trees": lambda: (GraphicMatroid(CIRCLE), trees(CIRCLE)),
    "program": lambda: cover_program(12, np.random.default_rng(0)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_search_finds_four_fifths_of_the_best(name):
    """Of up to ten thousand super arms, at widths as rules have them and at others; often the best."""
    oracle, family = FAMILIES[name]()
    assert len(family) <= 10_000
    listed, rng, best = BruteForce(oracle.n_arms, family, sense=oracle.sense), np.random.default_rng(0), 0
    for trial in range(20):
        means = rng.random(oracle.n_arms) * oracle._sign
        squares = (5.0 / rng.integers(1, 10 ** (1 + trial % 4), oracle.n_arms), rng.random(oracle.n_arms))
        for square in squares:
            found, most = (
                oracle._sign * means[arms].sum() + np.sqrt(square[arms].sum())
                for arms in (oracle.solve_root(means, square, rng), listed.solve_root(means, square, rng))
            )
            assert 0.8 * most - 1e-9 <= found <= most + 1e-9
            best += found >= most - 1e-9
    assert best >= 20


def test_where_no_tangent_touches_the_best():
    """Sums (1, 0) and (0, 1) are worth 1 each; (0.6, 0.39) lies below the line between, and is worth more."""
    oracle = BruteForce(3, [[0], [1], [2]])
    means, squares = np.array([1.0, 0.0, 0.6]), np.array([0.0, 1.0, 0.39])
    assert list(oracle.solve_root(means, squares, 0)) == [2]
    assert list(LinearOracle.solve_root(oracle, means, squares, 0)) in ([0], [1])


def test_what_solve_root_refuses():
    for squares in ([1, -1, 0], [1, 1], [1, np.nan, 0]):
        with pytest.raises(ValueError, match="squares"):
            TopK(3, 2).solve_root(np.ones(3), np.array(squares, float), 0)
    roads = ShortestPath(nx.cycle_graph(4), 0, 2)
    assert not roads._can_solve_root
    with pytest.raises(TypeError, match="solve_root"):
        roads.solve_root(np.ones(4), np.ones(4), 0)
    with pytest.raises(ValueError, match="must have solve_root"):
        ESCB(roads)


def known_statistics():
    stats = ArmStatistics.empty(4)
    stats.counters[:] = 1, 10, 100, 1000
    stats.means[:] = 0.2, 0.4, 0.6, 0.8
    stats.rounds = 1000
    return stats


def test_the_widths_of_the_papers():
    stats, t, k = known_statistics(), 1001, 2
    oracle = TopK(4, k)
    f = log(t) + 4 * k * log(log(t))
    assert ESCB(oracle).widths(stats, t) == pytest.approx([f / 2 / n for n in (1, 10, 100, 1000)])
    assert ESCB(oracle, support=(0.0, 10.0)).widths(stats, t) == pytest.approx(
        [100 * f / 2 / n for n in (1, 10, 100, 1000)]
    )
    assert ESCB(oracle, loglog=0.0).widths(stats, t) == pytest.approx(
        [log(t) / 2 / n for n in (1, 10, 100, 1000)]
    )


@pytest.mark.parametrize("sense", ["max", "min"])
def test_escb_plays_the_largest_index(sense):
    """Against the index of each super arm, written out; arms never seen come first."""
    stats, policy = known_statistics(), ESCB(TopK(4, 2, sense=sense))
    f = log(1001) + 8 * log(log(1001))

    def index(arms):
        mean, width = (
            sum(stats.means[i] for i in arms),
            np.sqrt(f / 2 * sum(1 / stats.counts[i] for i in arms)),
        )
        return mean + width if sense == "max" else -(mean - width)

    best = max(combinations(range(4), 2), key=index)
    assert tuple(policy.select(stats, np.random.default_rng(0))) == best
    stats.counters[[1, 3]] = 0
    assert list(policy.select(stats, np.random.default_rng(0))) == [1, 3]


@pytest.mark.slow
def test_joint_optimism_explores_less_than_arm_by_arm():
    """24 independent arms in two disjoint super arms: ESCB's radius is L^(1/2) times smaller than CUCB's.

    The worst of three runs of the one is below the best of the other.
    """
    oracle = BruteForce(24, [range(12), range(12, 24)])
    place = SemiBandit(BernoulliArms([0.8] * 12 + [0.9] * 12), oracle)
    runs = {rule: simulate(rule(oracle), place, 1500, replications=3, rng=0) for rule in (ESCB, CUCB)}
    assert runs[ESCB].regret[:, -1].max() < runs[CUCB].regret[:, -1].min()
