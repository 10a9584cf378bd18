"""Campaigns, which identify arms by name and store every event in a database."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
