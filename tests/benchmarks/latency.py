"""How long an answer takes: ask and tell of a session.

Run: python tests/benchmarks/latency.py [--processor] [--rounds N]. Prints the table of
docs/how-to/production.md, in milliseconds; with --processor in processor time, which other load on the
machine changes less. Everything is compiled before.
"""

from __future__ import annotations

import argparse
import time

import networkx as nx
import numpy as np

from cmab import CTS, CUCB, KLCUCB, EpsilonGreedy, Feedback, RarelySwitchingCUCB, Session
from cmab.compiled import interpret
from oracles import DegreeHeuristic, GraphicMatroid, InfluenceMaximization, Matching, ShortestPath, TopK

POLICIES = (CUCB, KLCUCB, CTS, EpsilonGreedy, RarelySwitchingCUCB)


def people():
    """Two hundred people with some friends each."""
    return nx.barabasi_albert_graph(200, 3, seed=0).to_directed()


def square():
    """Streets of a town of 400 crossings."""
    return nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 20))


PROBLEMS = {
    "`TopK(1_000, 10)`": (lambda: TopK(1_000, 10), POLICIES),
    '`Matching` 20 x 20, `method="assignment"`': (
        lambda: Matching(nx.complete_bipartite_graph(20, 20), method="assignment"),
        POLICIES,
    ),
    "`ShortestPath`, 400 crossings": (lambda: ShortestPath(square(), 0, 399), POLICIES),
    "`GraphicMatroid`, 400 crossings": (lambda: GraphicMatroid(square(), "min"), POLICIES),
    "`InfluenceMaximization`, 200 people, k = 5, epsilon = 0.3": (
        lambda: InfluenceMaximization(people(), 5, epsilon=0.3),
        (CTS, RarelySwitchingCUCB),
    ),
    "`DegreeHeuristic`, 200 people, k = 5": (
        lambda: DegreeHeuristic(people(), 5),
        (CTS, RarelySwitchingCUCB),
    ),
}


def rounds(session, count, clock):
    """Return the milliseconds of each round: one ask and one tell."""
    rng, oracle = np.random.default_rng(1), session.policy.oracle
    taken = np.empty(count)
    for i in range(count):
        start = clock()
        ticket = session.ask()
        asked = clock() - start
        arms = _seen(oracle, ticket.super_arm)
        outcomes = (rng.random(len(arms)) < 0.05 + 0.1 * (arms % 3)).astype(np.float64)
        start = clock()
        session.tell(Feedback(arms, outcomes), ticket)
        taken[i] = 1e3 * (asked + clock() - start)
    return taken


def _seen(oracle, super_arm):
    """Return base arms as a round shows them: of influence, the ties out of the seeds."""
    if not hasattr(oracle, "graph"):
        return oracle.triggered_arms(super_arm)
    return np.flatnonzero(np.isin(oracle.graph.tails, super_arm))


def latencies(count, clock):
    print("| oracle | learner | median | 95 % | 99 % |\n|---|---|---|---|---|")
    for name, (make, policies) in PROBLEMS.items():
        for policy in policies:
            session = Session(policy(make()), rng=0)
            with interpret(False):  # compile now, and not during the measured rounds
                rounds(session, 30, clock)
            taken = rounds(session, count if "Influence" not in name else count // 5, clock)
            median, p95, p99 = np.percentile(taken, [50, 95, 99])
            print(f"| {name} | `{policy.__name__}` | {median:.2f} | {p95:.2f} | {p99:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--rounds", type=int, default=1_000)
    options = parser.parse_args()
    clock = time.process_time if options.processor else time.perf_counter
    latencies(options.rounds, clock)


if __name__ == "__main__":
    main()
