"""Logs from tables, and estimates of the rewards of other policies from logs."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
