"""Readers of network files in many formats, with names of nodes and probabilities or weights."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
