"""Networks of anybody's: files of many forms, with names, and what their columns say."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
