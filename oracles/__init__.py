"""Oracles: families of super arms, each with its approximation guarantee."""

from oracles._mixed_integer import SolverError
from oracles.brute_force import BruteForce, BruteForceReward
from oracles.coverage import MaxCoverage
from oracles.directed_graph import DirectedGraph
from oracles.graphic_matroid import GraphicMatroid
from oracles.influence import InfluenceMaximization
from oracles.influence_budget import BudgetedInfluence
from oracles.influence_certificate import Certificate
from oracles.influence_heuristics import DegreeHeuristic, MonteCarloGreedy
from oracles.influence_repaired import RepairedInfluence
from oracles.laminar_matroids import LaminarMatroid, PartitionMatroid, UniformMatroid
from oracles.linear_matroid import LinearMatroid
from oracles.linear_program import PuLPOracle, SolverCertificate
from oracles.matching import Matching
from oracles.matroids import Matroid
from oracles.paths import MostReliablePath, ShortestPath
from oracles.top_k import TopK
from oracles.transversal_matroid import TransversalMatroid
from oracles.triggering import TriggeringInfluence
from oracles.triggering_models import IndependentTriggering, TriggeringModel

__all__ = [
    "BruteForce",
    "BruteForceReward",
    "BudgetedInfluence",
    "Certificate",
    "DegreeHeuristic",
    "DirectedGraph",
    "GraphicMatroid",
    "IndependentTriggering",
    "InfluenceMaximization",
    "LaminarMatroid",
    "LinearMatroid",
    "Matching",
    "Matroid",
    "MaxCoverage",
    "MonteCarloGreedy",
    "MostReliablePath",
    "PartitionMatroid",
    "PuLPOracle",
    "RepairedInfluence",
    "ShortestPath",
    "SolverCertificate",
    "SolverError",
    "TopK",
    "TransversalMatroid",
    "TriggeringInfluence",
    "TriggeringModel",
    "UniformMatroid",
]
