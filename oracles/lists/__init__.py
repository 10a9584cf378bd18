"""Oracles for ordered lists of arms, of which a user examines the first entries."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
