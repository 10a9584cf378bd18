"""Cascades a second with edge feedback, against a slow reference, and the memory of influence on NetHEPT.

Run: python tests/benchmarks/cascades.py [EDGE_LIST]. Without a file: a random graph of that size. The
reference is the usual loop over networkx adjacency, fed by Python's generator. Memory is the peak of the
whole process so far, in MB.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np

from instances import IndependentCascade, read_edge_list, weighted_cascade
from oracles import DirectedGraph, InfluenceMaximization


def reference(graph: nx.DiGraph, seeds: list[int], rng: random.Random) -> tuple[int, int]:
    """Return the numbers of active nodes and of observed edges of one cascade."""
    active, queue, observed = set(seeds), list(seeds), 0
    for node in queue:
        for other, data in graph.adj[node].items():
            observed += 1
            if rng.random() < data["p"] and other not in active:
                active.add(other)
                queue.append(other)
    return len(active), observed


def per_second(run: Callable[[], object], seconds: float = 2.0) -> float:
    run()
    started, calls = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        run()
        calls += 1
    return calls / (time.perf_counter() - started)


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def network(path: Path | None) -> DirectedGraph:
    if path is not None:
        return read_edge_list(path)
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 15_229, (2, 63_000))
    ends = ends[:, ends[0] != ends[1]]
    return DirectedGraph.from_edges(ends[0], ends[1], n=15_229)


def main() -> None:
    graph = network(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print(f"{graph}; memory {megabytes():.0f} MB")
    p = weighted_cascade(graph)
    environment = IndependentCascade(graph, p)
    seeds = np.argsort(-np.bincount(graph.tails, minlength=graph.n_nodes), kind="stable")[:50]
    slow = nx.DiGraph()
    slow.add_nodes_from(range(graph.n_nodes))
    slow.add_edges_from(
        (int(u), int(v), {"p": q}) for u, v, q in zip(graph.tails, graph.heads, p, strict=True)
    )
    rng, plain = np.random.default_rng(0), random.Random(0)
    ours = per_second(lambda: environment.play(seeds, rng))
    theirs = per_second(lambda: reference(slow, seeds.tolist(), plain))
    edges = np.mean([len(environment.play(seeds, rng).arms) for _ in range(200)])
    print(f"cascades a second: {ours:.0f}, reference {theirs:.1f}, ratio {ours / theirs:.0f}")
    print(f"{edges:.0f} observed edges a cascade, {1e9 / ours / edges:.1f} ns each")
    oracle = InfluenceMaximization(graph, k=50, epsilon=0.1)
    oracle.solve(p, rng)
    print(f"memory after an oracle call (k = 50, epsilon = 0.1): {megabytes():.0f} MB")
    environment.expected_reward(seeds)
    print(f"memory with the pool that expected rewards are read from: {megabytes():.0f} MB")


if __name__ == "__main__":
    main()
