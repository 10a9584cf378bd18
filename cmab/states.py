"""The states of policies: statistics of the arms and other data that policies keep between rounds."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
