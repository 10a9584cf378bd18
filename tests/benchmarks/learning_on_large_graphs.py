"""Rounds of learning on a large graph: the seconds of each part, and of the oracle alone with the same means.

Run: python tests/benchmarks/learning_on_large_graphs.py STORE [ROUNDS] [POLICY...]

STORE is a folder that `cmab graph convert` or `large_graphs.py` wrote. The truth is weighted cascade. Each
policy is a process of its own. Seconds are those of the processor. `oracle` is the time of the certified call
within `ask`, `outside` that of a call of the oracle alone with the same means, and `ratio` the multiple of
the latter that the round takes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SEEDS, EPSILON = 50, 0.1
POLICIES = ("CUCB", "Learner", "HierarchicalCTS")


def memory(field: str) -> float:
    """Return a field of the memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field + ":"))


class Calls:
    """The last call of an oracle: its means and its seconds."""

    def __init__(self) -> None:
        from oracles import InfluenceMaximization

        self.means, self.seconds, solve = np.empty(0), 0.0, InfluenceMaximization.solve

        def timed(oracle: Any, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            started = time.process_time()
            found = solve(oracle, means, rng)
            self.means, self.seconds = means, time.process_time() - started
            return found

        InfluenceMaximization.solve = timed


def say(name: str, **figures: float) -> None:
    print(f"{name}: " + "  ".join(f"{key} {value:,.3g}" for key, value in figures.items()), flush=True)


def learn(store: Path, name: str, rounds: int) -> None:
    """Play rounds of a policy, and print a line for each."""
    import cmab
    from instances import IndependentCascade
    from oracles import InfluenceMaximization
    from oracles.stores import StoredGraph

    calls, graph, rng = Calls(), StoredGraph(store), np.random.default_rng(5)
    truth = 1.0 / graph.in_degrees[graph.heads]
    oracle = InfluenceMaximization(graph, SEEDS, epsilon=EPSILON)

    def outside(means: np.ndarray) -> float:
        oracle.solve(means, np.random.default_rng(1))
        return calls.seconds

    outside(truth)
    alone = min(outside(truth) for _ in range(2))
    say("the true means", seconds=alone)
    environment, before = IndependentCascade(graph, truth), memory("VmRSS")
    session = cmab.Session(getattr(cmab, name)(oracle), 0)
    # The first round compiles the rules, so an equal session plays it before.
    first = cmab.Session(getattr(cmab, name)(oracle), 0)
    first.tell(environment.play(first.ask().super_arm, rng))
    del first
    for number in range(1, rounds + 1):
        started = time.process_time()
        ticket = session.ask()
        asked, solved, means = time.process_time() - started, calls.seconds, calls.means
        seen = environment.play(ticket.super_arm, rng)
        started = time.process_time()
        session.tell(seen)
        told = time.process_time() - started
        again = outside(means)
        say(
            f"{name}, round {number}",
            seconds=asked + told,
            oracle=solved,
            tell=told,
            outside=again,
            ratio=(asked + told) / again,
            against_truth=(asked + told) / alone,
        )
    say(name, state=(memory("VmRSS") - before) / graph.n_arcs)


def main() -> None:
    if sys.argv[1] == "--policy":
        learn(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
        return
    rounds = sys.argv[2] if len(sys.argv) > 2 else "5"
    for name in sys.argv[3:] or POLICIES:
        subprocess.run([sys.executable, __file__, "--policy", sys.argv[1], name, rounds], check=True)


if __name__ == "__main__":
    main()
