"""A model of clicks: the examination of the position times the relevance of the item."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from cmab.arrays import ArrayLike, FloatArray
from cmab.models import estimators
from cmab.validation import integer, real_array, vector


class PositionBased:
    """A model of outcomes that are the effect of a position times the relevance of an item.

    The last columns of the features are indicators of the positions, as `Slate.pair_features` adds them. The
    estimator predicts the relevance from the other columns. If the effects are unknown, they are fitted as
    well, relative to the first position.

    Parameters
    ----------
    estimator : object
        A regressor with ``fit(X, y, sample_weight)`` and ``predict(X)``.
    positions : int
        The number of positions, at least 1.
    examination : array_like, shape (positions,), optional
        The known effects of the positions, above 0.
    repeats : int
        How often the fits of relevance and effects alternate if the effects are unknown.

    Raises
    ------
    TypeError
        If the estimator is no regressor with ``sample_weight``.
    ValueError
        If a parameter is out of its range, or the features have no indicators of positions.

    Notes
    -----
    The squared error is ``(y - e r)^2 = e^2 (y / e - r)^2`` for an effect e and a relevance r. The relevance
    is therefore fitted to y / e with weights e^2, and the effects are least squares for given relevance.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.models import NetworkRegressor, PositionBased
    >>> places = np.tile(np.eye(2), (50, 1))
    >>> X = np.hstack([np.repeat([[0.0], [1.0]], 50, axis=0), places])
    >>> y = (0.2 + 0.6 * X[:, 0]) * np.where(places[:, 1] == 1, 0.5, 1.0)
    >>> model = PositionBased(NetworkRegressor(units=4), positions=2).fit(X, y)
    >>> model.effects.round(2).tolist()
    [1.0, 0.5]

    References
    ----------
    M. Richardson, E. Dominowska, R. Ragno: Predicting Clicks, WWW 2007, for the model. The alternating least
    squares are ours.
    """

    def __init__(
        self,
        estimator: Any,
        positions: int,
        *,
        examination: ArrayLike | None = None,
        repeats: int = 5,
    ) -> None:
        estimators.check_estimator("estimator", estimator)
        if estimators.is_classifier(estimator) or not estimators.takes(estimator.fit, "sample_weight"):
            raise TypeError(
                "estimator must be a regressor with fit(X, y, sample_weight) and predict(X), got"
                f" {estimators.named(estimator)}; use a regressor, such as HistGradientBoostingRegressor()"
            )
        self.estimator, self.positions = estimator, integer("positions", positions, 1)
        self.examination: FloatArray | None = None
        if examination is not None:
            self.examination = vector("examination", examination, self.positions, 0.0)
            if not (self.examination > 0.0).all():
                raise ValueError(f"examination must be above 0, got {self.examination.min():g}")
        self.repeats = integer("repeats", repeats, 1)

    def __repr__(self) -> str:
        known = None if self.examination is None else self.examination.tolist()
        return (
            f"PositionBased({self.estimator!r}, positions={self.positions}, examination={known},"
            f" repeats={self.repeats})"
        )

    @property
    def joint_columns(self) -> int:
        """The number of last columns that artificial rows copy together: the indicators of positions."""
        return self.positions

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, with those of the estimator as ``estimator__name``."""
        params = {name: getattr(self, name) for name in ("estimator", "positions", "examination", "repeats")}
        if deep and hasattr(self.estimator, "get_params"):
            params |= {f"estimator__{name}": value for name, value in self.estimator.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and return the estimator."""
        inner = {k.removeprefix("estimator__"): v for k, v in params.items() if k.startswith("estimator__")}
        for name, value in params.items():
            if not name.startswith("estimator__"):
                setattr(self, name, value)
        if inner:
            self.estimator.set_params(**inner)
        return self

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the relevance and, if they are unknown, the effects of the positions.

        Parameters
        ----------
        X : array_like, shape (n, d + positions)
            The features, with indicators of the positions in the last columns.
        y : array_like, shape (n,)
            The outcomes.
        sample_weight : array_like, shape (n,), optional
            The weight of each row.
        """
        rows, places = self._split(X)
        told = real_array("y", y)
        weights = np.ones(len(told)) if sample_weight is None else real_array("sample_weight", sample_weight)
        effects = self._first_effects(places, told, weights)
        for _ in range(1 if self.examination is not None else self.repeats):
            seen = places @ effects
            self.model = copy.deepcopy(self.estimator)
            self.model.fit(rows, told / seen, sample_weight=weights * seen**2)
            if self.examination is not None:
                break
            effects = self._refined(places, told, weights, np.asarray(self.model.predict(rows)), effects)
        self.effects = effects
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the effect of the position times the relevance, for each row.

        Parameters
        ----------
        X : array_like, shape (n, d + positions)
            The features.
        """
        rows, places = self._split(X)
        values: FloatArray = np.asarray(self.model.predict(rows)) * (places @ self.effects)
        return values

    def _split(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the features of the items, and the indicators of the positions."""
        rows, k = real_array("X", X), self.positions
        places = rows[:, -k:]
        is_one = rows.shape[1] > k and bool(np.isin(places, (0.0, 1.0)).all())
        if not is_one or not (places.sum(axis=1) == 1.0).all():
            raise ValueError(
                f"X must have features of items and then {k} indicators of the position, got"
                f" shape {rows.shape} without them; use Slate.pair_features(features) without examination"
            )
        return rows[:, :-k], places

    def _first_effects(self, places: FloatArray, told: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the known effects, or the mean outcome of each position relative to the first one."""
        if self.examination is not None:
            return self.examination
        sums, totals = places.T @ (weights * told), places.T @ weights
        # Prior data: one outcome of the mean at each position.
        mean = float(np.average(told, weights=weights))
        means = (sums + mean) / (totals + 1.0)
        return _relative(means)

    def _refined(
        self,
        places: FloatArray,
        told: FloatArray,
        weights: FloatArray,
        relevance: FloatArray,
        effects: FloatArray,
    ) -> FloatArray:
        """Return the least-squares effects for given relevance; the former effect without rows."""
        tops, bottoms = places.T @ (weights * told * relevance), places.T @ (weights * relevance**2)
        found = np.divide(tops, bottoms, out=effects.copy(), where=bottoms > 1e-12)
        return _relative(found)


def _relative(effects: FloatArray) -> FloatArray:
    """Return effects relative to the first one, in [0.01, 100]; ones if the first is not positive."""
    if not effects[0] > 0.0:
        return np.ones(len(effects))
    relative: FloatArray = np.clip(effects / effects[0], 0.01, 100.0)
    return relative
