"""How good seeds are for the time they take: spread against processor time on real networks, one table.

Run: python tests/benchmarks/influence_quality.py FOLDER [--graphs NAME ...] [--k K ...] [--calls N]
[--settings SETTING ...], the folder with the graphs (`nethept_imm.txt.gz`, ...). A setting is a `quality` by
name, a number of sets that each seed meets, a number of sets in each sample as a power (``2^17``), or a time
limit (``50ms``). Probabilities are those of the weighted cascade.

Spreads are counted in sets of a key of their own, the same for all seeds of a row, so many that the best
seeds meet 2^15 of them: differences are good to 0.3 % or so. They are given as shares of the best seeds that
any call of the row found, in the mean over the calls and in the worst of them; times are the least of the
calls', in processor time on one thread; `certified` is the mean of `Certificate.ratio`.

With `--against-coins` the table compares the default sampler with `sampler="coins"` at epsilon 0.1 and equal
probabilities: mean processor times and their ratio, and that of the spreads. Both are called in turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from instances import read_network, weighted_cascade
from oracles import DirectedGraph, InfluenceMaximization
from oracles.influence.search import Search, count_hits
from oracles.influence.sets import ReverseGraph, Sampler

DIRECTED = ("nethept_imm", "ego_facebook", "wiki_vote")
GRAPHS = (
    "ca_grqc",
    "nethept_imm",
    "nethept_chen",
    "wiki_vote",
    "ego_facebook",
    "netphy_chen",
    "epinions_und",
)
SETTINGS = ("fast", "good", "best", *(f"2^{power}" for power in range(13, 21)))
KEY, HITS, MOST_SETS = 77, 2**15, 2**24
# Probabilities, and seeds, of the comparison with coins.
EQUAL, FEW_AND_MANY = (0.1, 0.3), (5, 50)


def options(setting: str) -> dict[str, Any]:
    """Return the arguments of `InfluenceMaximization` that a setting stands for."""
    if setting.startswith("2^"):
        n_sets = 2 ** int(setting[2:])
        return {"first_rr_sets": n_sets, "max_rr_sets": 2 * n_sets}
    return {"quality": float(setting) if setting[0].isdigit() else setting}


def spread_in(reverse: ReverseGraph) -> Callable[[Any], float]:
    """Return the function that gives the spread of seeds; the first ones asked for set the number of sets."""
    n_sets = 0

    def spread(seeds: Any) -> float:
        nonlocal n_sets
        owners = reverse.owners(seeds)
        if n_sets == 0:
            few, _ = count_hits(reverse, KEY, 0, 2**14, owners)
            n_sets = min(MOST_SETS, 2**14 * HITS // max(1, few))
        hits, _ = count_hits(reverse, KEY, 0, n_sets, owners)
        return float(reverse.total_weight * hits / n_sets + reverse.certain[seeds].sum())

    return spread


def row(graph: DirectedGraph, name: str, k: int, settings: list[str], calls: int) -> None:
    """Print how all settings do on one graph with one number of seeds."""
    means = weighted_cascade(graph)
    spread, found = spread_in(ReverseGraph.of(graph, means)), []
    for setting in settings:
        oracle = InfluenceMaximization(graph, k, search=Search(**options(setting)))
        oracle.solve(means, np.random.default_rng(calls))  # compiles
        answers, seconds = [], []
        for seed in range(calls):
            started = time.process_time()
            answers.append(oracle.solve_certified(means, np.random.default_rng(seed)))
            seconds.append(time.process_time() - started)
        found.append((setting, [spread(answer.seeds) for answer in answers], min(seconds), answers))
    best = max(max(values) for _, values, _, _ in found)
    for setting, values, least, answers in found:
        ratio, sets = (np.mean([getattr(a, field) for a in answers]) for field in ("ratio", "rr_sets"))
        print(
            f"{name:14}{k:5}{best:10.1f}  {setting:8}{np.mean(values) / best:8.2%}{min(values) / best:9.2%}"
            f"{1e3 * least:10.1f}{ratio:10.3f}{sets:12,.0f}",
            flush=True,
        )


def against_coins(graph: DirectedGraph, means: FloatArray, name: str, k: int, calls: int) -> None:
    """Print times and spreads of the default and of `sampler="coins"` on one graph."""
    spread = spread_in(ReverseGraph.of(graph, means))
    table: dict[Sampler, list[tuple[float, float]]] = {"auto": [], "coins": []}
    for seed in range(-1, calls):
        for sampler, answers in table.items():
            search = Search(sampler=sampler, quality="fast")
            oracle = InfluenceMaximization(graph, k, epsilon=0.1, search=search)
            started = time.process_time()
            answer = oracle.solve_certified(means, np.random.default_rng(max(0, seed)))
            seconds = time.process_time() - started
            if seed >= 0:  # the call before compiles
                # Seeds fill up k where components are fewer: spread is counted in components.
                components = np.unique(ReverseGraph.of(graph, means).component[answer.seeds]).astype(np.int64)
                answers.append((1e3 * seconds, spread(components)))
    (ms, reach), (coin_ms, coin_reach) = (np.mean(answers, axis=0) for answers in table.values())
    ratios = f"{coin_ms / ms:.2f} | {reach / coin_reach:.3f}"
    print(f"| {name} | {k} | {ms:.1f} | {coin_ms:.1f} | {ratios} |", flush=True)


def compare_with_coins(folder: Path, calls: int) -> None:
    """Print the table of the default against coins."""
    print("| graph | k | ms | coins ms | coins / default | spread |\n|---|---|---|---|---|---|")
    for name in ("ca_grqc", "nethept_imm", "wiki_vote", "ego_facebook"):
        graph = read_network(folder / f"{name}.txt.gz", directed=name in DIRECTED).graph
        for p in EQUAL:
            for k in FEW_AND_MANY:
                against_coins(graph, np.full(graph.n_arcs, p), f"{name}, {p:g}", k, calls)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=GRAPHS)
    parser.add_argument("--k", nargs="+", type=int, default=(10, 50, 200))
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--settings", nargs="+", default=SETTINGS)
    parser.add_argument("--against-coins", action="store_true")
    asked = parser.parse_args()
    if asked.against_coins:
        compare_with_coins(asked.folder, asked.calls)
        return
    print(
        f"{'graph':14}{'k':>5}{'best':>10}  {'setting':8}{'mean':>8}{'worst':>9}"
        f"{'ms':>10}{'certified':>10}{'sets':>12}"
    )
    for name in asked.graphs:
        graph = read_network(asked.folder / f"{name}.txt.gz", directed=name in DIRECTED).graph
        for k in asked.k:
            row(graph, name, k, list(asked.settings), asked.calls)


if __name__ == "__main__":
    main()
