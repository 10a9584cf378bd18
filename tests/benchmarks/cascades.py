"""Cascades with edge feedback and without, against CyNetDiff (where it is installed) and a loop in Python.

Run: python tests/benchmarks/cascades.py [FOLDER] with the graphs of `tests/benchmarks/influence.py`. Without
a folder: a random graph of NetHEPT's size. Seeds are the 50 nodes of highest out-degree. All candidates take
turns, and each figure is the best turn in processor time (elapsed time where threads are compared), so that
ratios compare like with like on a machine that others use too. CyNetDiff and the loop show no edges; an
"edge" is one out of an active node for all. "kernel" is `play` without its arrays and Python around it, and
"floor" what no cascade can be faster than: as many coins as a cascade observes, of arcs one after another in
memory, hashed, compared and written down.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.compiled import kernel, keyed_word
from cmab.environment import round_key
from instances import IndependentCascade, constant_probabilities, read_edge_list, weighted_cascade
from oracles import DirectedGraph
from oracles.influence.spread import cascade

TURNS, BATCH = 20, 2048


@kernel
def floor(
    arcs: AnyArray, coins: int, key: int, observed: IntArray, outcomes: FloatArray, hit: IntArray
) -> int:
    """Flip coins as `cascade` does, of the first arcs, and write them and the nodes that they hit down."""
    hits = 0
    for j in range(coins):
        success = keyed_word(key, j) < arcs[j]["limit"]
        observed[j] = arcs[j]["arm"]
        outcomes[j] = success
        hit[hits] = arcs[j]["head"]
        hits += success
    return hits


def reference(rows: list[list[tuple[int, float]]], seeds: list[int], rng: random.Random) -> int:
    """Return the number of active nodes of one cascade."""
    active, queue = set(seeds), list(seeds)
    for node in queue:
        for other, p in rows[node]:
            if rng.random() < p and other not in active:
                active.add(other)
                queue.append(other)
    return len(active)


def python_loop(environment: IndependentCascade, seeds: list[int]) -> Callable[[int], None]:
    graph, rng = environment.graph, random.Random(0)
    rows: list[list[tuple[int, float]]] = [[] for _ in range(graph.n_nodes)]
    for tail, head, p in zip(graph.tails.tolist(), graph.heads.tolist(), environment.means, strict=True):
        rows[tail].append((head, float(p)))

    def run(cascades: int) -> None:
        for _ in range(cascades):
            reference(rows, seeds, rng)

    return run


def cynetdiff(environment: IndependentCascade, seeds: list[int]) -> Callable[[int], None] | None:
    try:
        from cynetdiff.models import IndependentCascadeModel
    except ImportError:
        return None
    offsets, arms = environment.graph.out_arcs
    heads = environment.graph.out_heads.astype(np.uint32)
    chances = environment.means[arms].astype(np.float32)
    model = IndependentCascadeModel(offsets[:-1].astype(np.uint32), heads, activation_probs=chances)
    model.set_rng(0)
    model.set_seeds(set(seeds))

    def run(cascades: int) -> None:
        for _ in range(cascades):
            model.reset_model()
            model.advance_until_completion()

    return run


def measured(
    candidates: dict[str, tuple[Callable[[int], None], int]], clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Return the seconds of a cascade, for each candidate and the number of cascades in its turn."""
    best = dict.fromkeys(candidates, np.inf)
    for turn in range(TURNS):
        for name, (run, cascades) in candidates.items():
            started = clock()
            run(cascades)
            if turn:  # the first one compiles
                best[name] = min(best[name], (clock() - started) / cascades)
    return best


def bare(
    environment: IndependentCascade, seeds: np.ndarray, coins: int
) -> tuple[Callable[[int], None], Callable[[int], None]]:
    """Return the kernel of `play` and the floor."""
    rng, n_arcs = np.random.default_rng(0), environment.n_arms
    offsets, arcs = environment.graph.out_arcs[0], environment._rows
    observed, outcomes, hit = np.empty(n_arcs, np.int64), np.empty(n_arcs), np.empty(n_arcs, np.int32)

    def run(cascades: int) -> None:
        for _ in range(cascades):
            cascade(offsets, arcs, seeds, round_key(rng), observed, outcomes)

    def run_floor(cascades: int) -> None:
        for _ in range(cascades):
            floor(arcs, coins, round_key(rng), observed, outcomes, hit)

    return run, run_floor


def compare(name: str, environment: IndependentCascade, seeds: np.ndarray) -> None:
    rng = np.random.default_rng(0)

    def played(cascades: int) -> None:
        for _ in range(cascades):
            environment.play(seeds, rng)

    def batch(threads: int) -> Callable[[int], None]:
        return lambda cascades: environment.spread(seeds, cascades, rng, threads=threads) and None

    edges = np.mean([len(environment.play(seeds, rng).arms) for _ in range(200)])
    turn = max(5, int(1_500_000 / edges))  # some milliseconds each
    kernel_alone, least = bare(environment, seeds, int(edges))
    candidates = {
        "play, edge feedback": (played, turn),
        "  its kernel": (kernel_alone, turn),
        "  floor": (least, turn),
        "spread, no feedback": (batch(1), max(turn, BATCH // 8)),
        "loop in Python": (python_loop(environment, seeds.tolist()), 1),
    }
    peer = cynetdiff(environment, seeds.tolist())
    if peer is not None:
        candidates["CyNetDiff"] = (peer, turn)
    seconds = measured(candidates)
    print(f"{name}: {edges:.0f} observed edges a cascade")
    for label, each in seconds.items():
        ratios = "".join(
            f"  {seconds[other] / each:8.2f} x {other}"
            for other in ("CyNetDiff", "loop in Python")
            if other in seconds and other != label
        )
        print(f"    {label:22}{1 / each:10.0f} cascades/s {1e9 * each / edges:8.2f} ns/edge{ratios}")
    size = max(turn, 2 * BATCH)
    one, two = measured({"1": (batch(1), size), "2": (batch(2), size)}, time.perf_counter).values()
    print(f"    spread on two threads is {one / two:.2f} times as fast as on one (elapsed)", flush=True)


def alike() -> DirectedGraph:
    """Return a random graph of NetHEPT's size."""
    ends = np.random.default_rng(0).integers(0, 15_229, (2, 63_000))
    ends = ends[:, ends[0] != ends[1]]
    return DirectedGraph.from_edges(ends[0], ends[1], n_nodes=15_229)


def rows(folder: Path | None) -> Iterator[tuple[str, DirectedGraph, float | None]]:
    """Return name, graph and the probability of all edges; None for the weighted cascade."""
    first = alike() if folder is None else read_edge_list(folder / "nethept_imm.txt.gz", header=True)
    for p in (None, 0.01, 0.1):
        yield "random" if folder is None else "NetHEPT", first, p
    if folder is None:
        return
    papers = read_edge_list(folder / "netphy_chen.txt.gz", header=True, directed=False)
    once = np.unique(papers.tails.astype(np.int64) * papers.n_nodes + papers.heads)
    pairs = DirectedGraph.from_edges(once // papers.n_nodes, once % papers.n_nodes, n_nodes=papers.n_nodes)
    yield "NetPHY", pairs, None
    epinions = read_edge_list(folder / "epinions_und.txt.gz", header=True, directed=False)
    facebook = read_edge_list(folder / "ego_facebook.txt.gz", header=True)
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
