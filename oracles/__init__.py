"""Oracles: families of super arms, each with its approximation guarantee."""

from cmab.oracle.memoised import MemoisedOracle
from oracles.brute_force import BruteForce, BruteForceReward
from oracles.choices.assortment import Assortment
from oracles.coverage.coverage import MaxCoverage
from oracles.covers.covers import SetCover, VertexCover
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.features import edge_features
from oracles.diffusion.groups import in_degree_groups
from oracles.diffusion.triggering_models import IndependentTriggering, TriggeringModel
from oracles.flows.flows import DisjointPaths, MinCostFlow
from oracles.flows.minimum_cut import MinimumCut
from oracles.influence.adaptive import AdaptiveInfluence
from oracles.influence.base import InfluenceOracle
from oracles.influence.budget import BudgetedInfluence
from oracles.influence.cascade_logs import clcb_cascades
from oracles.influence.certificate import Certificate
from oracles.influence.deadline import DeadlineInfluence
from oracles.influence.heuristics import DegreeHeuristic, MonteCarloGreedy
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.repaired import RepairedInfluence
from oracles.influence.robust import RobustCertificate, robust_seeds
from oracles.influence.triggering import TriggeringInfluence
from oracles.lists.dependent_clicks import DependentClickLists
from oracles.lists.ranked import RankedTopK
from oracles.matroids.base import Matroid
from oracles.matroids.graphic import GraphicMatroid
from oracles.matroids.laminar import LaminarMatroid, PartitionMatroid, UniformMatroid
from oracles.matroids.linear import LinearMatroid
from oracles.matroids.transversal import TransversalMatroid
from oracles.packing.assignment import GeneralizedAssignment
from oracles.packing.knapsack import Knapsack
from oracles.packing.multidimensional import MultidimensionalKnapsack
from oracles.paths.paths import MostReliablePath, ShortestPath
from oracles.programs._mixed_integer import SolverError
from oracles.programs.linear_program import PuLPOracle, SolverCertificate
from oracles.programs.matching import Matching
from oracles.submodular.submodular import SubmodularOracle
from oracles.top_k import TopK
from oracles.trees.arborescence import Arborescence
from oracles.trees.steiner import SteinerTree

__all__ = [
    "AdaptiveInfluence",
    "Arborescence",
    "Assortment",
    "BruteForce",
    "BruteForceReward",
    "BudgetedInfluence",
    "Certificate",
    "DeadlineInfluence",
    "DegreeHeuristic",
    "DependentClickLists",
    "DirectedGraph",
    "DisjointPaths",
    "GeneralizedAssignment",
    "GraphicMatroid",
    "IndependentTriggering",
    "InfluenceMaximization",
    "InfluenceOracle",
    "Knapsack",
    "LaminarMatroid",
    "LinearMatroid",
    "Matching",
    "Matroid",
    "MaxCoverage",
    "MemoisedOracle",
    "MinCostFlow",
    "MinimumCut",
    "MonteCarloGreedy",
    "MostReliablePath",
    "MultidimensionalKnapsack",
    "PartitionMatroid",
    "PuLPOracle",
    "RankedTopK",
    "RepairedInfluence",
    "RobustCertificate",
    "SetCover",
    "ShortestPath",
    "SolverCertificate",
    "SolverError",
    "SteinerTree",
    "SubmodularOracle",
    "TopK",
    "TransversalMatroid",
    "TriggeringInfluence",
    "TriggeringModel",
    "UniformMatroid",
    "VertexCover",
    "clcb_cascades",
    "edge_features",
    "in_degree_groups",
    "robust_seeds",
]
