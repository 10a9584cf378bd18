"""Seconds a call of the matching oracles on complete bipartite graphs, with weights that drift.

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


def main() -> None:
    columns = ("kept, ms", "rebuilt, ms", "assignment, ms", "rebuilt/kept", "kept/assignment")
    print(f"{'n':>5}" + "".join(f"{column:>17}" for column in columns))
    for n, calls in ((10, 200), (30, 60), (100, 10)):
        graph, rng = nx.complete_bipartite_graph(n, n), np.random.default_rng(0)
        weights = [rng.random(n * n)]
        for _ in range(calls):
            weights.append(np.clip(weights[-1] + rng.normal(0, 0.01, n * n), 0, 1))
        kept = milliseconds(Matching(graph), weights)
        anew = milliseconds(Matching(graph, solver=pulp.HiGHS(msg=False, threads=1)), weights[:5])
        quick = milliseconds(Matching(graph, method="assignment"), weights)
        figures = (kept, anew, quick, anew / kept, kept / quick)
        print(f"{n:>5}" + "".join(f"{figure:>17.3g}" for figure in figures))


if __name__ == "__main__":
    main()
