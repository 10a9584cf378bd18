"""The influence oracle against plain OPIM-C and against the IMM of PyNetIM, one run, on real graphs.

Run: python tests/benchmarks/influence.py FOLDER [ROW ...], the folder with the graphs (`nethept_imm.txt.gz`,
...), rows by the beginning of their names. Plain is the same compiled code without contraction, skipping,
importance sampling, sentinels, early exit and kept arrays: single coins, both samples stored. Times are
milliseconds of processor time, the mean over a few seeds of the better of two calls; with two threads, of
elapsed time, so the machine should be idle. Spreads are means of 2,000 cascades, over the same seeds. PyNetIM
(``pip install pynetim``) is left out where it is not installed, and on rows where it takes minutes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CUCB, simulate
from instances import IndependentCascade, constant, read_edge_list, weighted_cascade
from oracles import DirectedGraph, InfluenceMaximization
from oracles._opimc import choose_some
from oracles._reverse_sets import ReverseGraph, SetCollection
from oracles.influence_certificate import Schedule, log_binomial, lower_bound

K, EPSILON, CALLS = 50, 0.1, 8


@dataclass(frozen=True)
class Row:
    name: str
    graph: DirectedGraph
    means: np.ndarray[Any, Any]
    best_known: float = float("nan")
    peer: bool = False


def plain(row: Row, seed: int) -> np.ndarray[Any, Any]:
    """OPIM-C as it is published: two stored samples, doubled until the bounds meet."""
    from oracles._kernels_influence_greedy import count_covered

    reverse = ReverseGraph.of(row.graph, row.means, sampler="coins", contract=False)
    n, rng = row.graph.n_nodes, np.random.default_rng(seed)
    plan = Schedule.of(reverse.scale, log_binomial(n, K), K, EPSILON, 1 / row.graph.n_arcs, None)
    first, second = (SetCollection(reverse, int(key)) for key in rng.integers(0, 2**62, 2))
    n_sets = plan.first
    while True:
        first.grow(n_sets)
        second.grow(n_sets)
        seeds, _, optimum = choose_some(first, K, np.ones(n, np.bool_), plan.log_term)
        hits = count_covered(*second.index(), seeds, np.zeros(n_sets, np.bool_))
        secured = lower_bound(hits, n_sets, reverse.scale, plan.log_term)
        if secured >= (1 - 1 / np.e - EPSILON) * optimum or n_sets == plan.last:
            return seeds
        n_sets = min(2 * n_sets, plan.last)


def imm(row: Row) -> tuple[float, np.ndarray[Any, Any]] | None:
    """PyNetIM's IMM, one call: seconds and seeds."""
    try:
        from pynetim import IMGraph, IMMAlgorithm
    except ImportError:
        return None
    edges = list(zip(row.graph.tails.tolist(), row.graph.heads.tolist(), strict=True))
    graph = IMGraph(edges, weights=row.means.tolist(), renumber=False)
    algorithm = IMMAlgorithm(graph, model="IC", epsilon=EPSILON)
    started = time.process_time()
    seeds = algorithm.run(k=K)
    return time.process_time() - started, np.array(sorted(seeds))


def mean_ms(call: Callable[[int], Any], clock: Callable[[], float]) -> tuple[float, list[Any]]:
    total, answers = 0.0, []
    for seed in range(CALLS):
        times = []
        for _ in range(2):
            started = clock()
            answer = call(seed)
            times.append(clock() - started)
        total += min(times)
        answers.append(answer)
    return 1e3 * total / CALLS, answers


