"""Oracles: families of super arms, each with its approximation guarantee.

This module holds the names that most programs need. All others are in `oracles.influence`,
`oracles.diffusion`, `oracles.matroids`, `oracles.packing`, `oracles.programs` and `oracles.lists`.
"""

from cmab.namespaces import attach

_SHOWN = """
    Arborescence Assortment BruteForce DisjointPaths GraphicMatroid InfluenceMaximization Knapsack
    Matching MaxCoverage MemoisedOracle MinCostFlow MinimumCut MostReliablePath PuLPOracle SetCover
    ShortestPath SteinerTree SubmodularOracle TopK VertexCover
    diffusion influence lists matroids packing programs
"""

__getattr__, __dir__, __all__ = attach(__name__, _SHOWN.split())
