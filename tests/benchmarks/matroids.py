"""Greedy in kernels against greedy in Python and networkx; gaps by exchanges against gaps by solving.

Run as a script; it takes a few seconds.
"""

import time

import networkx as nx
import numpy as np

from cmab import LinearOracle
from oracles import GraphicMatroid, Matroid, PartitionMatroid, TransversalMatroid


def seconds(call, repetitions):
    """Return the least time of a call, after one that warms up."""
    call()
    times = []
    for _ in range(repetitions):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def row(name, ours, theirs):
    print(f"{name:74} {1e6 * ours:10.0f} {1e6 * theirs:12.0f} {theirs / ours:8.0f}")


def spanning_trees(n_arms, rng):
    graph = nx.gnm_random_graph(n_arms // 4, n_arms, seed=1)
    oracle, means = GraphicMatroid(graph), rng.random(n_arms)
    for edge, mean in zip(graph.edges, means, strict=True):
        graph.edges[edge]["weight"] = mean
    ours = seconds(lambda: oracle.solve(means, rng), 20)
    row(
        f"spanning tree, {n_arms} edges: networkx",
        ours,
        seconds(lambda: list(nx.maximum_spanning_edges(graph, data=False)), 3),
    )


def own_tests(rng):
    classes = (np.arange(1000) % 10).tolist()
    oracle, means = PartitionMatroid(classes), rng.random(1000)
    plain = Matroid(1000, lambda arms: len(set((arms % 10).tolist())) == len(arms))
    ours = seconds(lambda: oracle.solve(means, rng), 20)
    row(
        "partition, 1000 arms: a test of independence in Python",
        ours,
        seconds(lambda: plain.solve(means, rng), 3),
    )


def gaps(n_arms, rng):
    oracles = (
        GraphicMatroid(nx.gnm_random_graph(n_arms // 4, n_arms, seed=1)),
        TransversalMatroid(n_arms, [rng.choice(n_arms, 5, replace=False) for _ in range(n_arms // 10)]),
    )
    means = rng.random(n_arms)
    for oracle in oracles:
        by_exchange = seconds(lambda oracle=oracle: oracle.gaps(means, [], [], rng), 3)
        by_solving = seconds(lambda oracle=oracle: LinearOracle.gaps(oracle, means, [], [], rng), 1)
        row(f"gaps of {oracle}: a solution for each arm", by_exchange, by_solving)


def main():
    """Print microseconds of ours, of the alternative, and how many times longer the latter takes."""
    rng = np.random.default_rng(0)
    print(f"{'problem: alternative':74} {'ours, us':>10} {'theirs, us':>12} {'ratio':>8}")
    for n_arms in (100, 1000, 10_000):
        spanning_trees(n_arms, rng)
    own_tests(rng)
    for n_arms in (100, 1000):
        gaps(n_arms, rng)


if __name__ == "__main__":
    main()
