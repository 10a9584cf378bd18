"""Results of `simulate` and `identify`, and the tables that summarise them."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
