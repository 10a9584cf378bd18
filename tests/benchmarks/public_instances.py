"""All instances of a folder of public benchmarks, and runs of 1,000 rounds on three of them.

Run: python tests/benchmarks/public_instances.py FOLDER [--seconds 60] [--rounds 1000] [NAME ...]. NAME
selects instances by a part of their name. The first table has the greedy answer (a time limit of zero), the
answer and the bound of one call within the limit, and whether the published optimum lies between them. With
`--rounds`, it is followed by runs of CUCB with limited calls on Steiner trees, vertex covers and matchings.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
from instance_files import Problem, read_instances

from cmab import CUCB, simulate
from instances import BernoulliArms, SemiBandit
from oracles import VertexCover
from oracles.packing import GeneralizedAssignment

#: The published optima, by the start of the name of an instance.
PUBLISHED = {
    "knapPI_2_10000": 90204.0,
    "knapPI_3_2000": 28919.0,
    "jooken": 100004751.0,
    "scp41": 429.0,
    "scpa1": 253.0,
    "scpclr10": 25.0,
    "steiner_007": 1239.0,
    "steiner_046": 214.0,
    "steiner_085": 20.0,
    "steiner_100": 1600208.0,
    "gap1[0]": 336.0,
    "gap1[4]": 326.0,
    "mknapcb1[0]": 24381.0,
    "mknapcb1[10]": 42757.0,
    "mknapcb1[20]": 59822.0,
    "C125.9": 91.0,
}
SEVERAL = {"gap1": range(5), "gapd": range(6), "mknapcb1": (0, 10, 20)}
#: The seconds of a call in a run.
RUNS = {"steiner_007": 0.05, "vc031": 0.05}


def problems(folder: Path) -> Iterator[tuple[str, Problem, dict[str, Any]]]:
    """Yield the name, the problem and the arguments of the oracle of each instance."""
    for file in sorted(folder.glob("*.xz")):
        name = file.stem
        read = read_instances(file)
        for index in SEVERAL.get(name, (0,)):
            problem, options = read[index], {}
            if problem.oracle_class is VertexCover and name.startswith("C"):
                options["graph"] = nx.complement(problem.arguments["graph"])
            if problem.oracle_class is GeneralizedAssignment:
                # In the first file of the library the means are profits, in the others costs.
                options |= {"sense": "max" if name == "gap1" else "min"}
            yield f"{name}[{index}]" if name in SEVERAL else name, problem, options


def solved(name: str, problem: Problem, options: dict[str, Any], seconds: float) -> str:
    """Return the row of an instance."""
    means = problem.means
    greedy = problem.oracle(**options, time_limit=0).solve_certified(means, 0)
    started = time.perf_counter()
    oracle = problem.oracle(**options, time_limit=seconds, on_limit="best")
    build, started = time.perf_counter() - started, time.perf_counter()
    answer: Any = oracle.solve_certified(means, 0)
    took = time.perf_counter() - started
    assert oracle.is_feasible(answer.super_arm)
    optimum = next((value for start, value in PUBLISHED.items() if name.startswith(start)), None)
    low, high = sorted((answer.value, answer.bound))
    verdict = "unknown"
    if optimum is not None:
        slack = 1e-9 * abs(optimum)
        verdict = f"{optimum:.10g}" + ("" if low - slack <= optimum <= high + slack else " NOT CONTAINED")
    gap = answer.gap / max(abs(answer.value), 1e-300)
    numbers = f"{greedy.value:.10g} | {answer.value:.10g} | {answer.bound:.10g} | {100 * gap:.2f}"
    return f"| {name[:28]} | {build:.2f} | {took:.2f} | {numbers} | {verdict} |"


def run(name: str, problem: Problem, seconds: float, rounds: int) -> str:
    """Return the row of a run of CUCB: the mean of an arm is its cost, at most 0.8."""
    means, policy = problem.means, CUCB(problem.oracle(time_limit=seconds, on_limit="best"))
    longer = problem.oracle(time_limit=60.0, on_limit="best")
    environment = SemiBandit(BernoulliArms(0.8 * means / means.max()), longer)
    started = time.perf_counter()
    result = simulate(policy, environment, horizon=rounds, rng=0, progress=False)
    took = (time.perf_counter() - started) / rounds
    return f"| {name} | {len(means):,} | {took:.3f} | {result.exact_regret[0, -1]:.0f} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=0)
    given = parser.parse_args()
    chosen = [
        row for row in problems(given.folder) if not given.names or any(n in row[0] for n in given.names)
    ]
    print("| instance | build, s | call, s | greedy | answer | bound | gap, % | published optimum |")
    print("|---|---|---|---|---|---|---|---|")
    for row in chosen if given.seconds else ():
        print(solved(*row, given.seconds), flush=True)
    if not given.rounds:
        return
    print("\n| run | arms | s a round | exact regret |\n|---|---|---|---|")
    for name, problem, _ in chosen:
        if name in RUNS:
            print(run(name, problem, RUNS[name], given.rounds), flush=True)


if __name__ == "__main__":
    main()
