"""Milliseconds a call of the matching oracles on bipartite graphs, complete and sparse; weights drift.

Run: python tests/benchmarks/matching.py. Columns: the kept model, the PuLP model built and solved anew each
time (HiGHS through PuLP), and scipy's assignment solver. Then the same for graphs with odd cycles: the kept
model, rustworkx' blossom algorithm, and networkx'.
"""

from __future__ import annotations

import time

import networkx as nx
import numpy as np
import pulp

from oracles import Matching


def milliseconds(oracle: Matching, problems: list[np.ndarray]) -> float:
    rng = np.random.default_rng(0)
    oracle.solve(problems[0], rng)
    started = time.perf_counter()
    for means in problems:
        oracle.solve(means, rng)
    return 1e3 * (time.perf_counter() - started) / len(problems)


def bipartite(n: int, edges: int) -> nx.Graph:
    """Return `edges` random edges between two sides of n nodes."""
    graph = nx.Graph()
    graph.add_nodes_from(range(2 * n))
    cells = np.random.default_rng(1).choice(n * n, edges, replace=False)
    graph.add_edges_from((int(cell) // n, n + int(cell) % n) for cell in cells)
    return graph


def main() -> None:
    columns = ("kept, ms", "rebuilt, ms", "assignment, ms", "rebuilt/kept", "kept/assignment")
    print(f"{'n':>5}{'edges':>8}" + "".join(f"{column:>17}" for column in columns))
    sizes = (
        (10, 100, 200),
        (30, 900, 60),
        (100, 10_000, 10),
        (200, 1000, 10),
        (500, 1500, 5),
        (500, 4971, 5),
    )
    for n, edges, calls in sizes:
        graph, rng = bipartite(n, edges), np.random.default_rng(0)
        weights = [rng.random(edges)]
        for _ in range(calls):
            weights.append(np.clip(weights[-1] + rng.normal(0, 0.01, edges), 0, 1))
        kept = milliseconds(Matching(graph, method="pulp"), weights)
        anew = milliseconds(Matching(graph, solver=pulp.HiGHS(msg=False, threads=1)), weights[:5])
        quick = milliseconds(Matching(graph, method="assignment"), weights)
        figures = (kept, anew, quick, anew / kept, kept / quick)
        print(f"{n:>5}{edges:>8}" + "".join(f"{figure:>17.3g}" for figure in figures))


def general() -> None:
    """Graphs that have no two sides, sparse and dense."""
    columns = ("kept, ms", "blossom, ms", "networkx, ms", "kept/blossom", "networkx/blossom")
    print(f"{'n':>5}{'edges':>8}" + "".join(f"{column:>17}" for column in columns))
    for n, edges, calls in (
        (10, 20, 50),
        (15, 50, 30),
        (60, 335, 10),
        (100, 1155, 5),
        (150, 1630, 5),
        (400, 1000, 5),
    ):
        graph, rng = nx.gnm_random_graph(n, edges, seed=2), np.random.default_rng(0)
        weights = [rng.random(edges) for _ in range(calls)]
        kept = milliseconds(Matching(graph, method="pulp"), weights)
        blossom = milliseconds(Matching(graph, method="blossom"), weights)
        nx.set_edge_attributes(graph, dict(zip(graph.edges, weights[0].tolist(), strict=True)), "weight")
        started = time.perf_counter()
        nx.max_weight_matching(graph)
        other = 1e3 * (time.perf_counter() - started)
        figures = (kept, blossom, other, kept / blossom, other / blossom)
        print(f"{n:>5}{edges:>8}" + "".join(f"{figure:>17.3g}" for figure in figures))


if __name__ == "__main__":
    main()
    general()
