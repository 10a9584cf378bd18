"""Oracles for influence maximisation: certificates, budgets, deadlines and reports of people."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
