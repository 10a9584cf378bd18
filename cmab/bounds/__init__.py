"""Bounds: confidence radii and sequences, hardness, regret and samples of rules, and certificates."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
