"""Oracles beside their peers on the instances whose times were goals, in one table.

Run: python tests/benchmarks/oracle_goals.py BENCHMARKS GRAPHS [--seconds 60] [NAME ...]. BENCHMARKS is the
folder of public instances, and GRAPHS the folder with `nethept_imm.txt.gz` and others. NAME selects rows by a
part of their name. Times are seconds of the processor, so that other programs on the machine change them
little. Limits of calls (`--seconds`) are seconds of the clock. Code is compiled by calls before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np
from graphs_at_work import matchings, nets
from oracles_at_work import items, nodes, peer

from instances import read_benchmark, read_edge_list, weighted_cascade
from oracles import (
    InfluenceMaximization,
    Knapsack,
    Matching,
    MultidimensionalKnapsack,
    SteinerTree,
    VertexCover,
)
from oracles.influence import Search
from oracles.influence.spread import estimated_spread

#: The graphs, whether each edge is listed once, and the best known spreads of 50 seeds.
SPREADS = {"nethept_imm": (True, 958.2), "nethept_chen": (False, 922.4), "wiki_vote": (True, 673.7)}
CASCADES, CALLS = 100_000, 3

Cells = tuple[str, float, float, str, str]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call and its seconds of the processor."""
    started = time.process_time()
    return call(), time.process_time() - started


def answered(name: str, make: Callable[[], Any], means: Any, other: str) -> Cells:
    """Return the cells of a row: the times of the constructor and of a call, the answer and its bound."""
    oracle, build = timed(make)
    answer, took = timed(lambda: oracle.solve_certified(means, 0))
    return name, build, took, f"{answer.value:.9g} (bound {answer.bound:.9g})", other


def warm_up() -> None:
    """Load or compile the code of all oracles."""
    ones, ring = np.ones(6), nx.cycle_graph(6)
    pairs = nx.complete_bipartite_graph(2, 3)
    for oracle in (
        Matching(pairs),
        Matching(ring),
        VertexCover(ring, time_limit=0),
        VertexCover(ring),
        SteinerTree(ring, [0, 2, 4]),
        SteinerTree(ring, [0, 2, 4], time_limit=1, on_limit="best"),
        MultidimensionalKnapsack(np.ones((2, 6)), [3, 3]),
        Knapsack(np.arange(1, 7), 9),
        Knapsack(np.arange(1, 7) * 10**9, 9 * 10**9),
    ):
        oracle.solve_certified(ones, 0)
    Matching(nx.complete_bipartite_graph(3, 3), True, sense="min").solve(np.ones(9), 0)


def assignments(folder: Path, seconds: float) -> Iterator[Callable[[], Cells]]:
    """Complete graphs of 500 + 500 nodes, as in the OR-Library, from a file."""

    def large() -> Cells:
        from scipy.optimize import linear_sum_assignment

        costs = np.random.default_rng(0).integers(1, 101, (500, 500))
        with TemporaryDirectory() as place:
            file = Path(place) / "assign500"
            file.write_text(f"500\n{' '.join(map(str, costs.ravel().tolist()))}\n")
            problem, read = timed(lambda: read_benchmark(file))
        ends, took = timed(lambda: linear_sum_assignment(costs))
        other = f"reading {read:.2f}; scipy {took:.3f}: {costs[ends].sum()}"
        return answered("`Matching`, 500 + 500 nodes, 250,000 edges", problem.oracle, problem.means, other)

    yield large


def general(folder: Path, seconds: float) -> Iterator[Callable[[], Cells]]:
    """General graphs of 4,831 edges."""
    for name, make, means, theirs in matchings():
        if "4,831" in name and theirs is not None:

            def row(name: str = name, make: Any = make, means: Any = means, theirs: Any = theirs) -> Cells:
                value, took = timed(theirs)
                return answered(f"`{name}`", make, means, f"rustworkx {took:.2f}: {value:.9g}")

            yield row


