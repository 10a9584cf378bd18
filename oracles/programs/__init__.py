"""Certificates and errors of solvers. The oracles of integer programs are `oracles.PuLPOracle` and `oracles.Matching`."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
