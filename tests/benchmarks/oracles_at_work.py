"""Oracles on large and hard instances: build, first call, later calls, memory, and answers at a time limit.

Run: python tests/benchmarks/oracles_at_work.py [--seconds 20] [--folder FOLDER] [NAME ...]. It prints a table
in Markdown. NAME selects rows by a part of their name. Without a folder, the instances are generated from
seeds. With a folder of public instances (see `read` below), those are also solved. Each row runs in a process
of its own, so the memory is that of one oracle. The peer is HiGHS by itself (its own options, the same time)
on the same program. Without a NAME, the tables of `graphs_at_work.py` and, with a folder, the tables and runs
of `public_instances.py` follow.
"""

from __future__ import annotations

import argparse
import json
import lzma
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from oracles import GeneralizedAssignment, Knapsack, MultidimensionalKnapsack, SetCover, VertexCover

#: A row: the class, its arguments, and the means.
Row = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], np.ndarray]


def generated() -> dict[str, Callable[[], Row]]:
    """Return the rows that need no files."""
    return {
        "VertexCover 30 nodes, 60 edges": lambda: nodes(30, 60),
        "VertexCover 200 nodes, 500 edges": lambda: nodes(200, 500),
        "VertexCover 200 nodes, 10,000 edges": lambda: nodes(200, 10_000),
        "VertexCover 10,000 nodes, 100,000 edges": lambda: nodes(10_000, 100_000),
        "SetCover 200 elements, 1,000 sets": lambda: sets(200, 1000, 0.02),
        "SetCover 10,000 elements, 5,000 sets": lambda: sets(10_000, 5000, 0.002),
        "Knapsack 1,000 arms, easy": lambda: items(1000, 10**4, True),
        "Knapsack 100,000 arms, easy": lambda: items(100_000, 10**4, True),
        "Knapsack 1,000 arms, capacity 1e8": lambda: items(1000, 10**6, False),
        "Knapsack 1,000 arms, capacity 1e10": lambda: items(1000, 10**8, False),
        "MultidimensionalKnapsack 5 rows, 100 arms": lambda: rows(5, 100),
        "MultidimensionalKnapsack 10 rows, 500 arms": lambda: rows(10, 500),
        "GeneralizedAssignment 5 agents, 50 jobs": lambda: agents(5, 50),
        "GeneralizedAssignment 20 agents, 200 jobs": lambda: agents(20, 200),
    }


def nodes(n: int, m: int) -> Row:
    return (
        VertexCover,
        (nx.gnm_random_graph(n, m, seed=1),),
        {},
        np.random.default_rng(0).uniform(0.3, 1.0, n),
    )


def sets(n_elements: int, n: int, share: float) -> Row:
    rng = np.random.default_rng(0)
    own = [np.flatnonzero(rng.random(n_elements) < share).tolist() for _ in range(n)]
    own[0] = sorted({*own[0], *range(n_elements)} - set().union(*own[1:]) | set(own[0]))
    return SetCover, (own,), {}, rng.uniform(0.3, 1.0, n)