def programs(folder: Path, seconds: float) -> Iterator[Callable[[], Cells]]:
    """Covers, knapsacks and Steiner trees with a limit."""
    limits = {"time_limit": seconds, "on_limit": "best"}

    def cover() -> Cells:
        kind, (graph,), _, means = nodes(10_000, 100_000)
        name = "`VertexCover`, 10,000 nodes, 100,000 edges, greedy"
        return answered(name, lambda: kind(graph, time_limit=0), means, "")

    def many_rows() -> Cells:
        problem = read_benchmark(folder / "mknapcb1.xz", index=0)
        oracle = problem.oracle()
        found = peer((type(oracle), (oracle.weights, oracle.capacities), {}, problem.means), seconds)
        other = (
            f"HiGHS {found['peer']:.1f} of the clock: {found['peer value']:.9g} ({found['peer bound']:.9g})"
        )
        return answered(
            "`MultidimensionalKnapsack`, mknapcb1 #0", lambda: problem.oracle(**limits), problem.means, other
        )

    yield cover
    yield many_rows
    for name in ("C125.9", "vc031", "jooken*", "steiner*"):
        for file in sorted(folder.glob(f"{name}.xz")):

            def public(file: Path = file) -> Cells:
                problem = read_benchmark(file)
                if file.stem == "C125.9":
                    graph = nx.complement(problem.arguments["graph"])
                    return answered(
                        "`VertexCover`, complement of C125.9",
                        lambda: problem.oracle(graph=graph, **limits),
                        problem.means,
                        "91",
                    )
                kind = type(problem.oracle(**limits)).__name__
                return answered(
                    f"`{kind}`, {file.stem[:28]}", lambda: problem.oracle(**limits), problem.means, ""
                )

            yield public
    for power, largest in ((8, 10**6), (10, 10**8)):

        def knapsack(power: int = power, largest: int = largest) -> Cells:
            _, (weights, room), _, means = items(1000, largest, False)
            name = f"`Knapsack`, 1,000 arms, capacity {room:.1e}"
            return answered(name, lambda: Knapsack(weights, room, **limits), means, "")

        yield knapsack


def flows(folder: Path, seconds: float) -> Iterator[Callable[[], Cells]]:
    """Flows of least cost with capacities."""
    for name, make, means, theirs in nets():

        def row(name: str = name, make: Any = make, means: Any = means, theirs: Any = theirs) -> Cells:
            make().solve(means, 0)
            value, took = timed(theirs) if theirs else (np.nan, np.nan)
            other = f"networkx {took:.2f}: {value:.9g}" if theirs else ""
            return answered(f"`{name}`", make, means, other)

        yield row


def seeds(folder: Path, seconds: float) -> Iterator[Callable[[], Cells]]:
    """Seeds of the default search, with and without epsilon, and their spreads in other cascades."""
    for graph_name, (is_directed, best) in SPREADS.items():
        for epsilon in (None, 0.1):

            def row(
                name: str = graph_name,
                is_directed: bool = is_directed,
                best: float = best,
                epsilon: Any = epsilon,
            ) -> Cells:
                graph = read_edge_list(folder / f"{name}.txt.gz", directed=is_directed, header=True)
                means = weighted_cascade(graph)
                oracle, build = timed(lambda: InfluenceMaximization(graph, 50, epsilon=epsilon))
                high = InfluenceMaximization(graph, 50, search=Search(quality="best")).solve(means, 99)
                spreads, times = [], []
                for seed in range(CALLS):
                    found, took = timed(lambda: oracle.solve(means, seed))  # noqa: B023
                    spreads.append(estimated_spread(graph, means, found, CASCADES))
                    times.append(took)
                value, error = np.mean(spreads, axis=0)
                top, _ = estimated_spread(graph, means, high, CASCADES)
                given = "" if epsilon is None else f", epsilon={epsilon}"
                text = f"{value:.1f} ± {error:.1f}"
                return (
                    f"Influence, {name}, k = 50{given}",
                    build,
                    min(times),
                    text,
                    f'"best" {top:.1f}; known {best}',
                )

            yield row


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("benchmarks", type=Path)
    parser.add_argument("graphs", type=Path)
    parser.add_argument("names", nargs="*", help="names of groups: " + ", ".join(GROUPS))
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    warm_up()
    print("| what | constructor, s | call, s | value | peer |\n|---|---|---|---|---|")
    for name, rows in GROUPS.items():
        if not given.names or name in given.names:
            for row in rows(given.graphs if rows is seeds else given.benchmarks, given.seconds):
                what, build, took, value, other = row()
                print(f"| {what} | {build:.3f} | {took:.3f} | {value} | {other} |", flush=True)


GROUPS = {f.__name__: f for f in (assignments, general, programs, flows, seeds)}

if __name__ == "__main__":
    main()
