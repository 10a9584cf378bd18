"""Explorers: policies that sample base arms to identify the best ones."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
