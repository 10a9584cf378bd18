"""Campaigns, which identify arms by name, and the journals in which they record their events."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
