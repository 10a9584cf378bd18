"""Logs: reading them, the value of another policy (off-policy evaluation), and a start from a log."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
