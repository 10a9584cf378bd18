"""Small estimators of the scikit-learn convention, in NumPy."""

import numpy as np


class LeastSquares:
    """Ridge regression with an intercept."""

    def __init__(self, ridge=1.0):
        self.ridge = ridge

    def __repr__(self):
        return f"{type(self).__name__}(ridge={self.ridge})"

    def fit(self, X, y, sample_weight=None):
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        rows = np.column_stack([X, np.ones(len(X))])
        precision = (rows * weights[:, None]).T @ rows + self.ridge * np.eye(rows.shape[1])
        self.coefficients = np.linalg.solve(precision, rows.T @ (weights * y))
        return self

    def predict(self, X):
        return np.column_stack([X, np.ones(len(X))]) @ self.coefficients


class Constant:
    """The mean outcome, whatever the features are; without weights."""

    def fit(self, X, y):
        self.mean = float(np.mean(y))

    def predict(self, X):
        return np.full(len(X), self.mean)


class Coin:
    """A classifier: the share of ones, with classes as scikit-learn has them."""

    def fit(self, X, y, sample_weight=None):
        assert y.dtype == np.int64
        self.classes_ = np.unique(y)
        self.share = float(np.average(y, weights=sample_weight))

    def predict_proba(self, X):
        return np.column_stack([np.full(len(X), 1.0 - self.share), np.full(len(X), self.share)])
