"""Graphs of 10^4 to 10^8 arcs: conversion to a store, certified seeds, memory, and parallel shares.

Run: python tests/benchmarks/large_graphs.py FOLDER MILLIONS_OF_ARCS

FOLDER receives the generated edges (Parquet) and the store, which stays there for a second run. Each step is
a process of its own. Seconds are those of the processor; `parallel` is their share s in the parts that
`Search.threads` divides among threads, from which the speed-up of t threads is 1 / (1 - s + s / t). Memory is
the growth of the resident memory to its peak during the call, which includes pages of the mapped store.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

CHUNK, SEEDS, EPSILON = 2**21, 50, 0.1
# The quadrants of R-MAT in the Graph500 benchmark.
QUADRANTS = (0.57, 0.19, 0.19)
THREADS = (2, 4, 16, 64)


def rmat(n_bits: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the ends of `count` arcs of R-MAT on ``2**n_bits`` nodes."""
    a, b, c = QUADRANTS
    ends = np.zeros((2, count), np.int64)
    for _ in range(n_bits):
        draw = rng.random(count, dtype=np.float32)
        ends[0] = 2 * ends[0] + (draw >= a + b)
        ends[1] = 2 * ends[1] + (((draw >= a) & (draw < a + b)) | (draw >= a + b + c))
    return ends


def generate(file: Path, arcs: int) -> None:
    """Write the edges of a graph with a tenth as many nodes, in random numbering, as Parquet."""
    import pyarrow
    from pyarrow import parquet

    rng, bits = np.random.default_rng(0), int(np.ceil(np.log2(arcs // 10)))
    order = rng.permutation(2**bits).astype(np.int32)
    schema = pyarrow.schema([("source", pyarrow.int32()), ("target", pyarrow.int32())])
    with parquet.ParquetWriter(file, schema) as writer:
        for start in range(0, arcs, CHUNK):
            count = min(CHUNK, arcs - start)
            ends = order[rmat(bits, count, rng)]
            writer.write_table(pyarrow.table(list(ends), schema=schema))


def memory(field: str) -> float:
    """Return a field of the memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(field + ":"))


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def convert(file: Path, store: Path) -> dict[str, float]:
    from oracles.stores import StoredGraph, convert_graph

    before, started = memory("VmRSS"), time.process_time()
    convert_graph(file, store)
    graph = StoredGraph(store)
    return {
        "arcs": graph.n_arcs,
        "nodes": graph.n_nodes,
        "seconds": time.process_time() - started,
        "peak": (memory("VmHWM") - before) / graph.n_arcs,
        "disk": sum(path.stat().st_size for path in store.iterdir()) / graph.n_arcs,
    }


class Parallel:
    """The seconds of the processor in the parts that threads divide."""

    def __init__(self) -> None:
        from oracles.influence import sampling as _tables
        from oracles.influence import search
        from oracles.influence import sets as reverse_sets

        self.seconds, self.calls, real = 0.0, 0, _tables.in_parts

        def timed(*args, **named):
            started = time.process_time()
            found = real(*args, **named)
            self.seconds += time.process_time() - started
            self.calls += 1
            return found

        for module in (_tables, reverse_sets, search):
            module.in_parts = timed


def solve(store: Path, model: str, threads: int) -> dict[str, float]:
    """Load a store, build the means, and return what the certified answer takes."""
    from oracles import DirectedGraph, InfluenceMaximization
    from oracles.influence import Search
    from oracles.stores import StoredGraph

    search, rng = Search(threads=threads, quality="fast"), np.random.default_rng(1)
    ends = rmat(11, 20_000, rng)
    ends = ends[:, ends[0] != ends[1]]
    small = DirectedGraph.from_edges(*ends, n_nodes=2**11)
    for chance in (0.01, 0.3):
        oracle = InfluenceMaximization(small, SEEDS, epsilon=EPSILON, search=search)
        oracle.solve(np.full(small.n_arcs, chance), rng)
    reset_peak()
    before = memory("VmRSS")
    started = time.process_time()
    graph = StoredGraph(store)
    if model == "wc":
        means = np.empty(graph.n_arcs)
        for first in range(0, graph.n_arcs, CHUNK):
            means[first : first + CHUNK] = 1.0 / graph.in_degrees[graph.heads[first : first + CHUNK]]
    else:
        means = np.full(graph.n_arcs, float(model))
    loaded = time.process_time() - started
    oracle = InfluenceMaximization(graph, SEEDS, epsilon=EPSILON, search=search)
    parallel = Parallel()
    started, wall = time.process_time(), time.perf_counter()
    answer = oracle.solve_certified(means, rng)
    seconds = time.process_time() - started
    return {
        "load": loaded,
        "seconds": seconds,
        "wall": time.perf_counter() - wall,
        "parallel": parallel.seconds / seconds,
        "peak": (memory("VmHWM") - before) / graph.n_arcs,
        "anonymous": (memory("RssAnon")) / graph.n_arcs,
        "ratio": answer.ratio,
        "spread": answer.spread,
        "sets": answer.rr_sets,
        "examined": answer.edges_examined,
        "seeds": int(np.bitwise_xor.reduce(answer.seeds * np.arange(1, SEEDS + 1))),
    }


def step(name: str, *arguments: object) -> dict[str, float]:
    """Run a step in a process of its own, print its figures, and return them."""
    command = [sys.executable, __file__, "--step", name, *map(str, arguments)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    shown = "  ".join(f"{key} {value:,.4g}" for key, value in found.items())
    print(f"{name} {' '.join(map(str, arguments[1:]))}: {shown}", flush=True)
    return found


STEPS = {
    "generate": lambda file, arcs: generate(Path(file), int(arcs)) or {},
    "convert": lambda file, store: convert(Path(file), Path(store)),
    "solve": lambda store, model, threads: solve(Path(store), model, int(threads)),
}


def main() -> None:
    if sys.argv[1] == "--step":
        print(json.dumps(STEPS[sys.argv[2]](*sys.argv[3:])))
        return
    folder, arcs = Path(sys.argv[1]), int(float(sys.argv[2]) * 1e6)
    file, store = folder / f"rmat-{arcs}.parquet", folder / f"rmat-{arcs}"
    if not store.exists():
        folder.mkdir(parents=True, exist_ok=True)
        step("generate", file, arcs)
        step("convert", file, store)
        file.unlink()
    for model in ("wc", "0.01"):
        alone = step("solve", store, model, 1)
        share = alone["parallel"]
        print(
            "    speed-up by threads: "
            + ", ".join(f"{t}: {1 / (1 - share + share / t):.2f}" for t in THREADS)
        )
        both = step("solve", store, model, 2)
        same = all(alone[name] == both[name] for name in ("ratio", "spread", "sets", "examined", "seeds"))
        print(f"    two threads: {'the same answer' if same else 'ANOTHER ANSWER'}", flush=True)


if __name__ == "__main__":
    main()
