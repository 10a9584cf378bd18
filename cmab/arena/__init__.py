"""The arena: all policies on many problems, with instances drawn anew in every replication."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
