"""Readers of public instances: Steiner trees, graphs, and the number files of the OR-Library."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from oracles import Knapsack, SetCover, SteinerTree, VertexCover
from oracles.packing import GeneralizedAssignment, MultidimensionalKnapsack


@dataclass(frozen=True, eq=False)
class Problem:
    """The class of the oracle of an instance, its arguments, and the means."""

    name: str
    oracle_class: Any
    arguments: dict[str, Any]
    means: np.ndarray

    def oracle(self, **options: Any) -> Any:
        """Return the oracle, with further arguments."""
        return self.oracle_class(**{**self.arguments, **options})


def read_instances(file: Path) -> list[Problem]:
    """Return the problems of a file, whose name tells the format."""
    name, text = file.stem, lzma.decompress(file.read_bytes()).decode()
    if name.startswith("steiner"):
        return [_steiner(name, text)]
    if name.startswith(("C", "vc")):
        return [_cover(name, text)]
    numbers = iter(text.split())
    kinds = {"scp": _set_cover, "gap": _assignments, "mknap": _knapsacks}
    read = next((reader for start, reader in kinds.items() if name.startswith(start)), _knapsack)
    return list(read(name, numbers))


def _take(numbers: Iterator[str], n: int) -> np.ndarray:
    return np.array([next(numbers) for _ in range(n)], np.float64)


def _steiner(name: str, text: str) -> Problem:
    """Read lines ``E u v cost`` and ``T node``."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    graph: Any = nx.Graph()
    graph.add_weighted_edges_from((int(row[1]), int(row[2]), float(row[3])) for row in rows if row[0] == "E")
    terminals = [int(row[1]) for row in rows if row[0] == "T"]
    costs = np.array([cost for *_, cost in graph.edges(data="weight")])
    return Problem(name, SteinerTree, {"graph": graph, "terminals": terminals}, costs)


def _cover(name: str, text: str) -> Problem:
    """Read edges below a line that ends with the numbers of nodes and edges."""
    rows = [line.split() for line in text.splitlines() if line.strip() and line[0] != "c"]
    graph: Any = nx.empty_graph(range(1, int(rows[0][-2]) + 1))
    graph.add_edges_from((int(row[-2]), int(row[-1])) for row in rows[1:])
    return Problem(name, VertexCover, {"graph": graph}, np.ones(len(graph)))


def _set_cover(name: str, numbers: Iterator[str]) -> Iterator[Problem]:
    n_elements, n_sets = (int(next(numbers)) for _ in range(2))
    costs = _take(numbers, n_sets)
    sets: list[list[int]] = [[] for _ in range(n_sets)]
    for element in range(1, n_elements + 1):
        for column in _take(numbers, int(next(numbers))).astype(int):
            sets[column - 1].append(element)
    yield Problem(name, SetCover, {"sets": sets}, costs)


def _assignments(name: str, numbers: Iterator[str]) -> Iterator[Problem]:
    for _ in range(int(next(numbers))):
        agents, jobs = (int(next(numbers)) for _ in range(2))
        means = _take(numbers, agents * jobs)
        weights = _take(numbers, agents * jobs).reshape(agents, jobs)
        given = {"weights": weights, "capacities": _take(numbers, agents), "complete": True}
        yield Problem(name, GeneralizedAssignment, given, means)


def _knapsacks(name: str, numbers: Iterator[str]) -> Iterator[Problem]:
    for _ in range(int(next(numbers))):
        n, rows, _optimum = int(next(numbers)), int(next(numbers)), next(numbers)
        means = _take(numbers, n)
        given = {"weights": _take(numbers, n * rows).reshape(rows, n), "capacities": _take(numbers, rows)}
        yield Problem(name, MultidimensionalKnapsack, given, means)


def _knapsack(name: str, numbers: Iterator[str]) -> Iterator[Problem]:
    """Read rows of value and weight below ``n capacity [optimum]``, or numbered rows between both."""
    n, rest = int(next(numbers)), np.array(list(numbers), np.float64)
    if len(rest) == 3 * n + 1:
        rows, capacity = rest[:-1].reshape(n, 3)[:, 1:], rest[-1]
    else:
        rows, capacity = rest[-2 * n :].reshape(n, 2), rest[0]
    yield Problem(name, Knapsack, {"weights": rows[:, 1], "capacity": float(capacity)}, rows[:, 0].copy())
