"""The influence oracle against plain OPIM-C and OPIM-C in C++, on real graphs.

Run: python tests/benchmarks/influence.py FOLDER [ROW ...], the folder with the graphs (`nethept_imm.txt.gz`,
...), rows by the beginning of their names. Plain is OPIM-C with its published bounds in the same compiled
code, without contraction, skipping, importance sampling, sentinels and early exit: single coins, both samples
stored. It and ours are called in turn with the same generators; times are medians of processor milliseconds,
ratios medians over the pairs, which a busy machine changes little.

C++ is OPIM-C by its authors, in milliseconds for this machine: what it took elsewhere (`Row.reference`) times
plain's median here over what plain code took there.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cmab import CUCB, simulate
from instances import IndependentCascade, constant_probabilities, read_network, weighted_cascade
from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence.certificate import Schedule, log_binomial
from oracles.influence.search import Search
from oracles.influence.sets import ReverseGraph, SetCollection

K, EPSILON, CALLS = 50, 0.1, 15


@dataclass(frozen=True)
class Row:
    """A problem; `reference` are milliseconds of C++ OPIM-C and of plain compiled code on another machine."""

    name: str
    graph: DirectedGraph
    means: np.ndarray[Any, Any]
    reference: tuple[float, float] = (math.nan, math.nan)


def plain(row: Row, seed: int) -> np.ndarray[Any, Any]:
    """OPIM-C as it is published: two stored samples, doubled until the bounds meet."""
    from oracles.influence.cover import count_covered, cover

    reverse = ReverseGraph.of(row.graph, row.means, sampler="coins", contract=False)
    n, rng = row.graph.n_nodes, np.random.default_rng(seed)
    plan = Schedule.of(reverse.total_weight, log_binomial(n, K), K, EPSILON, 1 / row.graph.n_arcs, None)
    first, second = (SetCollection(reverse, int(key)) for key in rng.integers(0, 2**62, 2))
    n_sets, a = plan.first, plan.log_term
    everybody, nobody = np.ones(n, np.bool_), np.empty(0, np.int64)
    while True:
        first.grow(n_sets)
        second.grow(n_sets)
        seeds, _, coverage, _ = cover(first.index(), K, everybody, nobody)
        index = second.index()
        hits = count_covered(index.offsets, index.sets, seeds, np.zeros(n_sets, np.bool_))
        secured = (math.sqrt(hits + 2 * a / 9) - math.sqrt(a / 2)) ** 2 - a / 18
        optimum = min((math.sqrt(coverage + a / 2) + math.sqrt(a / 2)) ** 2, n_sets)
        if secured >= (1 - 1 / np.e - EPSILON) * optimum or n_sets == plan.last:
            return seeds
        n_sets = min(2 * n_sets, plan.last)


def timed(call: Callable[[], Any]) -> float:
    started = time.process_time()
    call()
    return 1e3 * (time.process_time() - started)


def compare(row: Row) -> None:
    oracle = InfluenceMaximization(row.graph, K, epsilon=EPSILON, search=Search(quality="fast"))
    oracle.solve(row.means, np.random.default_rng(0))  # compiles
    slow, ours = [], []
    for seed in range(CALLS):
        slow.append(timed(lambda seed=seed: plain(row, seed)))
        ours.append(timed(lambda seed=seed: oracle.solve(row.means, np.random.default_rng(seed))))
    in_cpp = row.reference[0] * float(np.median(slow)) / row.reference[1]
    print(
        f"{row.name:30}{(row.means >= 1).mean():5.0%}{np.median(slow):9.1f}{np.median(ours):8.2f}"
        f"{np.median(np.divide(slow, ours)):8.1f}{in_cpp:9.1f}{in_cpp / np.median(ours):7.1f}",
        flush=True,
    )


def optimistic(graph: DirectedGraph, scale: float, rounds: int) -> np.ndarray[Any, Any]:
    """Return the upper bounds of CUCB after some rounds."""
    environment = IndependentCascade(graph, weighted_cascade(graph), k=K, n_rr_sets=2**10)
    policy = CUCB(
        InfluenceMaximization(graph, K, epsilon=0.3, search=Search(quality="fast")), radius_factor=scale
    )
    state = simulate(policy, environment, rounds, rng=0).states[0]
    return policy.indices(state, np.random.default_rng(0))


def rows(folder: Path) -> Iterator[Callable[[], Row]]:
    nethept = read_network(folder / "nethept_imm.txt.gz").graph
    papers = read_network(folder / "netphy_chen.txt.gz", directed=False).graph
    once = np.unique(papers.tails.astype(np.int64) * papers.n_nodes + papers.heads)
    netphy = DirectedGraph.from_edges(once // papers.n_nodes, once % papers.n_nodes, n_nodes=papers.n_nodes)
    facebook = read_network(folder / "ego_facebook.txt.gz").graph
    epinions = read_network(folder / "epinions_und.txt.gz", directed=False).graph
    yield lambda: Row("NetHEPT WC", nethept, weighted_cascade(nethept), (30.0, 13.3))
    yield lambda: Row("NetHEPT 0.01", nethept, constant_probabilities(nethept, 0.01), (161.0, 34.0))
    yield lambda: Row("NetHEPT 0.1", nethept, constant_probabilities(nethept, 0.1), (120.0, 63.0))
    yield lambda: Row("NetPHY WC", netphy, weighted_cascade(netphy), (49.0, 25.2))
    yield lambda: Row("NetPHY 0.01", netphy, constant_probabilities(netphy, 0.01), (265.0, 74.0))
    yield lambda: Row("Epinions WC", epinions, weighted_cascade(epinions), (59.0, 40.0))
    yield lambda: Row("Facebook WC", facebook, weighted_cascade(facebook), (18.3, 10.4))
    yield lambda: Row("Facebook 0.01", facebook, constant_probabilities(facebook, 0.01), (188.0, 72.0))
    yield lambda: Row("Facebook 0.1", facebook, constant_probabilities(facebook, 0.1))
    for scale, rounds, reference in (
        (1.0, 320, (285.0, 286.0)),
        (0.115, 66, (296.0, 290.0)),
        (0.115, 200, (math.nan, math.nan)),
    ):
        name = f"NetHEPT CUCB x {scale:g} t = {rounds}"
        yield lambda name=name, scale=scale, rounds=rounds, reference=reference: Row(
            name, nethept, optimistic(nethept, scale, rounds), reference
        )


def main() -> None:
    print(f"{'':30}{'ones':>5}{'plain':>9}{'ours':>8}{'ratio':>8}{'C++':>9}{'ratio':>7}")
    for make in rows(Path(sys.argv[1])):
        row = make()
        if len(sys.argv) == 2 or row.name.startswith(tuple(sys.argv[2:])):
            compare(row)


if __name__ == "__main__":
    main()
