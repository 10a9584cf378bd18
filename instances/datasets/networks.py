"""Backbone networks of SNDlib, and shortest paths by delay on them."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import numpy as np

from cmab.validation import one_of
from instances.arms import BetaArms, SemiBandit
from instances.datasets.sources import DATASETS, AnyPath, whole
from oracles import ShortestPath

#: The names of the networks.
NETWORKS = (
    "abilene",
    "atlanta",
    "brain",
    "cost266",
    "dfn-bwin",
    "dfn-gwin",
    "di-yuan",
    "france",
    "geant",
    "germany50",
    "giul39",
    "india35",
    "janos-us",
    "janos-us-ca",
    "newyork",
    "nobel-eu",
    "nobel-germany",
    "nobel-us",
    "norway",
    "pdh",
    "pioro40",
    "polska",
    "sun",
    "ta1",
    "ta2",
    "zib54",
)
# Sum of the two parameters of each Beta distribution; standard deviations are then at most 0.15.
_CONCENTRATION = 10.0
_LONGEST = 0.8


def network(name: str = "nobel-germany", *, file: AnyPath | None = None) -> nx.Graph[str]:
    """Return a network of SNDlib.

    Parameters
    ----------
    name : str
        A name in `NETWORKS`.
    file : str or path-like, optional
        The wheel of ``topohub``, or the JSON file. If omitted, `DataSet.read` searches for it.

    Returns
    -------
    networkx.Graph
        The network. Nodes are names of places and have the attribute ``pos`` (longitude, latitude). Edges
        have the attribute ``length``, the distance between their places. In atlanta, di-yuan, france, giul39,
        newyork, norway, pioro40, sun, ta1, ta2 and zib54, coordinates are those of a picture, so only ratios
        of lengths are meaningful (a length may be 18,000).

    Raises
    ------
    ValueError
        If `name` is not in `NETWORKS`, or if the file is damaged or another file.
    FileNotFoundError
        If the file is not found; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import network
    >>> try:
    ...     graph = network("nobel-germany")
    ... except FileNotFoundError as error:  # names the package to install
    ...     graph = None
    """
    one_of("name", name, NETWORKS)
    with whole("sndlib", file):
        return _network(name, file)


def _network(name: str, file: AnyPath | None) -> nx.Graph[str]:
    read: dict[str, Any] = json.loads(DATASETS["sndlib"].read(f"{name}.json", file))
    graph: nx.Graph[str] = nx.Graph(name=name)
    names = {}
    for node in read["nodes"]:
        names[node["id"]] = node["name"]
        graph.add_node(node["name"], pos=tuple(node["pos"]))
    for edge in read["edges"]:
        graph.add_edge(names[edge["source"]], names[edge["target"]], length=float(edge["dist"]))
    lengths = [float(edge["dist"]) for edge in read["edges"]]
    if len(graph) < len(read["nodes"]) or not (np.isfinite(lengths).all() and len(lengths)):
        raise ValueError("nodes must have different names and edges finite lengths, got others, or no edges")
    return graph


def delays(graph: nx.Graph[Any], source: str, target: str) -> SemiBandit:
    """Return the problem of the fastest route through a network, with random delays of its links.

    The delay of a link has a Beta distribution on [0, 1]. Its mean is proportional to ``length``, and 0.8 for
    the longest link. The distribution is made up, because the data contains lengths but no delays. Arm i is
    the i-th edge of ``graph.edges``.

    Parameters
    ----------
    graph : networkx.Graph
        A network with a positive attribute ``length`` of all edges.
    source, target : str
        The first and the last node of a route.

    Raises
    ------
    ValueError
        If a length is missing or not positive, or if `source` or `target` is not a node.

    Examples
    --------
    >>> import networkx as nx
    >>> from instances.datasets import delays
    >>> graph = nx.Graph()
    >>> graph.add_edge("Bonn", "Trier", length=100.0)
    >>> graph.add_edge("Trier", "Ulm", length=200.0)
    >>> delays(graph, "Bonn", "Ulm").means
    array([0.4, 0.8])
    """
    given: Any = graph.edges(data="length")
    lengths = np.array([float(length or 0.0) for *_, length in given])
    if not ((lengths > 0.0) & (lengths < np.inf)).all():
        raise ValueError("edges must have a positive and finite length, got edges without")
    means = _LONGEST * lengths / lengths.max()
    arms = BetaArms(_CONCENTRATION * means, _CONCENTRATION * (1.0 - means))
    return SemiBandit(arms, ShortestPath(graph, source, target))
