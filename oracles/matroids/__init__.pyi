from oracles.matroids.base import Matroid as Matroid
from oracles.matroids.laminar import LaminarMatroid as LaminarMatroid
from oracles.matroids.laminar import PartitionMatroid as PartitionMatroid
from oracles.matroids.laminar import UniformMatroid as UniformMatroid
from oracles.matroids.linear import LinearMatroid as LinearMatroid
from oracles.matroids.transversal import TransversalMatroid as TransversalMatroid
