"""Distributions of base arms; the usual ones are `instances.BernoulliArms` and `instances.GaussianArms`."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
