"""Oracles on large graphs: seconds of the processor, value and bound, beside a peer. One table.

Run: python tests/benchmarks/oracle_peers.py [FOLDER]. The instances are generated from seeds. The peers are
scipy (assignments), rustworkx (general matchings), and networkx (Steiner trees, flows). FOLDER has the graph
`nethept_imm.txt.gz`, for the spread of the seeds of `InfluenceMaximization`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from instances import read_edge_list, weighted_cascade
from oracles import CapacitatedFlow, InfluenceMaximization, Matching, SteinerTree
from oracles.influence import Search
from oracles.influence.spread import estimated_spread

Row = tuple[str, Callable[[], Any], np.ndarray, Callable[[], float] | None]


def matchings() -> Iterator[Row]:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(0)
    for n in (100, 500):
        graph, costs = nx.complete_bipartite_graph(n, n), rng.random(n * n)

        def assigned(costs: np.ndarray = costs, n: int = n) -> float:
            table = costs.reshape(n, n)
            return float(table[linear_sum_assignment(table)].sum())

        yield f"Matching {n * n:,} edges", lambda g=graph: Matching(g, True, sense="min"), costs, assigned
    for n, m in ((400, 4_831), (2_500, 4_831)):
        graph, means = nx.gnm_random_graph(n, m, seed=1), rng.random(m)

        def matched(graph: Any = graph, means: np.ndarray = means) -> float:
            import rustworkx

            other: Any = rustworkx.PyGraph()
            other.add_nodes_from(range(len(graph)))
            edges = list(graph.edges)
            other.add_edges_from([(u, v, i) for i, (u, v) in enumerate(edges)])
            number = {frozenset(edge): i for i, edge in enumerate(edges)}
            found = rustworkx.max_weight_matching(other, weight_fn=lambda i: int(means[i] * 2**40))
            return float(sum(means[number[frozenset(pair)]] for pair in found))

        yield f"Matching {n} nodes, {m:,} edges", lambda g=graph: Matching(g), means, matched


def trees(seconds: float) -> Iterator[Row]:
    for n, m, t in ((1_000, 3_000, 50), (1_000, 10_000, 100), (5_000, 12_000, 100)):
        rng, graph = np.random.default_rng(0), nx.gnm_random_graph(n, m, seed=1)
        graph = graph.subgraph(max(nx.connected_components(graph), key=len)).copy()
        yield tree(f"SteinerTree {n:,} nodes, {m:,} edges, {t} terminals", graph, t, rng, seconds)
    graph = nx.grid_2d_graph(50, 50)
    yield tree("SteinerTree 50 x 50, 60 terminals", graph, 60, np.random.default_rng(0), seconds)


def tree(name: str, graph: Any, t: int, rng: Any, seconds: float) -> Row:
    nodes, costs = list(graph), rng.random(graph.number_of_edges())
    terminals = [nodes[i] for i in rng.permutation(len(nodes))[:t]]
    nx.set_edge_attributes(graph, dict(zip(graph.edges, costs.tolist(), strict=True)), "weight")

    def make() -> SteinerTree:
        return SteinerTree(graph, terminals, time_limit=seconds, on_limit="best")

    def theirs() -> float:
        found = nx.algorithms.approximation.steiner_tree(graph, terminals, method="mehlhorn")
        return float(found.size("weight"))

    return name, make, costs, theirs


def nets() -> Iterator[Row]:
    for n, m in ((1_000, 8_000), (8_000, 32_000)):
        rng, graph = np.random.default_rng(0), nx.MultiDiGraph()
        order = rng.permutation(n)
        nx.add_cycle(graph, order.tolist(), capacity=500 * n)
        for u, v in rng.integers(0, n, (m - n, 2)).tolist():
            graph.add_edge(u, v, capacity=int(rng.integers(1, 1_000)))
        for u, v in rng.permutation(n)[: n // 10].reshape(-1, 2).tolist():
            graph.nodes[u]["demand"], graph.nodes[v]["demand"] = -500, 500
        costs = rng.integers(1, 10_000, graph.number_of_edges())
        for (*_, data), cost in zip(graph.edges(data=True), costs.tolist(), strict=True):
            data["weight"] = cost
        peer = None if n > 1_000 else lambda g=graph: float(nx.network_simplex(g)[0])
        yield (
            f"CapacitatedFlow {n:,} nodes, {m:,} arcs",
            lambda g=graph: CapacitatedFlow(g),
            costs * 1.0,
            peer,
        )


def seeds(folder: Path) -> Iterator[str]:
    """Yield the spread of the seeds of the default and of the best search on NetHEPT, in other cascades."""
    graph = read_edge_list(folder / "nethept_imm.txt.gz", header=True)
    means = weighted_cascade(graph)
    for search in (Search(), Search(quality="best")):
        oracle = InfluenceMaximization(graph, 50, search=search)
        found = [timed(lambda seed=seed, o=oracle: o.solve(means, seed)) for seed in range(3)]
        value, error = np.mean([estimated_spread(graph, means, each, 100_000) for each, _ in found], axis=0)
        took = min(seconds for _, seconds in found)
        yield f"NetHEPT, k = 50, quality={search.quality!r}: spread {value:.1f} ± {error:.1f} in {took:.2f} s"


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    return call(), time.process_time() - started


def main() -> None:
    """Print the table."""
    print("| instance | build, s | call, s | value | bound | peer | peer, s |\n|---|---|---|---|---|---|---|")
    for name, make, means, peer in [*matchings(), *trees(20.0), *nets()]:
        make().solve(means, 0)  # compiles
        oracle, build = timed(make)
        answer, took = timed(lambda: oracle.solve_certified(means, 0))  # noqa: B023
        other, spent = timed(peer) if peer else (np.nan, np.nan)
        numbers = f"{build:.3f} | {took:.3f} | {answer.value:.8g} | {answer.bound:.8g}"
        print(f"| {name} | {numbers} | {other:.8g} | {spent:.3f} |", flush=True)
    for line in seeds(Path(sys.argv[1])) if len(sys.argv) > 1 else ():
        print(line, flush=True)


if __name__ == "__main__":
    main()
