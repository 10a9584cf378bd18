"""The problems and entries of the arena, ``cmab arena``."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
