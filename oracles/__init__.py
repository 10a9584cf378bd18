"""Oracles for families of super arms, each with an approximation guarantee.

This module exports the oracles that most programs need. The other oracles are in `oracles.influence`,
`oracles.stores`, `oracles.flows`, `oracles.matroids`, `oracles.packing`,
`oracles.programs` and `oracles.lists`.
"""

from cmab.namespaces import attach

_SHOWN = """
    Arborescence Assortment BruteForce DisjointPaths GraphicMatroid InfluenceMaximization
    Knapsack Matching MaxCoverage MemoisedOracle MinCostFlow MinimumCut MostReliablePath PuLPOracle SetCover
    ShortestPath SteinerTree SubmodularOracle TopK VertexCover
    flows influence lists matroids packing programs stores
"""

__getattr__, __dir__, __all__ = attach(__name__, _SHOWN.split())
