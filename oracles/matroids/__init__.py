"""Matroids: families in which greedy is exact. Spanning forests are `oracles.GraphicMatroid`."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
