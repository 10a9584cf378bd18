"""Matroid oracles, exact by the greedy algorithm; for spanning forests see `oracles.GraphicMatroid`."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
