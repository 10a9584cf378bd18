"""Oracles: families of super arms, each with its approximation guarantee."""

from oracles.top_k import TopK

__all__ = ["TopK"]
