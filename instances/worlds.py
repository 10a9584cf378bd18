"""Environments other than plain semi-bandits: changing, corrupted, with resources, choices or clicks."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
