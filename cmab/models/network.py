"""A neural network with the uncertainty of a linear model of its gradients."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.description import described
from cmab.validation import integer, one_of, real, real_array


class NetworkRegressor:
    """A network of one hidden layer, with standard deviations and joint draws of its means.

    It follows the scikit-learn convention and needs only NumPy. The deviations are those of Bayesian linear
    regression on the gradients of the network with respect to its parameters:

    - ``gradients="last"`` uses the parameters of the last layer, whose gradients are the hidden units. The
      last layer is the posterior mean. With ``ModelPolicy(..., exploration="joint")`` this is neural-linear
      Thompson sampling.
    - ``gradients="all"`` uses all parameters. With ``exploration="optimism"`` this is CN-UCB, and with
      ``exploration="deviation"`` and several `draws` it is CN-TS.

    Parameters
    ----------
    units : int
        The number of hidden units.
    gradients : {"last", "all"}
        The parameters that are uncertain.
    penalty : float
        The precision of the prior distribution of the parameters, in units of the variance of the noise.
    steps : int
        The number of steps of Adam with all rows.
    rate : float
        The size of these steps.
    random_state : int
        The seed of the first parameters.

    Notes
    -----
    The variance of the noise is the mean squared residual. Features are standardised. The matrix of gradients
    has ``units + 1`` columns for ``"last"``, and ``units (d + 2) + 1`` for ``"all"``, and its square is
    inverted in each fit. The papers fit the network to the distance to the first parameters; this class uses
    weight decay.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.models import NetworkRegressor
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> network = NetworkRegressor(units=8).fit(X, (X[:, 0] > 0.5).astype(float))
    >>> means, deviations = network.predict(np.array([[0.1], [0.9], [5.0]]), return_std=True)
    >>> bool(means[0] < 0.3 and means[1] > 0.7 and deviations[2] > deviations[1])
    True

    References
    ----------
    T. Hwang, K. Chai, M.-H. Oh: Combinatorial Neural Bandits, ICML 2023 (CN-UCB, CN-TS). C. Riquelme,
    G. Tucker, J. Snoek: Deep Bayesian Bandits Showdown, ICLR 2018 (neural-linear). From memory.
    """

    def __init__(
        self,
        units: int = 32,
        *,
        gradients: Literal["last", "all"] = "last",
        penalty: float = 1.0,
        steps: int = 300,
        rate: float = 0.01,
        random_state: int = 0,
    ) -> None:
        self.units = integer("units", units, 1)
        self.gradients = one_of("gradients", gradients, ("last", "all"))
        self.penalty = real("penalty", penalty, 0.0, inside=True)
        self.steps = integer("steps", steps, 1)
        self.rate = real("rate", rate, 0.0, inside=True)
        self.random_state = integer("random_state", random_state, 0)

    def __repr__(self) -> str:
        return described(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters by name, as estimators of scikit-learn do."""
        names = ("units", "gradients", "penalty", "steps", "rate", "random_state")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and return the estimator."""
        type(self)(**{**self.get_params(), **params})  # checks them
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the network, then the linear model of its gradients.

        Parameters
        ----------
        X : array_like, shape (n, d)
            The features.
        y : array_like, shape (n,)
            The outcomes.
        sample_weight : array_like, shape (n,), optional
            The weight of each row.
        """
        rows, told = real_array("X", X), real_array("y", y)
        weights = np.ones(len(told)) if sample_weight is None else real_array("sample_weight", sample_weight)
        self._centre, deviations = rows.mean(axis=0), rows.std(axis=0)
        self._spread = np.where(deviations > 0.0, deviations, 1.0)
        self._mean = float(np.average(told, weights=weights))
        told = told - self._mean
        self._train(self._standard(rows), told, weights / weights.sum())
        slopes = self._slopes(rows)
        weighted = slopes.T * weights
        precision = weighted @ slopes + self.penalty * np.eye(slopes.shape[1])
        # The inverse factor of the precision turns standard normal numbers into parameters.
        self._root = np.linalg.inv(np.linalg.cholesky(precision))
        if self.gradients == "last":
            last = self._root.T @ (self._root @ (weighted @ told))
            self._last, self._offset = last[:-1], float(last[-1])
        residuals = told - self._output(rows)
        self._noise = max(float(np.average(residuals**2, weights=weights)), 1e-12)
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return the mean of each row; with `return_std`, also its standard deviation.

        Parameters
        ----------
        X : array_like, shape (n, d)
            The features.
        return_std : bool
            Whether to return the standard deviations of the means.
        """
        rows = real_array("X", X)
        means = self._mean + self._output(rows)
        if not return_std:
            return means
        turned = self._slopes(rows) @ self._root.T
        return means, np.sqrt(self._noise * np.einsum("ij,ij->i", turned, turned))

    def sample_y(self, X: ArrayLike, random_state: int = 0) -> FloatArray:
        """Return one draw of the means of all rows from their joint distribution, shape (n,).

        Parameters
        ----------
        X : array_like, shape (n, d)
            The features.
        random_state : int
            The seed of the draw.
        """
        rows = real_array("X", X)
        drawn = np.random.default_rng(random_state).standard_normal(len(self._root))
        parameters = self._root.T @ drawn * np.sqrt(self._noise)
        values: FloatArray = self._mean + self._output(rows) + self._slopes(rows) @ parameters
        return values

    def _standard(self, rows: FloatArray) -> FloatArray:
        standard: FloatArray = (rows - self._centre) / self._spread
        return standard

    def _hidden(self, rows: FloatArray) -> FloatArray:
        hidden: FloatArray = np.maximum(self._standard(rows) @ self._first + self._bias, 0.0)
        return hidden

    def _output(self, rows: FloatArray) -> FloatArray:
        output: FloatArray = self._hidden(rows) @ self._last + self._offset
        return output

    def _slopes(self, rows: FloatArray) -> FloatArray:
        """Return the gradient of the output of each row with respect to the uncertain parameters."""
        hidden, n = self._hidden(rows), len(rows)
        parts = [hidden, np.ones((n, 1))]
        if self.gradients == "all":
            back = (hidden > 0.0) * self._last
            inner = self._standard(rows)[:, :, None] * back[:, None, :]
            parts += [back, inner.reshape(n, -1)]
        return np.hstack(parts)

    def _train(self, rows: FloatArray, told: FloatArray, weights: FloatArray) -> None:
        """Minimise the weighted squared error with weight decay by Adam (Kingma and Ba 2015)."""
        rng, d = np.random.default_rng(self.random_state), rows.shape[1]
        first = rng.standard_normal((d, self.units)) * np.sqrt(2.0 / d)
        last = rng.standard_normal(self.units) / np.sqrt(self.units)
        parts = [first, rng.uniform(-1.0, 1.0, self.units), last, np.zeros(1)]
        decay = self.penalty * 1e-2 / len(told)
        moments = [(np.zeros_like(part), np.zeros_like(part)) for part in parts]
        for step in range(1, self.steps + 1):
            first, bias, last, offset = parts
            hidden = np.maximum(rows @ first + bias, 0.0)
            errors = 2.0 * weights * (hidden @ last + offset[0] - told)
            back = (hidden > 0.0) * np.outer(errors, last)
            slopes = [rows.T @ back, back.sum(axis=0), hidden.T @ errors, np.array([errors.sum()])]
            for part, slope, (mean, square) in zip(parts, slopes, moments, strict=True):
                slope += decay * part
                mean += 0.1 * (slope - mean)
                square += 0.001 * (slope**2 - square)
                ahead = mean / (1.0 - 0.9**step)
                part -= self.rate * ahead / (np.sqrt(square / (1.0 - 0.999**step)) + 1e-8)
        self._first, self._bias, self._last, self._offset = *parts[:3], float(parts[3][0])