def items(n: int, largest: int, easy: bool) -> Row:
    rng = np.random.default_rng(0)
    weights = rng.integers(1, largest, n)
    means = rng.random(n) if easy else (weights + largest / 10 * rng.random(n)) / (1.1 * largest)
    return Knapsack, (weights, int(weights.sum() // 4)), {}, means


def rows(n_rows: int, n: int) -> Row:
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 1000, (n_rows, n))
    means = (weights.mean(axis=0) + rng.integers(0, 500, n)) / 1500
    return MultidimensionalKnapsack, (weights, weights.sum(axis=1) // 4), {}, means


def agents(n_agents: int, jobs: int) -> Row:
    rng = np.random.default_rng(0)
    weights = rng.integers(5, 25, (n_agents, jobs))
    means = rng.random((n_agents, jobs))
    return GeneralizedAssignment, (weights, 0.8 * weights.sum(axis=1) / n_agents), {}, means.reshape(-1)


def read(folder: Path) -> dict[str, Callable[[], Row]]:
    """Return the rows of public instances, by the names of the files in the folder."""
    known: dict[str, Callable[[str], Iterator[Row]]] = {
        "scp": covers,
        "vc": graphs,
        "C1": cliques,
        "knapPI": knapsacks,
        "jooken": knapsacks,
        "mknapcb": packings,
        "gap": assignments,
    }
    found = {}
    for file in sorted(folder.glob("*.xz")):
        of = next((reader for start, reader in known.items() if file.name.startswith(start)), None)
        if of is not None:
            with lzma.open(file, "rt") as stream:
                text = stream.read()
            for i, row in enumerate(of(text)):
                if len(row[3]) and (i % 10 == 0 or file.name.startswith("gap")):
                    found[f"{row[0].__name__} {file.stem[:24]} #{i}"] = lambda row=row: row
    return found


def covers(text: str) -> Iterator[Row]:
    numbers = iter(map(int, text.split()))
    n_elements, n = next(numbers), next(numbers)
    costs, own = np.array([next(numbers) for _ in range(n)], float), [[] for _ in range(n)]
    for element in range(n_elements):
        for _ in range(next(numbers)):
            own[next(numbers) - 1].append(element)
    yield SetCover, (own,), {}, costs


def graphs(text: str) -> Iterator[Row]:
    lines = [line.split() for line in text.splitlines() if line.strip() and line[0] != "c"]
    graph = nx.empty_graph(range(1, int(lines[0][-2]) + 1))
    graph.add_edges_from((int(line[-2]), int(line[-1])) for line in lines[1:])
    yield VertexCover, (graph,), {}, np.ones(len(graph))


def cliques(text: str) -> Iterator[Row]:
    ((_, (graph,), options, costs),) = graphs(text)
    yield VertexCover, (nx.complement(graph),), options, costs


def knapsacks(text: str) -> Iterator[Row]:
    lines = [line.split() for line in text.splitlines() if line.strip()]
    is_short = len(lines[0]) == 1
    room = int(lines[-1][0]) if is_short else int(lines[0][1])
    table = np.array([line[-2:] for line in (lines[1:-1] if is_short else lines[1:])], float)
    yield Knapsack, (table[:, 1], room), {}, table[:, 0]


def packings(text: str) -> Iterator[Row]:
    numbers = iter(map(float, text.split()))
    for _ in range(int(next(numbers))):
        n, n_rows, _ = (int(next(numbers)) for _ in range(3))
        means = np.array([next(numbers) for _ in range(n)])
        weights = np.array([[next(numbers) for _ in range(n)] for _ in range(n_rows)])
        rooms = np.array([next(numbers) for _ in range(n_rows)])
        yield MultidimensionalKnapsack, (weights, rooms), {}, means


def assignments(text: str) -> Iterator[Row]:
    numbers = iter(map(int, text.split()))
    for _ in range(next(numbers)):
        m, n = next(numbers), next(numbers)
        means, weights = (
            np.array([[next(numbers) for _ in range(n)] for _ in range(m)], float) for _ in "ab"
        )
        rooms = np.array([next(numbers) for _ in range(m)], float)
        # In the first file of the library the means are profits, in the others costs.
        options = {"complete": True, "sense": "max" if (m, n) == (5, 15) else "min"}
        yield GeneralizedAssignment, (weights, rooms), options, means.reshape(-1)


def measured(row: Row, seconds: float) -> dict[str, float]:
    """Return the figures of a row. Code is compiled before, by small problems."""
    kind, arguments, options, means = row
    VertexCover(nx.cycle_graph(5)).solve(np.ones(5), rng=0)
    Knapsack([10**8, 10**9], 10**9).solve(np.ones(2), rng=0)
    before, started = memory(), time.perf_counter()
    oracle = kind(*arguments, **options, time_limit=seconds, on_limit="best")
    figures = {"build": time.perf_counter() - started}
    answers, times = [], []
    rng = np.random.default_rng(1)
    for call in range(4):
        values = means * (1.0 if call == 0 else rng.uniform(0.98, 1.0, len(means)))
        started = time.perf_counter()
        answers.append(oracle.solve_certified(values, rng))
        times.append(time.perf_counter() - started)
        if sum(times) > seconds:
            break
    greedy = kind(*arguments, **options, time_limit=0).solve_certified(means, 0)
    figures |= {"first": times[0], "later": float(np.median(times[1:])) if times[1:] else np.nan}
    figures |= {"memory": memory() - before, "greedy": greedy.value}
    return figures | {name: float(getattr(answers[0], name)) for name in ("value", "bound", "ratio")}


def peer(row: Row, seconds: float) -> dict[str, float]:
    """Return the value, the bound and the time of HiGHS on the program of the oracle."""
    import highspy

    kind, arguments, options, means = row
    if kind is Knapsack:
        weights, room = arguments
        kind, arguments = MultidimensionalKnapsack, (np.array([weights]), [room])
    oracle = kind(*arguments, **options)
    with oracle._pool.lent() as program:
        lp = program._model()
    lp.col_cost_ = np.array(means, float)
    lp.sense_ = highspy.ObjSense.kMaximize if oracle.sense == "max" else highspy.ObjSense.kMinimize
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(means)
    highs = highspy.Highs()
    for name, value in {
        "output_flag": False,
        "threads": 1,
        "time_limit": seconds,
        "mip_rel_gap": 0.0,
    }.items():
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    started = time.perf_counter()
    highs.run()
    took, info = time.perf_counter() - started, highs.getInfo()
    return {"peer": took, "peer value": info.objective_function_value, "peer bound": info.mip_dual_bound}


def memory() -> float:
    """Return the largest memory of the process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--row", help="print the figures of one row in JSON")
    given = parser.parse_args()
    all_rows = generated() | ({} if given.folder is None else read(given.folder))
    if given.row:
        row = all_rows[given.row]()
        print(json.dumps(measured(row, given.seconds) | peer(row, given.seconds)))
        return
    columns = ("build, s", "first, s", "later, s", "MB", "greedy", "answer", "bound", "ratio", "HiGHS, s")
    print(f"| oracle and size | {' | '.join(columns)} | HiGHS: answer, bound |")
    print("|" + "---|" * (len(columns) + 2))
    for name in all_rows:
        if given.names and not any(part in name for part in given.names):
            continue
        command = [sys.executable, __file__, "--row", name, "--seconds", str(given.seconds)]
        command += [] if given.folder is None else ["--folder", str(given.folder)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        f = json.loads(ran.stdout.splitlines()[-1])
        cells = [f"{f[key]:.2g}" for key in ("build", "first", "later")] + [f"{f['memory']:.0f}"]
        cells += [f"{f[key]:.9g}" for key in ("greedy", "value", "bound")] + [f"{f['ratio']:.6f}"]
        cells += [f"{f['peer']:.2g}", f"{f['peer value']:.9g}, {f['peer bound']:.9g}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if not given.names:
        others = [["graphs_at_work.py", "--seconds", str(given.seconds)]]
        if given.folder is not None:
            limits = ["--seconds", str(given.seconds), "--rounds", "1000"]
            others.append(["public_instances.py", str(given.folder), *limits])
        for script, *options in others:
            print(flush=True)
            subprocess.run([sys.executable, str(Path(__file__).with_name(script)), *options], check=True)


if __name__ == "__main__":
    main()
