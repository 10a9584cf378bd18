"""Backbone networks of SNDlib, and delays on them."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import numpy as np

from cmab.validation import one_of
from instances.arms.bounded import BetaArms
from instances.arms.semi_bandit import SemiBandit
from instances.datasets.sources import DATASETS, AnyPath, whole
from oracles import ShortestPath

#: The networks by name.
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
# Beta outcomes with these many pseudo-rounds: a standard deviation of at most 0.15.
_CONCENTRATION = 10.0
_LONGEST = 0.8


def network(name: str = "nobel-germany", *, file: AnyPath | None = None) -> nx.Graph[str]:
    """Return a network of SNDlib.

    Parameters
    ----------
    name : str
        One of `NETWORKS`.
    file : str or path-like, optional
        The wheel of ``topohub``, or the JSON file; looked for as in `DataSet.read` if left out.

    Returns
    -------
    networkx.Graph
        Nodes are the names of places, with ``pos`` (longitude, latitude); edges have their ``length``, by
        the distance of the places. In some networks the places are made up (a picture's coordinates), so
        that only ratios of lengths say something: all of atlanta, di-yuan, france, giul39, newyork, norway,
        pioro40, sun, ta1, ta2 and zib54, of which links are 18,000 long.

    Raises
    ------
    ValueError
        If there is no network of this name, or the file is damaged or another one.
    FileNotFoundError
        If there is no file; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import network
    >>> try:
    ...     graph = network("nobel-germany")
    ... except FileNotFoundError as error:  # says what to install
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
        raise ValueError("places must have different names, and links finite lengths, got others, or none")
    return graph


def delays(graph: nx.Graph[Any], source: str, target: str) -> SemiBandit:
    """Return routes through a network whose links are slow in proportion to their lengths, with noise.

    The delay of a link is Beta distributed in [0, 1]; its mean is 0.8 for the longest link and proportional
    to ``length``, its law made up: the data has lengths, no delays. Arm i is the i-th edge of
    ``graph.edges``.

    Parameters
    ----------
    graph : networkx.Graph
        A network whose edges have a positive ``length``.
    source, target : str
        The ends of a route.

    Raises
    ------
    ValueError
        If a length is missing or not positive, or an end is none of the nodes.

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
        raise ValueError("edges must have a positive length, got some without")
    means = _LONGEST * lengths / lengths.max()
    arms = BetaArms(_CONCENTRATION * means, _CONCENTRATION * (1.0 - means))
    return SemiBandit(arms, ShortestPath(graph, source, target))
