"""Logs of anything: read from tables, and what another rule would have earned on them."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
