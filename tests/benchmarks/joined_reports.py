"""How much reports of arcs and of who joined tell: errors of posterior means on random graphs.

Run: python tests/benchmarks/joined_reports.py [RUNS]
"""

import sys

import numpy as np

from cmab.campaign.posterior import Cascade, CascadeFeedback, Chain, Network
from cmab.priors import BetaPrior
from instances import IndependentCascade
from oracles import DirectedGraph


def learned(seed, *, n=30, m=120, rounds=60, k=3, passes=1500):
    """Return the cover of 90 % intervals, and the errors of means: who joined, all arcs, the prior."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(u, v) for u in range(n) for v in range(n) if u != v])
    tails, heads = pairs[rng.choice(len(pairs), m, replace=False)].T
    truth = rng.beta(1.0, 4.0, m)
    graph = DirectedGraph(tails, heads, n_nodes=n)
    environment = IndependentCascade(graph, probability=truth, n_rr_sets=64)
    network = Network(graph.tails, graph.heads, n)
    chain = Chain(BetaPrior(np.full(m, 1.0), np.full(m, 4.0)), np.zeros(m), np.zeros(m))
    seen = np.zeros((2, m))
    for _ in range(rounds):
        seeds = rng.choice(n, k, replace=False)
        shown = environment.play(seeds, rng)
        seen[0, shown.arms] += shown.outcomes
        seen[1, shown.arms] += 1.0
        people = np.setdiff1d(graph.heads[shown.arms[shown.outcomes == 1.0]], seeds)
        cascade = Cascade(seeds, people, np.full(len(people), -1))
        chain.add(CascadeFeedback(cascade, network).problem)
    chain.settle(rng)
    draws, mean = np.empty((passes, m)), np.zeros(m)
    for i in range(passes):
        chain.run(1, rng)
        draws[i] = rng.beta(1.0 + chain.won, 4.0 + chain.lost)
        mean += (1.0 + chain.won) / (5.0 + chain.won + chain.lost) / passes
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    guesses = mean, (1.0 + seen[0]) / (5.0 + seen[1]), np.full(m, 0.2)
    errors = [float(np.sqrt(((guess - truth) ** 2).mean())) for guess in guesses]
    return float(((low <= truth) & (truth <= high)).mean()), *errors


def main(runs=40):
    """Print the cover and the errors, with standard errors."""
    rows = np.array([learned(seed) for seed in range(runs)])
    names = ("cover of 90 % intervals", "error, who joined", "error, all arcs", "error, prior")
    for name, mean, spread in zip(names, rows.mean(axis=0), rows.std(axis=0), strict=True):
        print(f"{name:24} {mean:.4f} +- {spread / np.sqrt(runs):.4f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
