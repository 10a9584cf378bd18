"""Policies with any estimator of the scikit-learn convention as the model of the means, and estimators."""

from cmab.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
