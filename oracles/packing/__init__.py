"""Sets that keep several capacities. One capacity is `oracles.Knapsack`."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
