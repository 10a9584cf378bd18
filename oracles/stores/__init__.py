"""Graph stores: folders of arrays that are mapped into memory, and their conversion from files of edges."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
