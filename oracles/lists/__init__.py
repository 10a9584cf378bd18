"""Ordered lists of arms, of which a user looks at the first ones."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
