"""The errors that tell which part of a run is finished: each keeps the results so far."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
