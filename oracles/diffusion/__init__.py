"""Diffusion of influence: graphs as arrays, triggering models, features and groups of arcs."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
