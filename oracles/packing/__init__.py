"""Packing oracles: sets of arms within several capacities. For one capacity see `oracles.Knapsack`."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
