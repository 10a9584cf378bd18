"""Oracles: families of super arms, each with its approximation guarantee."""

from oracles.directed_graph import DirectedGraph
from oracles.influence import InfluenceMaximization
from oracles.influence_certificate import Certificate
from oracles.top_k import TopK

__all__ = ["Certificate", "DirectedGraph", "InfluenceMaximization", "TopK"]
