"""Oracles for integral flows with several units on an arc. For other flows see `oracles.MinCostFlow`."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
