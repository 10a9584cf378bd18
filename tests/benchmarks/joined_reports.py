"""How much each kind of report tells: arcs, who joined, and the number of people only.

Run as a script. ``trial`` prints the errors of posterior means on random graphs, ``number`` the errors of
exact posterior means on tiny graphs, and ``time`` the processor seconds of a report of 10,000 people.
"""

import sys
import time

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


def trial_table(runs=40):
    """Print the cover and the errors of the trial."""
    rows = np.array([learned(seed) for seed in range(runs)])
    names = ("cover of 90 % intervals", "error, who joined", "error, all arcs", "error, prior")
    for name, mean, spread in zip(names, rows.mean(axis=0), rows.std(axis=0), strict=True):
        print(f"{name:24} {mean:.4f} +- {spread / np.sqrt(runs):.4f}")


def exact_errors(seed, *, n=6, m=10, rounds=20, particles=6_000):
    """Return the errors of exact posterior means from all arcs, who joined and the number, and of the prior.

    The particles are draws from the prior, weighted by the likelihood, which is a sum over all outcomes.
    """
    rng = np.random.default_rng(seed)
    pairs = np.array([(u, v) for u in range(n) for v in range(n) if u != v])
    tails, heads = pairs[rng.choice(len(pairs), m, replace=False)].T
    truth, draws = rng.beta(1.0, 4.0, m), rng.beta(1.0, 4.0, (particles, m))
    outcomes = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
    chances = np.exp(np.log(draws) @ outcomes.T + np.log1p(-draws) @ (1 - outcomes).T)
    logs, counts = np.zeros((2, particles)), np.zeros((2, m))
    for _ in range(rounds):
        seed_node = int(rng.integers(n))
        reached = np.zeros((2**m, n), np.bool_)
        reached[:, seed_node] = True
        for _ in range(n):
            for arc in range(m):
                reached[:, heads[arc]] |= reached[:, tails[arc]] & (outcomes[:, arc] == 1)
        happened = int(((rng.random(m) < truth) * 2 ** np.arange(m)).sum())
        tried = reached[happened, tails]
        counts += np.stack([outcomes[happened] * tried, tried])
        same = (reached == reached[happened]).all(axis=1)
        many = reached.sum(axis=1) == reached[happened].sum()
        logs += np.log(chances @ np.stack([same, many], axis=1).astype(np.float64)).T
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    people, number = (weights / weights.sum(axis=1, keepdims=True)) @ draws
    guesses = (1.0 + counts[0]) / (5.0 + counts[1]), people, number, np.full(m, 0.2)
    return [float(np.sqrt(((guess - truth) ** 2).mean())) for guess in guesses]


def number_table(runs=40):
    """Print the errors of exact posterior means on graphs of 10 arcs after 20 rounds of one seed."""
    rows = np.array([exact_errors(seed) for seed in range(runs)])
    for name, mean, spread in zip(
        ("all arcs", "who joined", "the number", "the prior"),
        rows.mean(axis=0),
        rows.std(axis=0),
        strict=True,
    ):
        print(f"{name:12} {mean:.4f} +- {spread / np.sqrt(runs):.4f}")


def time_table(n_nodes=10_000, n_arcs=100_000):
    """Print the seconds of reports of a cascade that nearly everybody joins."""
    rng = np.random.default_rng(0)
    tails, heads = rng.integers(0, n_nodes, (2, n_arcs + 100))
    apart = tails != heads
    graph = DirectedGraph(tails[apart][:n_arcs], heads[apart][:n_arcs], n_nodes=n_nodes)
    environment = IndependentCascade(graph, probability=0.3, n_rr_sets=64)
    network = Network(graph.tails, graph.heads, n_nodes)
    prior = BetaPrior(np.full(graph.n_arcs, 1.0), np.full(graph.n_arcs, 4.0))
    chain = Chain(prior, np.zeros(graph.n_arcs), np.zeros(graph.n_arcs))
    for number in range(6):
        seeds = rng.choice(n_nodes, 3, replace=False)
        shown = environment.play(seeds, rng)
        people = np.setdiff1d(graph.heads[shown.arms[shown.outcomes == 1.0]], seeds)
        start = time.process_time()
        chain.add(CascadeFeedback(Cascade(seeds, people, np.full(len(people), -1)), network).problem)
        added = time.process_time() - start
        start = time.process_time()
        chain.follow(rng, fresh=1)
        followed = time.process_time() - start
        print(
            f"report {number + 1}: {len(people):,} people, {len(chain.coins):,} hidden outcomes in all,"
            f" {added:.2f} s to add, {followed:.2f} s to draw"
        )


if __name__ == "__main__":
    tables = {"trial": trial_table, "number": number_table, "time": time_table}
    for name in sys.argv[1:] or tables:
        tables[name]()
