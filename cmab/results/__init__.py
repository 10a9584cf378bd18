"""What `simulate` and `identify` give back, and the tables that sum it up."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
