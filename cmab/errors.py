"""The errors that are raised when part of a run has finished; each contains the results so far."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
