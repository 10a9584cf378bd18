"""Ten million arcs with power-law degrees: seconds and memory of the graph, of cascades and of the oracle.

Run: python tests/benchmarks/scale.py [MILLIONS_OF_ARCS]. Seconds are those of the processor. Memory is what
is held (resident) and, in brackets, the peak of the process so far. The process is not allowed more than 8 GB
of address space.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from instances import IndependentCascade, weighted_cascade
from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence.search import Search
from oracles.influence.sets import ReverseGraph, SetCollection

LIMIT = 8 * 10**9


def held() -> float:
    """Return the resident memory in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def stage(name: str, work: Callable[[], object]) -> object:
    started, before = time.process_time(), held()
    answer = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    seconds = time.process_time() - started
    print(f"{name:44}{seconds:8.2f} s {held() - before:+8.0f} MB, {held():6.0f} [{peak:.0f}]", flush=True)
    return answer


def power_law(n: int, arcs: int, rng: np.random.Generator) -> np.ndarray:
    """Return two ends of each arc; the i-th node's share falls as 1 / sqrt(i), in an order of its own."""
    ends = (n * rng.random((2, arcs), dtype=np.float32) ** 2).astype(np.int32).clip(0, n - 1)
    ends[1] = rng.permutation(n).astype(np.int32)[ends[1]]
    return ends[:, ends[0] != ends[1]]


def warm_up() -> None:
    """Compile everything on a small graph."""
    rng = np.random.default_rng(0)
    graph = DirectedGraph.from_edges(*power_law(1000, 10_000, rng), n_nodes=1000)
    environment = IndependentCascade(graph, weighted_cascade(graph))
    environment.play(np.arange(5), rng)
    environment.spread(np.arange(5), 10, rng)
    InfluenceMaximization(graph, 5).solve(environment.means, rng)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    arcs = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 10**7
    warm_up()
    rng, n = np.random.default_rng(0), arcs // 10
    ends = stage("edge list (numpy)", lambda: power_law(n, arcs, rng))
    before = held()
    graph = stage("from_edges", lambda: DirectedGraph.from_edges(ends[0], ends[1], n_nodes=n))
    stage("arcs out of each node", lambda: (graph.out_arcs, graph.out_heads))
    print(f"    {(held() - before) * 1e6 / graph.n_arcs:.1f} bytes an arc; {graph}")
    environment = IndependentCascade(graph, weighted_cascade(graph))
    seeds = np.argsort(-graph.out_degrees, kind="stable")[:50]
    environment.play(seeds[:1], rng)
    started = time.process_time()
    play = stage("20 cascades with edge feedback", lambda: [environment.play(seeds, rng) for _ in range(20)])
    spent, edges = time.process_time() - started, sum(len(feedback.arms) for feedback in play)
    print(f"    {edges / 20:.0f} edges and {spent / 20:.3f} s each, {1e9 * spent / edges:.1f} ns an edge")
    del play
    spread = stage("spread of 100 cascades", lambda: environment.spread(seeds, 100, rng))
    print("    {:.0f} active nodes, standard error {:.0f}".format(*spread))
    oracle = InfluenceMaximization(graph, k=50, epsilon=0.1, search=Search(quality="fast"))
    answer = stage("oracle, k = 50, epsilon = 0.1", lambda: oracle.solve_certified(environment.means, rng))
    print(
        f"    spread {answer.spread:.0f}, ratio {answer.ratio:.3f}, {answer.rr_sets} reverse-reachable sets"
    )
    sets = SetCollection(ReverseGraph.of(graph, environment.means), 0)
    stage("2,000 stored sets, not left early", lambda: sets.grow(2000))
    offsets, index = sets.index()
    size, found = sets.ends[-1] / 2000, 4 * sets.ends[-1] + sets.ends.nbytes + index.nbytes
    print(f"    {size:.1f} nodes and {found / 2000:.0f} bytes a set with the index, {offsets.nbytes} besides")


if __name__ == "__main__":
    main()
