"""Policies that minimise regret, one family of policies in each file."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
