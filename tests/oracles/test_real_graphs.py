"""Trees, paths, matchings and coverage on real graphs, against networkx, scipy and an integer program."""

import functools
import gzip

import networkx as nx
import numpy as np
import pulp
import pytest
from places import DATA
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from oracles import GraphicMatroid, Matching, MaxCoverage, MostReliablePath, ShortestPath

RNG = np.random.default_rng


@functools.cache
def lines(name):
    """Return the pairs of a file, without loops."""
    file = DATA / f"{name}.txt.gz"
    if not file.exists():
        pytest.skip(f"the graph {file} is not here")
    with gzip.open(file, "rt") as text:
        pairs = np.loadtxt(text, np.int64, comments="#", skiprows=0)[1:]
    return pairs[pairs[:, 0] != pairs[:, 1]]


def undirected(name):
    graph = nx.Graph()
    graph.add_edges_from(lines(name).tolist())
    return graph


def matrix(graph, means, both=False):
    """Return means as a sparse matrix: each edge once, or in both directions."""
    number = {node: i for i, node in enumerate(graph)}
    ends = np.array([(number[u], number[v]) for u, v in graph.edges])
    if both:
        ends, means = np.concatenate((ends, ends[:, ::-1])), np.tile(means, 2)
    return coo_array((means, (ends[:, 0], ends[:, 1])), (len(graph), len(graph))).tocsr()


def voting(n_voters, n_candidates):
    """Return who of the keenest voters of Wiki-Vote voted for whom of the candidates with the most votes."""
    votes = lines("wiki_vote")
    voters = np.argsort(-np.bincount(votes[:, 0]), kind="stable")[:n_voters]
    candidates = np.argsort(-np.bincount(votes[:, 1]), kind="stable")[:n_candidates]
    kept = votes[np.isin(votes[:, 0], voters) & np.isin(votes[:, 1], candidates)]
    graph = nx.Graph()
    graph.add_nodes_from((("by", u) for u in np.unique(kept[:, 0]).tolist()), bipartite=0)
    graph.add_nodes_from((("for", v) for v in np.unique(kept[:, 1]).tolist()), bipartite=1)
    graph.add_edges_from((("by", u), ("for", v)) for u, v in kept.tolist())
    return graph


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nethept_imm", "ego_facebook", "ca_grqc"])
@pytest.mark.parametrize("sense", ["max", "min"])
def test_spanning_forests(name, sense):
    """Weights without ties have one best forest: scipy's has the same value, networkx's the same edges."""
    graph = undirected(name)
    oracle, means = GraphicMatroid(graph, sense), RNG(1).uniform(0.1, 1.0, graph.number_of_edges())
    tree = oracle.solve(means, RNG(0))
    sign = -1.0 if sense == "max" else 1.0
    # scipy takes zero for no edge and would need positive weights for a sense of its own.
    known = minimum_spanning_tree(matrix(graph, 2.0 + sign * means))
    assert len(tree) == known.nnz == len(graph) - nx.number_connected_components(graph)
    assert means[tree].sum() == pytest.approx(sign * (known.sum() - 2.0 * known.nnz), rel=1e-9)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, means.tolist(), strict=True)), "w")
    span = nx.maximum_spanning_edges if sense == "max" else nx.minimum_spanning_edges
    assert {frozenset(edge) for edge in span(graph, weight="w", data=False)} == set(
        map(frozenset, oracle.labels(tree))
    )


def test_paths():
    """From an author of ca-GrQc to five others: lengths, and products by their logarithms, as scipy's."""
    graph = undirected("ca_grqc")
    nodes, means = list(graph), RNG(2).uniform(0.05, 1.0, graph.number_of_edges())
    lengths = dijkstra(matrix(graph, means, both=True), indices=0)
    hardships = dijkstra(matrix(graph, -np.log(means), both=True), indices=0)
    assert nx.is_connected(graph)
    for target in RNG(3).choice(np.arange(1, len(nodes)), 5, replace=False):
        shortest = ShortestPath(graph, nodes[0], nodes[target])
        path = shortest.solve(means, RNG(0))
        assert shortest.is_feasible(path)
        assert means[path].sum() == pytest.approx(lengths[target])
        reliable = MostReliablePath(graph, nodes[0], nodes[target])
        path = reliable.solve(means, RNG(0))
        assert reliable.expected_reward(path, means) == pytest.approx(np.exp(-hardships[target]))


@pytest.mark.parametrize("method", ["pulp", "assignment"])
def test_matchings_of_voters_and_candidates(method):
    graph = voting(60, 80)
    oracle, rng = Matching(graph, method=method), RNG(4)
    row = {node: i for i, node in enumerate(n for n, side in graph.nodes(data="bipartite") if side == 0)}
    column = {node: i for i, node in enumerate(n for n, side in graph.nodes(data="bipartite") if side == 1)}
    for _ in range(3):
        means = rng.random(oracle.n_arms)
        worth = np.zeros((len(row), len(column)))
        for (u, v), mean in zip(graph.edges, means, strict=True):
            worth[row[u], column[v]] = mean
        rows, columns = linear_sum_assignment(worth, maximize=True)
        answer = oracle.solve(means, rng)
        assert oracle.is_feasible(answer)
        assert means[answer].sum() == pytest.approx(worth[rows, columns].sum())


def test_matchings_of_authors():
    """No two sides here: networkx has the blossom algorithm, the oracle an integer program."""
    graph = undirected("ca_grqc").subgraph(range(700))
    graph = nx.Graph(graph.subgraph(max(nx.connected_components(graph), key=len)))
    assert not nx.is_bipartite(graph)
    oracle, means = Matching(graph), RNG(5).random(graph.number_of_edges())
    nx.set_edge_attributes(graph, dict(zip(graph.edges, means.tolist(), strict=True)), "w")
    known = sum(graph.edges[edge]["w"] for edge in nx.max_weight_matching(graph, weight="w"))
    answer = oracle.solve(means, RNG(0))
    assert oracle.is_feasible(answer)
    assert means[answer].sum() == pytest.approx(known)


@pytest.mark.parametrize("k", [3, 10])
def test_greedy_coverage_against_an_integer_program(k):
    """Voters that between them voted on most candidates, where an edge is certain or impossible."""
    graph = voting(50, 200)
    oracle = MaxCoverage(graph, k)
    means = (RNG(6).random(oracle.n_arms) < 0.1).astype(float)
    problem = pulp.LpProblem("cover", pulp.LpMaximize)
    take = {u: problem.add_variable(f"x{i}", cat="Binary") for i, u in enumerate(oracle.left)}
    reach = {v: problem.add_variable(f"y{i}", 0, 1) for i, v in enumerate(oracle.right)}
    problem += pulp.lpSum(take.values()) <= k
    by = {v: [] for v in oracle.right}
    for (u, v), mean in zip(oracle.edges, means, strict=True):
        by[v] += [take[u]] if mean else []
    for v, chosen in by.items():
        problem += reach[v] <= pulp.lpSum(chosen)
    problem.setObjective(pulp.lpSum(reach.values()))
    problem.solve(pulp.HiGHS(msg=False, threads=1))
    best = pulp.value(problem.objective)
    found = oracle.expected_reward(oracle.solve(means, RNG(0)), means)
    assert (1 - 1 / np.e) * best - 1e-6 <= found <= best + 1e-6
    assert 0 < best < len(oracle.right)
