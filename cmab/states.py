"""The memories of policies: statistics of the arms, and what else a policy keeps from round to round."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
