"""Rounds of learning on a large graph: the seconds of each part, and of the oracle alone with the same means.

Run: python tests/benchmarks/learning_on_large_graphs.py STORE [ROUNDS] [POLICY...]

STORE is a folder that `cmab graph convert` or `large_graphs.py` wrote. The truth is weighted cascade. Each
policy is a process of its own. Seconds are those of the processor. `oracle` is the time of the certified call
within `ask`, `outside` that of a call of the oracle alone with the same means, and `ratio` the multiple of
the latter that the round takes. `nodes` is the mean number of nodes of the stored sets, which end at
sentinels, and `whole` that of complete sets, from the first WHOLE sets. `mean` is the mean index of all arcs,
and `hub` that of the arcs out of the node with most of them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SEEDS, EPSILON, WHOLE = 50, 0.1, 100
POLICIES = ("CUCB", "Learner", "HierarchicalCTS")


def memory(field: str) -> float:
    """Return a field of the memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field + ":"))


class Calls:
    """The last call of an oracle: its means, its seconds, and the nodes of its stored sets."""

    def __init__(self) -> None:
        from oracles import InfluenceMaximization
        from oracles.influence import maximization

        self.means, self.seconds, self.nodes = np.empty(0), 0.0, 0.0
        solve, choose = InfluenceMaximization.solve, maximization.choose_some

        def timed(oracle: Any, means: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            started = time.process_time()
            found = solve(oracle, means, rng)
            self.means, self.seconds = means, time.process_time() - started
            return found

        def counted(sets: Any, *arguments: Any) -> Any:
            self.nodes = float(sets.ends[-1] / sets.n_sets)
            return choose(sets, *arguments)

        InfluenceMaximization.solve = timed
        maximization.choose_some = counted


def whole_sets(graph: Any, means: np.ndarray) -> float:
    """Return the mean number of nodes of complete sets."""
    from oracles.influence.sentinels import sampled_graph
    from oracles.influence.sets import SetCollection

    sets = SetCollection(sampled_graph(graph, means), 1)
    sets.grow(WHOLE)
    return float(sets.ends[-1] / sets.n_sets)


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
    node, (offsets, arms) = int(graph.out_degrees.argmax()), graph.out_arcs
    of_hub = arms[offsets[node] : offsets[node + 1]]
    sizes = {"nodes": calls.nodes, "whole": whole_sets(graph, truth)}
    say("the true means", seconds=alone, **sizes, mean=truth.mean(), hub=truth[of_hub].mean())
    environment, before = IndependentCascade(graph, truth), memory("VmRSS")
    session = cmab.Session(getattr(cmab, name)(oracle), 0)
    # The first round compiles the rules, so an equal session plays it before.
    first = cmab.Session(getattr(cmab, name)(oracle), 0)
    first.tell(environment.play(first.ask().super_arm, rng))
    del first
    for number in range(1, rounds + 1):
        started = time.process_time()
        ticket = session.ask()
        asked, solved, nodes = time.process_time() - started, calls.seconds, calls.nodes
        means = calls.means
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
            observed=float(len(seen.arms)),
            nodes=nodes,
            whole=whole_sets(graph, means),
            mean=float(means.mean()),
            hub=float(means[of_hub].mean()),
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
