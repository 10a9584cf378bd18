"""The spread that learners reach with 16 prior means and with the six smaller ones of many arms.

Run: python tests/benchmarks/prior_means.py GRAPH ROUNDS SEEDS

GRAPH is an edge list or a folder that `cmab graph convert` or `large_graphs.py` wrote. The truth is weighted
cascade. Each line has the mean spread of the seeds of some rounds, divided by that of the seeds that the same
oracle finds for the true means.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

from cmab import AdaptiveCTS, Clairvoyant, HierarchicalCTS, simulate
from cmab.policies import hierarchical
from instances import IndependentCascade, read_edge_list
from oracles import InfluenceMaximization
from oracles.influence import Search
from oracles.stores import open_graph


def main() -> None:
    path, rounds, seeds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    graph = open_graph(path) if path.is_dir() else read_edge_list(path)
    truth = 1.0 / graph.in_degrees[graph.heads]
    oracle = InfluenceMaximization(graph, 50, epsilon=0.2, search=Search(quality="fast"))
    place = IndependentCascade(graph, truth, k=50, n_rr_sets=2**16)
    best = simulate(Clairvoyant(oracle, place.means), place, 5, rng=0).reward_per_round.mean()
    print(
        f"{graph.n_arcs} arcs, at most {graph.in_degrees.max()} into a node, spread {best:,.0f}", flush=True
    )
    every = np.arange(1, rounds + 1)
    for kind in (AdaptiveCTS, HierarchicalCTS):
        for n_means, fewest in ((16, math.inf), (22, 0)):
            # The number of arms from which the policies have the smaller means.
            hierarchical._MANY_ARMS = fewest
            runs = [
                simulate(kind(oracle), place, rounds, checkpoints=every, rng=seed) for seed in range(seeds)
            ]
            shares = np.array([run.reward_per_round[0] for run in runs]) / best
            parts = {"all": shares, "first 5": shares[:, :5], "last half": shares[:, rounds // 2 :]}
            print(
                f"{kind.__name__}, {n_means} means: "
                + "  ".join(f"{name} {part.mean():.3f}" for name, part in parts.items())
                + f"  each run {shares.mean(axis=1).round(3)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
