"""Milliseconds a call of the oracles on graphs, beside the libraries that do the same job, ratios of one run.

Run: python tests/benchmarks/graph_families.py. Costs are uniform; all are asked for the same values, and give
the same ones, where both are exact. "program" is the same problem as a kept HiGHS model, costs changed only.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import networkx as nx
import numpy as np
import pulp
import rustworkx
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from oracles import (
    Arborescence,
    DisjointPaths,
    GeneralizedAssignment,
    MinCostFlow,
    MinimumCut,
    PuLPOracle,
    SteinerTree,
)

RNG = np.random.default_rng(0)


def milliseconds(call: Callable[[], object], seconds: float = 0.5) -> float:
    call()
    calls, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        call()
        calls += 1
    return 1e3 * (time.process_time() - started) / calls


def shown(name: str, ours: Callable[[], object], others: dict[str, Callable[[], object]]) -> None:
    mine = milliseconds(ours)
    print(f"{name:<44}{mine:>10.3f} ms", end="")
    for library, call in others.items():
        theirs = milliseconds(call)
        print(f"   {library} {theirs:.3g} ms, {theirs / mine:.3g} times", end="")
    print(flush=True)


def priced(graph: nx.Graph, name: str = "weight", whole: bool = False) -> np.ndarray:
    """Give each edge a random cost, and return the costs in the order of the edges."""
    m = graph.number_of_edges()
    costs = RNG.integers(1, 10**6, m).astype(float) if whole else RNG.random(m)
    values = costs.astype(int).tolist() if whole else costs.tolist()
    nx.set_edge_attributes(graph, dict(zip(graph.edges, values, strict=True)), name)
    return costs


def flow_program(graph: nx.DiGraph, demand: dict[int, int]) -> PuLPOracle:
    problem, net = pulp.LpProblem("flow", pulp.LpMinimize), {node: [] for node in graph}
    x = []
    for i, (u, v) in enumerate(graph.edges):
        x.append(problem.add_variable(f"x{i}", cat="Binary"))
        net[u].append(-1.0 * x[-1])
        net[v].append(1.0 * x[-1])
    for node, terms in net.items():
        if terms:
            problem += pulp.lpSum(terms) == demand.get(node, 0)
    return PuLPOracle(problem, x)


def cut_program(graph: nx.DiGraph, source: int, target: int) -> PuLPOracle:
    """An edge is cut where its tail is on the source's side more than its head is."""
    problem = pulp.LpProblem("cut", pulp.LpMinimize)
    side = {node: problem.add_variable(f"s{node}", lowBound=0, upBound=1) for node in graph}
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(graph.number_of_edges())]
    for taken, (u, v) in zip(x, graph.edges, strict=True):
        problem += taken >= side[u] - side[v]
    problem += side[source] == 1
    problem += side[target] == 0
    return PuLPOracle(problem, x)


def arborescences() -> None:
    for n in (30, 200, 1000):
        graph = nx.gnm_random_graph(n, 5 * n, seed=1, directed=True)
        graph.add_edges_from((0, node) for node in range(1, n))
        graph.remove_edges_from(list(graph.in_edges(0)))
        costs, oracle = priced(graph), Arborescence(graph, 0, sense="min")
        others = {"networkx": lambda g=graph: nx.minimum_spanning_arborescence(g)}
        shown(f"arborescence, {n} nodes, {len(costs)} arcs", lambda o=oracle, c=costs: o.solve(c, 0), others)


def flows() -> None:
    for n in (50, 500):
        graph = nx.gnm_random_graph(n, 8 * n, seed=1, directed=True)
        costs = priced(graph, whole=True)
        nx.set_edge_attributes(graph, 1, "capacity")
        demand = {0: -3, n - 1: 3}
        nx.set_node_attributes(graph, demand, "demand")
        oracle, paths = MinCostFlow(graph), DisjointPaths(graph, 0, n - 1, k=3, disjoint="nodes")
        program = flow_program(graph, demand)
        others = {
            "networkx": lambda g=graph: nx.min_cost_flow_cost(g),
            "program": lambda o=program, c=costs: o.solve(c, 0),
        }
        name = f"{n} nodes, {len(costs)} arcs"
        shown(f"flow of 3 units, {name}", lambda o=oracle, c=costs: o.solve(c, 0), others)
        shown(f"3 paths without common nodes, {name}", lambda o=paths, c=costs: o.solve(c, 0), {})


def cuts() -> None:
    for n in (50, 500):
        graph = nx.gnm_random_graph(n, 8 * n, seed=1, directed=True)
        costs, oracle = priced(graph, "capacity"), MinimumCut(graph, 0, n - 1)
        whole = csr_array(
            (np.rint(costs * 2**20).astype(np.int32), np.array(graph.edges).T), shape=(n, n), dtype=np.int32
        )
        program = cut_program(graph, 0, n - 1)
        others = {
            "scipy (whole numbers)": lambda w=whole, n=n: maximum_flow(w, 0, n - 1),
            "networkx": lambda g=graph, n=n: nx.minimum_cut(g, 0, n - 1),
            "program": lambda o=program, c=costs: o.solve(c, 0),
        }
        name = f"cut, {n} nodes, {len(costs)} arcs"
        shown(name, lambda o=oracle, c=costs: o.solve(c, 0), others)


def steiner_trees() -> None:
    for n, t in ((100, 4), (100, 8), (1000, 8)):
        graph = nx.connected_watts_strogatz_graph(n, 6, 0.2, seed=1)
        costs, terminals = priced(graph), list(range(0, n, n // t))[:t]
        other = rustworkx.networkx_converter(graph)
        others = {
            "networkx": lambda g=graph, t=terminals: nx.algorithms.approximation.steiner_tree(
                g, t, method="mehlhorn"
            ),
            "rustworkx": lambda g=other, t=terminals: rustworkx.steiner_tree(g, t, lambda e: e["weight"]),
        }
        for method in ("exact", "approximate"):
            oracle = SteinerTree(graph, terminals, method=method)
            name = f"Steiner tree ({method}), {n} nodes, {t} terminals"
            shown(name, lambda o=oracle, c=costs: o.solve(c, 0), others if method == "approximate" else {})


def assignments() -> None:
    for agents, jobs in ((3, 15), (5, 40)):
        weights, means = RNG.integers(5, 26, (agents, jobs)), RNG.random(agents * jobs)
        room = np.full(agents, 15 * jobs // agents)
        exact, near = (
            GeneralizedAssignment(weights, room, method=method) for method in ("program", "local_ratio")
        )
        share = means[near.solve(means, 0)].sum() / means[exact.solve(means, 0)].sum()
        name = f"local ratio, {agents} agents, {jobs} jobs: {share:.3f}"
        others = {"program": lambda o=exact, x=means: o.solve(x, 0)}
        shown(name, lambda o=near, x=means: o.solve(x, 0), others)


if __name__ == "__main__":
    for part in (arborescences, flows, cuts, steiner_trees, assignments):
        part()
