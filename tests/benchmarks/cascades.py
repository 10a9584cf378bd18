"""Cascades with edge feedback and without.

Run: python tests/benchmarks/cascades.py [FOLDER] with the graphs of `tests/benchmarks/influence.py`. Without
a folder: a random graph of NetHEPT's size. Seeds are the 50 nodes of highest out-degree. All candidates take
turns, and each figure is the best turn in processor time, so that ratios compare like with like on a machine
that others use too. An "edge" is one out of an active node.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from instances import IndependentCascade, constant_probabilities, read_network, weighted_cascade
from oracles import DirectedGraph
from oracles.influence.spread import estimated_spread

TURNS, BATCH = 20, 2048


def measured(candidates: dict[str, tuple[Callable[[int], None], int]]) -> dict[str, float]:
    """Return the least processor seconds of a cascade, for each candidate and the cascades of its turn."""
    best = dict.fromkeys(candidates, np.inf)
    for turn in range(TURNS):
        for name, (run, cascades) in candidates.items():
            started = time.process_time()
            run(cascades)
            if turn:  # the first one compiles
                best[name] = min(best[name], (time.process_time() - started) / cascades)
    return best


def compare(name: str, environment: IndependentCascade, seeds: np.ndarray) -> None:
    rng = np.random.default_rng(0)

    def played(cascades: int) -> None:
        for _ in range(cascades):
            environment.play(seeds, rng)

    def batch(cascades: int) -> None:
        estimated_spread(environment.graph, environment.means, seeds, cascades, key=1)

    edges = np.mean([len(environment.play(seeds, rng).arms) for _ in range(200)])
    turn = max(5, int(1_500_000 / edges))  # some milliseconds each
    seconds = measured({"play": (played, turn), "spread": (batch, max(turn, BATCH // 8))})
    print(f"{name}: {edges:.0f} observed edges a cascade")
    for label, each in seconds.items():
        print(f"    {label:8}{1 / each:10.0f} cascades/s {1e9 * each / edges:8.2f} ns/edge", flush=True)


def alike() -> DirectedGraph:
    """Return a random graph of NetHEPT's size."""
    ends = np.random.default_rng(0).integers(0, 15_229, (2, 63_000))
    ends = ends[:, ends[0] != ends[1]]
    return DirectedGraph.from_edges(ends[0], ends[1], n_nodes=15_229)


def rows(folder: Path | None) -> Iterator[tuple[str, DirectedGraph, float | None]]:
    """Return name, graph and the probability of all edges; None for the weighted cascade."""
    first = alike() if folder is None else read_network(folder / "nethept_imm.txt.gz").graph
    for p in (None, 0.01, 0.1):
        yield "random" if folder is None else "NetHEPT", first, p
    if folder is None:
        return
    papers = read_network(folder / "netphy_chen.txt.gz", directed=False).graph
    once = np.unique(papers.tails.astype(np.int64) * papers.n_nodes + papers.heads)
    pairs = DirectedGraph.from_edges(once // papers.n_nodes, once % papers.n_nodes, n_nodes=papers.n_nodes)
    yield "NetPHY", pairs, None
    epinions = read_network(folder / "epinions_und.txt.gz", directed=False).graph
    facebook = read_network(folder / "ego_facebook.txt.gz").graph
    for name, graph in (("Epinions", epinions), ("Facebook", facebook)):
        yield name, graph, None
        yield name, graph, 0.01


def main() -> None:
    for name, graph, p in rows(Path(sys.argv[1]) if len(sys.argv) > 1 else None):
        seeds = np.argsort(-graph.out_degrees, kind="stable")[:50]
        chances = weighted_cascade(graph) if p is None else constant_probabilities(graph, p)
        told = "weighted cascade" if p is None else f"p = {p:g}"
        compare(f"{name}, {told}", IndependentCascade(graph, chances), seeds)


if __name__ == "__main__":
    main()
