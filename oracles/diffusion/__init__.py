"""How influence spreads: graphs as arrays, models of triggering, features and groups of arcs."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
