"""What keeping reverse-reachable sets saves, for the means of runs on NetHEPT.

Run: python tests/benchmarks/repair.py nethept_imm.txt.gz [ROUNDS]. A policy plays with
`InfluenceMaximization` (k = 50, epsilon = 0.1, weighted cascade); the means that it asks about are then
answered, in order, by both oracles. Milliseconds of processor time a call, from a third of the run on and in
its last tenth; then, of the calls from a third on, the share of kept sets that were drawn again and the share
of calls that were ordinary ones; what is kept at the end; and the mean of the certificates' spreads.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from cmab import CTS, CUCB, Greedy, simulate
from instances import IndependentCascade, read_edge_list, weighted_cascade
from oracles import InfluenceMaximization, RepairedInfluence
from oracles.influence.search import Search


class Recording(InfluenceMaximization):
    """Keeps the means that it was asked about."""

    def solve(self, means, rng):
        self.asked.append(np.array(means))
        return super().solve(means, rng)


def policies(oracle):
    rare = {"prior_mean": 1 / 31, "prior_weight": 31.0}
    wide = {"prior_mean": 0.1, "prior_weight": 10.0}
    yield "Thompson, Beta(1, 30)", CTS(oracle, **rare)
    yield "CUCB, Algorithm 1", CUCB(oracle)
    yield "CUCB, prior 0.1, radius 0.02", CUCB(oracle, radius_factor=float(np.sqrt(0.02 / 1.5)), **wide)
    yield "CUCB, prior 0.1, radius 0.002", CUCB(oracle, radius_factor=float(np.sqrt(0.002 / 1.5)), **wide)
    yield "greedy, Beta(1, 30)", Greedy(oracle, **rare)


def answered(oracle, asked):
    """Return milliseconds, spreads and shares of sets drawn again, call by call."""
    times, spreads, shares = [], [], []
    for i, means in enumerate(asked):
        before = getattr(oracle, "_sample", None)
        started = time.process_time()
        answer = oracle.solve_certified(means, np.random.default_rng(i))
        times.append(1e3 * (time.process_time() - started))
        spreads.append(answer.spread)
        after = getattr(oracle, "_sample", None)
        ordinary = after is before or after.n_sets <= 64
        shares.append(np.nan if ordinary else after.drawn / after.n_sets)
    return np.array(times), np.array(spreads), np.array(shares)


def kept_megabytes(oracle):
    sample = oracle._sample
    return 0.0 if sample is None else sum(part.nbytes for part in sample if hasattr(part, "nbytes")) / 1e6


def main():
    graph = read_edge_list(sys.argv[1], header=True)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    environment = IndependentCascade(graph, weighted_cascade(graph), k=50, n_rr_sets=2**10)
    print(
        f"{'':32}{'ordinary':>10}{'repaired':>10}{'ratio':>7}{'last 10 %':>11}{'':>10}{'ratio':>7}"
        f"{'drawn':>8}{'ordinary calls':>16}{'MB':>6}{'spread':>9}{'repaired':>10}"
    )
    recording = Recording(graph, 50, epsilon=0.1, search=Search(quality="fast"))
    for name, policy in policies(recording):
        recording.asked = []
        simulate(policy, environment, rounds, rng=0)
        ordinary, repaired = (
            InfluenceMaximization(graph, 50, epsilon=0.1, search=Search(quality="fast")),
            RepairedInfluence(graph, 50, epsilon=0.1, search=Search(quality="fast")),
        )
        for oracle in (ordinary, repaired):
            answered(oracle, recording.asked[:1])  # compiles
        slow, value, _ = answered(ordinary, recording.asked)
        fast, same, shares = answered(repaired, recording.asked)
        row = f"{name:32}"
        for part in (slice(rounds // 3, None), slice(-rounds // 10, None)):
            a, b = slow[part].mean(), fast[part].mean()
            row += f"{a:{10 if part.start > 0 else 11}.1f}{b:10.1f}{a / b:7.2f}"
        late = shares[rounds // 3 :]
        drawn = np.nanmean(late) if np.isfinite(late).any() else np.nan
        row += f"{drawn:8.1%}{np.isnan(late).mean():16.0%}{kept_megabytes(repaired):6.1f}"
        print(f"{row}{value.mean():9.0f}{same.mean():10.0f}", flush=True)


if __name__ == "__main__":
    main()
