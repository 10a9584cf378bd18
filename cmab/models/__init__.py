"""Policies with any estimator of the scikit-learn convention as the model of the means."""
