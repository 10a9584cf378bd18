"""The influence oracle against its own plain variant: single coins, nothing contracted. One run, one thread.

Run as a script with the folder of the graphs (`nethept_imm.txt.gz`, ...); it takes about two minutes.
"""

import sys
import time
from pathlib import Path

import numpy as np

from cmab import CUCB, simulate
from instances import IndependentCascade, constant, read_edge_list, weighted_cascade
from oracles import InfluenceMaximization, _reverse_sets

REPETITIONS = 5


def least(call):
    """Return the least time of some calls in milliseconds, after one that warms up, and an answer."""
    call(0)
    times = []
    for seed in range(REPETITIONS):
        started = time.process_time()
        answer = call(seed)
        times.append(time.process_time() - started)
    return 1e3 * min(times), answer


def compare(name, graph, means, k=50):
    def solver(sampler):
        oracle = InfluenceMaximization(graph, k, 0.1, sampler=sampler)
        return lambda seed: oracle.solve_certified(means, np.random.default_rng(seed))

    worth = _reverse_sets._WORTH_CONTRACTING
    _reverse_sets._WORTH_CONTRACTING = 2.0  # no share of certain arcs is that large
    plain, first = least(solver("coins"))
    _reverse_sets._WORTH_CONTRACTING = worth
    ours, answer = least(solver("auto"))
    print(
        f"{name:34}{(means >= 1).mean():6.0%}{plain:10.1f}{ours:10.1f}{plain / ours:8.1f}"
        f"{first.rr_sets:10}{answer.rr_sets:10}{first.spread:9.0f}{answer.spread:9.0f}",
        flush=True,
    )


def optimistic(environment, k, scale, rounds):
    """Return the upper bounds of CUCB after some rounds."""
    policy = CUCB(InfluenceMaximization(environment.graph, k, 0.3), scale=scale)
    state = simulate(policy, environment, rounds, rng=0).states[0]
    return policy.indices(state, np.random.default_rng(0))


def cascades(name, environment, k=50):
    seeds = np.argsort(-environment.graph.out_degrees, kind="stable")[:k]
    rng = np.random.default_rng(0)
    observed = len(environment.play(seeds, rng).arms)
    spent, _ = least(lambda _: environment.play(seeds, rng))
    print(
        f"{name:34} a cascade with feedback: {1e3 * spent:8.0f} us, {1e6 * spent / observed:5.1f} ns an edge"
    )


def main():
    folder = Path(sys.argv[1])
    graphs = {
        "NetHEPT": read_edge_list(folder / "nethept_imm.txt.gz", header=True),
        "Facebook": read_edge_list(folder / "ego_facebook.txt.gz", header=True),
        "Epinions": read_edge_list(folder / "epinions_und.txt.gz", header=True, directed=False),
    }
    print(f"{'':34}{'ones':>6}{'plain ms':>10}{'ours ms':>10}{'ratio':>8}{'sets':>10}{'':10}{'spread':>9}")
    for name, graph in graphs.items():
        compare(f"{name}, weighted cascade", graph, weighted_cascade(graph))
        if name != "Epinions":
            compare(f"{name}, p = 0.01", graph, constant(graph, 0.01))
    graph = graphs["NetHEPT"]
    compare("NetHEPT, p = 0.1", graph, constant(graph, 0.1))
    environment = IndependentCascade(graph, weighted_cascade(graph), k=50, pool=2**14)
    for scale, rounds in ((1.0, 300), (0.115, 40)):
        means = optimistic(environment, 50, scale, rounds)
        compare(f"NetHEPT, CUCB x {scale:g} at t = {rounds}", graph, means)
    for name, graph in graphs.items():
        cascades(f"{name}, weighted cascade", IndependentCascade(graph, weighted_cascade(graph)))


if __name__ == "__main__":
    main()
