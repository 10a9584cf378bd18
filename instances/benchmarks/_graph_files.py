"""Graphs in the formats of DIMACS, PACE and SteinLib."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from instances.benchmarks.problem import Problem
from oracles import CapacitatedFlow, DirectedGraph, MinimumCut, ShortestPath, SteinerTree, VertexCover


def graph_problem(name: str, text: str) -> Problem | None:
    """Return the problem of a text in a format of graphs, or None if it has none of these formats."""
    if "SECTION" in text.upper():
        return _steiner(name, text)
    header = next((words for words in _words(text) if words[0].lower() == "p"), None)
    if header is None or len(header) < 4:
        return _pairs(name, text)
    kind, rows = header[1].lower(), [words for words in _words(text) if words[0].lower() != "p"]
    if kind == "sp":
        return _arcs(name, "shortest_path", ShortestPath, rows, int(header[2]), 3)
    if kind == "max":
        return _arcs(name, "minimum_cut", MinimumCut, rows, int(header[2]), 3)
    if kind == "min":
        return _arcs(name, "min_cost_flow", CapacitatedFlow, rows, int(header[2]), 5)
    if kind in ("edge", "col", "td"):
        graph: nx.Graph[Any] = nx.empty_graph(range(1, int(header[2]) + 1))
        graph.add_edges_from((int(words[-2]), int(words[-1])) for words in rows if words[0] != "n")
        return _cover(name, graph)
    raise ValueError(f"path must be a file of a known format, got {name} with header {' '.join(header)!r}")


def _words(text: str) -> Iterator[list[str]]:
    """Yield the words of each line that is neither empty nor a comment."""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].lower() != "c":
            yield words


def _steiner(name: str, text: str) -> Problem:
    """Return the problem of SteinLib's format, with lines ``E u v cost`` and ``T node``."""
    graph: nx.Graph[Any] = nx.MultiGraph()
    terminals = []
    for words in _words(text):
        if words[0].upper() in ("E", "A") and len(words) == 4:
            graph.add_edge(int(words[1]), int(words[2]), weight=float(words[3]))
        elif words[0].upper() == "T" and len(words) == 2:
            terminals.append(int(words[1]))
    if graph.number_of_edges() == len({frozenset(edge[:2]) for edge in graph.edges}):
        graph = nx.Graph(graph)
    return Problem(name, "steiner_tree", SteinerTree, {"graph": graph, "terminals": terminals})


def _arcs(name: str, kind: str, oracle: Any, rows: list[list[str]], n_nodes: int, width: int) -> Problem:
    """Return a problem on a directed graph, with lines ``a tail head ...`` and ``n node role``."""
    arcs = np.array([words[1:] for words in rows if words[0] == "a"], np.float64).reshape(-1, width)
    arcs = arcs[arcs[:, 0] != arcs[:, 1]]
    ends = arcs[:, :2].astype(np.int64) - 1
    graph = DirectedGraph.from_edges(ends[:, 0], ends[:, 1], n_nodes=n_nodes, labels=range(1, n_nodes + 1))
    given: dict[str, Any] = {"graph": graph}
    roles = [(int(words[1]), words[2]) for words in rows if words[0] == "n"]
    if kind == "min_cost_flow":
        given["demand"] = {node: -int(units) for node, units in roles}
        given |= {"lower": arcs[:, 2].astype(np.int64), "capacity": arcs[:, 3].astype(np.int64)}
    elif roles:
        ends_of = {role: node for node, role in roles}
        given |= {"source": ends_of["s"], "target": ends_of["t"]}
    return Problem(name, kind, oracle, given, given_means=arcs[:, -1])


def _pairs(name: str, text: str) -> Problem | None:
    """Return the problem of a list of edges that begins with the numbers of nodes and edges."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    is_list = len(rows) > 1 and all(len(row) == 2 and row[0].isdigit() and row[1].isdigit() for row in rows)
    if not is_list or int(rows[0][1]) != len(rows) - 1:
        return None
    graph: nx.Graph[Any] = nx.empty_graph(range(1, int(rows[0][0]) + 1))
    graph.add_edges_from((int(u), int(v)) for u, v in rows[1:])
    # A knapsack has as many rows as its first number, so only the second number tells a graph.
    return _cover(name, graph) if len(graph) == int(rows[0][0]) else None


def _cover(name: str, graph: nx.Graph[Any]) -> Problem:
    return Problem(name, "graph", VertexCover, {"graph": graph}, given_means=np.ones(len(graph)))
