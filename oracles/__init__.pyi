from cmab.oracle.certificate import SolverCertificate as SolverCertificate
from cmab.oracle.memoised import MemoisedOracle as MemoisedOracle
from oracles import flows as flows
from oracles import influence as influence
from oracles import lists as lists
from oracles import matroids as matroids
from oracles import packing as packing
from oracles import programs as programs
from oracles import stores as stores
from oracles.anytime import SolverError as SolverError
from oracles.arborescences import Arborescence as Arborescence
from oracles.brute_force import BruteForce as BruteForce
from oracles.choices import Assortment as Assortment
from oracles.coverage import MaxCoverage as MaxCoverage
from oracles.covers import SetCover as SetCover
from oracles.covers import VertexCover as VertexCover
from oracles.cuts import MinimumCut as MinimumCut
from oracles.flows import CapacitatedFlow as CapacitatedFlow
from oracles.flows import DisjointPaths as DisjointPaths
from oracles.flows import MinCostFlow as MinCostFlow
from oracles.influence import *
from oracles.lists import DependentClickLists as DependentClickLists
from oracles.lists import RankedTopK as RankedTopK
from oracles.lists import Slate as Slate
from oracles.matchings import Matching as Matching
from oracles.matroids import GraphicMatroid as GraphicMatroid
from oracles.matroids import LaminarMatroid as LaminarMatroid
from oracles.matroids import LinearMatroid as LinearMatroid
from oracles.matroids import Matroid as Matroid
from oracles.matroids import PartitionMatroid as PartitionMatroid
from oracles.matroids import TransversalMatroid as TransversalMatroid
from oracles.matroids import UniformMatroid as UniformMatroid
from oracles.packing import GeneralizedAssignment as GeneralizedAssignment
from oracles.packing import Knapsack as Knapsack
from oracles.packing import MultidimensionalKnapsack as MultidimensionalKnapsack
from oracles.paths import MostReliablePath as MostReliablePath
from oracles.paths import ShortestPath as ShortestPath
from oracles.programs import PuLPOracle as PuLPOracle
from oracles.steiner_trees import SteinerTree as SteinerTree
from oracles.stores import *
from oracles.submodular import SubmodularOracle as SubmodularOracle
from oracles.top_k import TopK as TopK

BruteForceReward = BruteForce
