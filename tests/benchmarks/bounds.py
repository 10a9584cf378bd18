"""Proven bounds beside measured regret and samples, on small instances of the families of the arena.

Run: python tests/benchmarks/bounds.py [--rounds 20000] [--runs 10]. The first table has the regret of the
default learner and of CUCB, its four bounds, and the round from which on each bound is below the trivial one.
The second table has the samples of explorers beside their bounds at delta = 0.05, where no
lower bound is above 1,000 samples.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import networkx as nx
import numpy as np

from cmab import CLUCB, CUCB, LUCB1, LilCLUCB, LilRandLUCB, Oracle, UGapEc, identify, simulate
from cmab.bounds import instance_bounds
from instances import BernoulliArms, SemiBandit
from oracles import GraphicMatroid, Matching, ShortestPath, TopK

DELTA = 0.05


def problems() -> Iterator[tuple[str, Oracle, np.ndarray]]:
    """Top-k, matchings, paths and trees with so few super arms that all of them can be listed."""
    draw = np.random.default_rng(1)
    yield "top 3 of 8", TopK(8, 3), draw.random(8)
    yield "top 2 of 10, two levels", TopK(10, 2), np.repeat([0.7, 0.5], [2, 8])
    matching = Matching(nx.complete_bipartite_graph(3, 3))
    yield "matching 3 x 3", matching, draw.random(9)
    grid = nx.DiGraph()
    for i in range(3):
        for j in range(3):
            grid.add_edges_from([((i, j), end) for end in ((i + 1, j), (i, j + 1)) if max(end) < 3])
    yield "path in a 3 x 3 grid", ShortestPath(grid, (0, 0), (2, 2)), draw.random(12)
    yield "tree of 5 nodes", GraphicMatroid(nx.complete_graph(5)), draw.random(10)


def regrets(rounds: int, runs: int) -> None:
    """Print the table of regret."""
    heads = "default learner | CUCB | Theorem 1 | Theorem 2 | ours, 1 | ours, 2 | useful from round"
    print(f"| instance | {heads} |")
    print("|---|---|---|---|---|---|---|---|")
    for name, oracle, means in problems():
        environment = SemiBandit(BernoulliArms(means), oracle)
        played = [
            simulate(policy, environment, rounds, replications=runs, rng=0).exact_regret[:, -1]
            for policy in (oracle, CUCB(oracle))
        ]
        cells = [f"{found.mean():,.0f} ± {found.std() / np.sqrt(runs):,.0f}" for found in played]
        bounds = instance_bounds(oracle, means, horizon=rounds)
        cells += [f"{bound.value:,.0f}" for bound in bounds]
        cells.append(", ".join(f"{bound.useful_from:,.0f}" for bound in bounds))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def samples(runs: int) -> None:
    """Print the table of samples."""
    of_arms = {rule.__name__: rule for rule in (LUCB1, LilRandLUCB, UGapEc)}
    of_oracle = {rule.__name__: rule for rule in (LilCLUCB, CLUCB)}
    print("| instance | rule | at least | measured | at most |\n|---|---|---|---|---|")
    for name, oracle, means in problems():
        bounds = instance_bounds(oracle, means, delta=DELTA)
        least = max(bound.value for bound in bounds if bound.kind == "at least")
        for bound in bounds if least < 1000.0 else ():  # others take minutes
            if bound.kind == "at most":
                if bound.rule in of_oracle:
                    rule = of_oracle[bound.rule](oracle, delta=DELTA)
                else:
                    rule = of_arms[bound.rule](len(means), oracle.max_size, delta=DELTA)
                found = identify(rule, BernoulliArms(means), replications=runs, rng=0).samples
                error = found.std() / np.sqrt(runs)
                print(
                    f"| {name} | {bound.rule} | {least:,.0f} | {found.mean():,.0f} ± {error:,.0f} |"
                    f" {bound.value:,.0f} |",
                    flush=True,
                )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    regrets(given.rounds, given.runs)
    print()
    samples(given.runs)


if __name__ == "__main__":
    main()
