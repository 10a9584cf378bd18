"""Where the bytes of a certified call go: the growth of the resident memory at each step, in bytes per arc.

Run: python tests/benchmarks/bytes_of_a_call.py STORE [PROBABILITY]

STORE is a folder that `cmab graph convert` or `large_graphs.py` wrote. Without PROBABILITY, the means are
weighted cascade. `own` is memory of the process that the system cannot drop, `mapped` the pages of the store.
Each line is the state after a step, and `peak` the largest sum so far. A first call on a small graph compiles
the kernels before the measurement.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from large_graphs import CHUNK, EPSILON, SEEDS, memory, power_law, reset_peak

FIELDS = {"own": "RssAnon", "mapped": "RssFile", "peak": "VmHWM"}


class Steps:
    """Prints the growth of the memory of the process since its start."""

    def __init__(self) -> None:
        reset_peak()
        self.before = {name: memory(field) for name, field in FIELDS.items()}
        self.n_arcs = 1

    def show(self, step: str) -> None:
        grown = {name: (memory(FIELDS[name]) - self.before[name]) / self.n_arcs for name in FIELDS}
        print(f"{step:40s}" + "".join(f"{name} {value:6.2f}  " for name, value in grown.items()), flush=True)

    def after(self, place: Any, name: str, step: str) -> None:
        """Print a line after each call of a function of a module or class."""
        real = getattr(place, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            found = real(*arguments, **named)
            self.show(step)
            return found

        setattr(place, name, watched)


def warm_up(search: Any) -> None:
    """Compile the kernels on a small graph."""
    from oracles import DirectedGraph, InfluenceMaximization

    rng = np.random.default_rng(1)
    ends = power_law(2000, 20_000, rng)
    ends = ends[:, ends[0] != ends[1]]
    small = DirectedGraph.from_edges(*ends, n_nodes=2000)
    for chance in (0.01, 0.3):
        means = np.full(small.n_arcs, chance)
        InfluenceMaximization(small, SEEDS, epsilon=EPSILON, search=search).solve(means, rng)


def main() -> None:
    from oracles import InfluenceMaximization
    from oracles.influence import Search, maximization, search
    from oracles.influence import sets as reverse_sets
    from oracles.influence.sets import SetCollection
    from oracles.stores import open_graph

    fast = Search(quality="fast")
    warm_up(fast)
    steps = Steps()
    graph = open_graph(Path(sys.argv[1]))
    steps.n_arcs = graph.n_arcs
    print(f"{graph.n_arcs:,} arcs, {graph.n_nodes / graph.n_arcs:.3f} nodes per arc")
    means = np.empty(graph.n_arcs)
    for first in range(0, graph.n_arcs, CHUNK):
        part = slice(first, first + CHUNK)
        means[part] = float(sys.argv[2]) if sys.argv[2:] else 1.0 / graph.in_degrees[graph.heads[part]]
    steps.show("means, and their degrees")
    reset_peak()
    steps.show("")
    steps.after(reverse_sets, "limits_of", "first bits of the means")
    steps.after(reverse_sets, "with_skips", "skips")
    steps.after(maximization, "sampled_graph", "roots and weights")
    steps.after(maximization, "first_of_largest", "candidates")
    steps.after(maximization, "place_sentinels", "first sets")
    steps.after(SetCollection, "grow", "sets")
    steps.after(SetCollection, "index", "index of the sets")
    steps.after(maximization, "choose_some", "choice")
    steps.after(search, "_validated", "validation")
    answer = InfluenceMaximization(graph, SEEDS, epsilon=EPSILON, search=fast).solve_certified(means, 1)
    print(f"ratio {answer.ratio:.3f}, {answer.rr_sets:,} sets")


if __name__ == "__main__":
    main()
