"""Worlds beyond a plain semi-bandit: that change, lie, use up resources, choose, click or have deadlines."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
