from cmab.oracle.memoised import MemoisedOracle as MemoisedOracle
from oracles import diffusion as diffusion
from oracles import flows as flows
from oracles import influence as influence
from oracles import lists as lists
from oracles import matroids as matroids
from oracles import packing as packing
from oracles import programs as programs
from oracles import stores as stores
from oracles.brute_force import BruteForce as BruteForce
from oracles.choices.assortment import Assortment as Assortment
from oracles.coverage.coverage import MaxCoverage as MaxCoverage
from oracles.covers.covers import SetCover as SetCover
from oracles.covers.covers import VertexCover as VertexCover
from oracles.diffusion import *
from oracles.flows import *
from oracles.flows.flows import DisjointPaths as DisjointPaths
from oracles.flows.flows import MinCostFlow as MinCostFlow
from oracles.flows.minimum_cut import MinimumCut as MinimumCut
from oracles.influence import *
from oracles.lists import *
from oracles.matroids import *
from oracles.matroids.graphic import GraphicMatroid as GraphicMatroid
from oracles.packing import *
from oracles.packing.knapsack import Knapsack as Knapsack
from oracles.paths.paths import MostReliablePath as MostReliablePath
from oracles.paths.paths import ShortestPath as ShortestPath
from oracles.programs import *
from oracles.programs.linear_program import PuLPOracle as PuLPOracle
from oracles.programs.matching import Matching as Matching
from oracles.stores import *
from oracles.submodular.submodular import SubmodularOracle as SubmodularOracle
from oracles.top_k import TopK as TopK
from oracles.trees.arborescence import Arborescence as Arborescence
from oracles.trees.steiner import SteinerTree as SteinerTree
