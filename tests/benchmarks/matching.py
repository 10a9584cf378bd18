"""Milliseconds a call of the matching oracles on bipartite graphs, complete and sparse; weights drift.

Run: python tests/benchmarks/matching.py. Columns: the kept model, the PuLP model built and solved anew each
time (HiGHS through PuLP), and scipy's assignment solver.
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
        kept = milliseconds(Matching(graph), weights)
        anew = milliseconds(Matching(graph, solver=pulp.HiGHS(msg=False, threads=1)), weights[:5])
        quick = milliseconds(Matching(graph, method="assignment"), weights)
        figures = (kept, anew, quick, anew / kept, kept / quick)
        print(f"{n:>5}{edges:>8}" + "".join(f"{figure:>17.3g}" for figure in figures))


if __name__ == "__main__":
    main()
