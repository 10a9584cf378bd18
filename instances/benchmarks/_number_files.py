"""Problems in the formats of the OR-Library, which consist of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable

import networkx as nx
import numpy as np

from cmab.arrays import FloatArray
from instances.benchmarks.problem import Problem
from oracles import Knapsack, Matching, SetCover
from oracles.packing import GeneralizedAssignment, MultidimensionalKnapsack

# Names of files in the OR-Library and of the common generators, and the formats that they have.
_NAMES = {
    "set_cover": r"scp|rail",
    "generalized_assignment": r"gap",
    "multidimensional_knapsack": r"mknap",
    "assignment": r"assign",
    "knapsack": r"knappi|jooken|n_\\d+_c_",
}


class _Numbers:
    """The numbers of a text, which are read in order."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._at = name, 0
        try:
            self._values = np.array(text.split(), np.float64)
        except ValueError as error:
            raise ValueError(f"path must be a file of numbers, got {name}: {error}") from None

    def take(self, n: int) -> FloatArray:
        taken = self._values[self._at : self._at + n]
        if len(taken) < n:
            raise ValueError(
                f"path must be a complete file, got {self._name} with {len(self._values)} numbers, which ends"
                " too early"
            )
        self._at += n
        return taken

    def one(self) -> int:
        return int(self.take(1)[0])

    @property
    def n_left(self) -> int:
        return len(self._values) - self._at


def number_problems(name: str, text: str, kind: str | None) -> list[Problem]:
    """Return the problems of a text of numbers. The format follows from `kind` or from the name."""
    if kind is None:
        found = [format_ for format_, pattern in _NAMES.items() if re.match(pattern, name.lower())]
        if not found:
            raise ValueError(
                f"kind must be one of {', '.join(_NAMES)} for a file of numbers with another name, got {name}"
            )
        kind = found[0]
    if kind not in _READERS:
        raise ValueError(f"kind must be one of {', '.join(_READERS)}, got {kind!r}")
    return _READERS[kind](name, _Numbers(name, text))


def _set_cover(name: str, numbers: _Numbers) -> list[Problem]:
    n_elements, n_sets = numbers.one(), numbers.one()
    costs = numbers.take(n_sets)
    sets: list[list[int]] = [[] for _ in range(n_sets)]
    for element in range(1, n_elements + 1):
        for column in numbers.take(numbers.one()).astype(int):
            sets[column - 1].append(element)
    return [Problem(name, "set_cover", SetCover, {"sets": sets}, given_means=costs)]


def _generalized_assignment(name: str, numbers: _Numbers) -> list[Problem]:
    problems = []
    for i in range(numbers.one()):
        agents, jobs = numbers.one(), numbers.one()
        means = numbers.take(agents * jobs)
        weights = numbers.take(agents * jobs).reshape(agents, jobs)
        given = {"weights": weights, "capacities": numbers.take(agents), "complete": True}
        problems.append(
            Problem(f"{name}[{i}]", "generalized_assignment", GeneralizedAssignment, given, given_means=means)
        )
    return problems


def _multidimensional_knapsack(name: str, numbers: _Numbers) -> list[Problem]:
    problems = []
    for i in range(numbers.one()):
        n, rows, optimum = numbers.one(), numbers.one(), float(numbers.take(1)[0])
        means = numbers.take(n)
        given = {"weights": numbers.take(n * rows).reshape(rows, n), "capacities": numbers.take(rows)}
        problems.append(
            Problem(
                f"{name}[{i}]",
                "multidimensional_knapsack",
                MultidimensionalKnapsack,
                given,
                given_means=means,
                optimum=optimum if optimum > 0.0 else None,
            )
        )
    return problems


def _assignment(name: str, numbers: _Numbers) -> list[Problem]:
    n = numbers.one()
    given = {"graph": nx.complete_bipartite_graph(n, n), "perfect": True, "sense": "min"}
    return [Problem(name, "assignment", Matching, given, given_means=numbers.take(n * n))]


def _knapsack(name: str, numbers: _Numbers) -> list[Problem]:
    """Rows of value and weight after ``n capacity [optimum]``, or numbered rows between n and capacity."""
    n = numbers.one()
    if numbers.n_left == 3 * n + 1:
        rows = numbers.take(3 * n).reshape(n, 3)[:, 1:]
        capacity, optimum = float(numbers.take(1)[0]), None
    else:
        capacity = float(numbers.take(1)[0])
        optimum = float(numbers.take(1)[0]) if numbers.n_left > 2 * n else None
        rows = numbers.take(2 * n).reshape(n, 2)
    given = {"weights": rows[:, 1], "capacity": capacity}
    return [Problem(name, "knapsack", Knapsack, given, given_means=rows[:, 0].copy(), optimum=optimum)]


_READERS: dict[str, Callable[[str, _Numbers], list[Problem]]] = {
    "set_cover": _set_cover,
    "generalized_assignment": _generalized_assignment,
    "multidimensional_knapsack": _multidimensional_knapsack,
    "assignment": _assignment,
    "knapsack": _knapsack,
}
