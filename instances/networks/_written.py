"""Formats of networkx and other programs: GraphML, GML, GEXF, Pajek, JSON, adjacency lists, graph6."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from cmab.validation import shown
from instances.networks._edge_table import EdgeTable

# Attributes that give the names of nodes, if all nodes have them and they are different.
_NAMES = ("label", "name", "v_name")


class _OtherJSONError(Exception):
    """JSON that is not a network."""


def form_of(file: Path, text: str) -> str | None:
    """Return the format of a file by its first characters or else by its suffix; None for columns."""
    start = text[:2000].lstrip().lower()
    for form, is_it in (
        ("GraphML", start.startswith("<") and "<graphml" in start),
        ("GEXF", start.startswith("<") and "<gexf" in start),
        ("Pajek", start.startswith(("*vertices", "*network"))),
        ("JSON", start.startswith("{")),
        ("graph6", start.startswith(">>graph6<<")),
    ):
        if is_it:
            return form
    if any(line.strip().startswith("graph [") for line in start.split("\n")[:20]):
        return "GML"
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() != ".gz"]
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def written(file: Path, text: str, form: str) -> EdgeTable:
    """Return the edges of a file in one of these formats.

    Raises
    ------
    ValueError
        If the file does not have this format. The message is that of the reader, which often names the line.
    """
    try:
        graph = _READERS[form](text)
    except _OtherJSONError as error:
        raise ValueError(f"{file} must be {error}") from None
    except Exception as error:  # readers raise many types of exceptions for damaged files
        raise ValueError(
            f"{file} must be {form}, got {type(error).__name__}: {error}; export it again, or as an edge list"
            " with two names per line"
        ) from None
    names = _names(graph)
    edges = list(graph.edges(data=True))
    keys = dict.fromkeys(key for *_, data in edges for key in data)
    return EdgeTable(
        file=file,
        form=form,
        ends=[(names[u], names[v]) for u, v, _ in edges],
        places=[f"edge {names[u]} - {names[v]}" for u, v, _ in edges],
        # The ids that GraphML gives to edges are not a column of the user.
        columns={str(key): [data.get(key) for *_, data in edges] for key in keys if key != "id"},
        nodes=[names[node] for node in graph],
        directed=None if form == "adjacency list" else graph.is_directed(),
        why=f"the format {form} states it",
    )


def _names(graph: Any) -> dict[Hashable, Hashable]:
    for attribute in _NAMES:
        found = dict(graph.nodes(data=attribute))
        are_names = found and all(isinstance(name, str) and name for name in found.values())
        if are_names and len(set(found.values())) == len(found):
            return found
    return {node: node for node in graph}


def _gml(text: str) -> Any:
    import networkx as nx

    try:
        return nx.parse_gml(text)
    except nx.NetworkXError as error:
        if "label" not in str(error):
            raise
        return nx.parse_gml(text, label="id")


def _json(text: str) -> Any:
    import networkx as nx

    data = json.loads(text)
    is_table = isinstance(data, dict)
    nodes, links = (data.get("nodes"), data.get("links", data.get("edges"))) if is_table else (None, None)
    if not (_are_tables(nodes) and _are_tables(links, "source", "target")):
        raise _OtherJSONError(
            "JSON with lists of nodes and of links (or edges) from a source to a target, "
            f"as networkx writes it, got {shown(data)}"
        )
    return nx.node_link_graph(data, edges="links" if "links" in data else "edges")


def _are_tables(found: object, *keys: str) -> bool:
    return isinstance(found, list) and all(isinstance(table, dict) and {*keys} <= {*table} for table in found)


def _by(name: str, take: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        import networkx as nx

        return getattr(nx, name)(take(text))

    return read


_READERS: dict[str, Callable[[str], Any]] = {
    "GraphML": _by("read_graphml", lambda text: io.BytesIO(text.encode())),
    "GEXF": _by("read_gexf", lambda text: io.BytesIO(text.encode())),
    "GML": _gml,
    "Pajek": _by("parse_pajek", lambda text: text.split("\n")),
    "JSON": _json,
    "graph6": _by("from_graph6_bytes", lambda text: text.strip().encode()),
    "adjacency list": _by("parse_adjlist", lambda text: text.split("\n")),
}
_SUFFIXES = {
    ".graphml": "GraphML",
    ".gexf": "GEXF",
    ".gml": "GML",
    ".net": "Pajek",
    ".pajek": "Pajek",
    ".json": "JSON",
    ".g6": "graph6",
    ".adjlist": "adjacency list",
}
