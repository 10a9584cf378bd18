"""Campaigns that speak names, and the journal of events underneath them."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
