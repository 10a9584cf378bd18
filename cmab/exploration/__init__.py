"""Explorers, one paper or family a file."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