def compare(row: Row) -> None:
    one, two = (InfluenceMaximization(row.graph, K, EPSILON, threads=t) for t in (1, 2))

    def solve(oracle: InfluenceMaximization) -> Callable[[int], np.ndarray[Any, Any]]:
        return lambda seed: oracle.solve(row.means, np.random.default_rng(seed))

    def value(all_seeds: list[np.ndarray[Any, Any]]) -> float:
        return float(np.mean([one.spread(seeds, row.means)[0] for seeds in all_seeds]))

    solve(one)(0)  # compiles
    slow, slow_seeds = mean_ms(lambda seed: plain(row, seed), time.process_time)
    ours, our_seeds = mean_ms(solve(one), time.process_time)
    elapsed, _ = mean_ms(solve(one), time.perf_counter)
    parallel, same = mean_ms(solve(two), time.perf_counter)
    assert all(np.array_equal(a, b) for a, b in zip(our_seeds, same, strict=True))
    line = (
        f"{row.name:30}{(row.means >= 1).mean():5.0%}{slow:9.1f}{ours:9.2f}{slow / ours:8.1f}"
        f"{elapsed / parallel:9.2f}{value(slow_seeds):10.1f}{value(our_seeds):9.1f}{row.best_known:9.1f}"
    )
    peer = imm(row) if row.peer else None
    if peer is not None:
        line += f"{1e3 * peer[0]:10.0f}{1e3 * peer[0] / ours:8.0f}{value([peer[1]]):9.1f}"
    print(line, flush=True)


def optimistic(graph: DirectedGraph, scale: float, rounds: int) -> np.ndarray[Any, Any]:
    """Return the upper bounds of CUCB after some rounds."""
    environment = IndependentCascade(graph, weighted_cascade(graph), k=K, pool=2**10)
    policy = CUCB(InfluenceMaximization(graph, K, 0.3), scale=scale)
    state = simulate(policy, environment, rounds, rng=0).states[0]
    return policy.indices(state, np.random.default_rng(0))


def rows(folder: Path) -> Iterator[Callable[[], Row]]:
    nethept = read_edge_list(folder / "nethept_imm.txt.gz", header=True)
    papers = read_edge_list(folder / "netphy_chen.txt.gz", header=True, directed=False)
    once = np.unique(papers.tails.astype(np.int64) * papers.n_nodes + papers.heads)
    netphy = DirectedGraph.from_edges(once // papers.n_nodes, once % papers.n_nodes, papers.n_nodes)
    facebook = read_edge_list(folder / "ego_facebook.txt.gz", header=True)
    epinions = read_edge_list(folder / "epinions_und.txt.gz", header=True, directed=False)
    yield lambda: Row("NetHEPT WC", nethept, weighted_cascade(nethept), 967.0, True)
    yield lambda: Row("NetHEPT 0.01", nethept, constant(nethept, 0.01), 73.0)
    yield lambda: Row("NetHEPT 0.1", nethept, constant(nethept, 0.1), 973.5)
    yield lambda: Row("NetPHY WC", netphy, weighted_cascade(netphy))
    yield lambda: Row("NetPHY 0.01", netphy, constant(netphy, 0.01))
    yield lambda: Row("Epinions WC", epinions, weighted_cascade(epinions))
    yield lambda: Row("Facebook WC", facebook, weighted_cascade(facebook), peer=True)
    yield lambda: Row("Facebook 0.01", facebook, constant(facebook, 0.01))
    yield lambda: Row("Facebook 0.1", facebook, constant(facebook, 0.1))
    for scale, rounds in ((1.0, 320), (0.115, 66), (0.115, 200)):
        name = f"NetHEPT CUCB x {scale:g} t = {rounds}"
        yield lambda name=name, scale=scale, rounds=rounds: Row(
            name, nethept, optimistic(nethept, scale, rounds), peer=scale == 1.0
        )


def main() -> None:
    print(
        f"{'':30}{'ones':>5}{'plain':>9}{'ours':>9}{'ratio':>8}{'threads':>9}{'spread':>10}{'ours':>9}"
        f"{'best':>9}{'IMM':>10}{'ratio':>8}{'spread':>9}"
    )
    for make in rows(Path(sys.argv[1])):
        row = make()
        if len(sys.argv) == 2 or row.name.startswith(tuple(sys.argv[2:])):
            compare(row)


if __name__ == "__main__":
    main()
