"""Solver certificates and solver errors; the oracles are `oracles.PuLPOracle` and `oracles.Matching`."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
