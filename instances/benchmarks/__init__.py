"""Readers of files of public benchmark instances: DIMACS, PACE, STP and OR-Library."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
