"""What a round of CUCB and of CTS takes beside the oracle alone, with up to 10^7 base arms.

Run: python tests/benchmarks/rounds_at_size.py [SHARE]

SHARE scales the sizes, 1 by default. Each row is a process of its own. Seconds are those of the processor,
the median of the rounds after the first two. `session` is `ask` and `tell`, and `ratio` its multiple of the
oracle alone. Memory is the peak beyond the oracle in bytes per arm.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROUNDS = 7
SIZES = {
    "TopK": 10_000_000,
    "ShortestPath": 10_000_000,
    "GraphicMatroid": 1_000_000,
    "Matching": 4_000_000,
}


def memory(field: str) -> float:
    """Return a field of the memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def lattice(n_arcs: int):
    """Return the arcs of a square lattice, in both directions of each edge, and its number of nodes."""
    from oracles import DirectedGraph

    side = int(np.sqrt(n_arcs / 4))
    number = np.arange(side * side).reshape(side, side)
    right, down = (number[:, :-1], number[:, 1:]), (number[:-1], number[1:])
    ends = [np.concatenate([right[i].ravel(), down[i].ravel()]) for i in (0, 1)]
    tails, heads = np.concatenate(ends), np.concatenate(ends[::-1])
    return DirectedGraph(tails, heads, n_nodes=side * side)


def made(name: str, size: int):
    """Return the oracle of a row."""
    import networkx as nx

    from oracles import GraphicMatroid, Matching, ShortestPath, TopK

    rng = np.random.default_rng(0)
    if name == "TopK":
        return TopK(size, k=100)
    if name == "ShortestPath":
        graph = lattice(size)
        return ShortestPath(graph, 0, graph.n_nodes - 1)
    if name == "GraphicMatroid":
        n = size // 10
        graph = nx.MultiGraph()
        graph.add_nodes_from(range(n))
        ends = rng.integers(n, size=(2, size))
        ends = ends[:, ends[0] != ends[1]]
        graph.add_edges_from(zip(*ends.tolist(), strict=True))
        return GraphicMatroid(graph)
    side = int(np.sqrt(size))
    return Matching(nx.complete_bipartite_graph(side, side))


def seconds(function, *arguments, **named) -> float:
    """Return the seconds of the processor that a call takes."""
    started = time.process_time()
    function(*arguments, **named)
    return time.process_time() - started


def round_of(session, means: np.ndarray, rng: np.random.Generator) -> float:
    """Play a round, and return the seconds of `ask` and `tell`."""
    from cmab import Feedback

    started = time.process_time()
    ticket = session.ask()
    taken = time.process_time() - started
    outcomes = (rng.random(len(ticket.super_arm)) < means[ticket.super_arm]).astype(float)
    return taken + seconds(session.tell, Feedback(ticket, outcomes))


def row(name: str, size: int) -> dict[str, float]:
    """Return the figures of one oracle."""
    from cmab import CTS, CUCB, Session

    oracle, rng = made(name, size), np.random.default_rng(1)
    means = rng.random(oracle.n_arms)
    oracle.solve(means, rng)
    alone = float(np.median([seconds(oracle.solve, means, rng) for _ in range(3)]))
    found = {"arms": oracle.n_arms, "oracle": alone}
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    for policy in (CUCB(oracle), CTS(oracle)):
        session, kind = Session(policy, 0), type(policy).__name__
        taken = float(np.median([round_of(session, means, rng) for _ in range(ROUNDS)][2:]))
        found |= {f"{kind} session": taken, f"{kind} ratio": taken / alone}
        del session
    found["bytes per arm"] = (memory("VmHWM") - before) / oracle.n_arms
    return found


def main() -> None:
    if sys.argv[1:2] == ["--row"]:
        name, size = sys.argv[2], int(sys.argv[3])
        print(json.dumps(row(name, size)))
        return
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    for name, size in SIZES.items():
        command = [sys.executable, __file__, "--row", name, str(int(share * size))]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print(f"{name}: " + "  ".join(f"{key} {value:,.3g}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
