"""Estimators of the scikit-learn convention as models of means: fits, predictions, blends and positions.

scikit-learn is not imported. An estimator is any object with ``fit(X, y)`` and ``predict(X)`` or
``predict_proba(X)``.
"""

from __future__ import annotations

import copy
import inspect
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from cmab import parameters as declared
from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.validation import real_array, shown, vector


class ModelError(ValueError):
    """An estimator raised an error, or its predictions are unusable. The message names the estimator."""


class Constant:
    """The model of outcomes that are all equal, which many estimators reject."""

    def __init__(self, value: float) -> None:
        self.value = value


# Checks -------------------------------------------------------------------------------------------------


def check_estimator(name: str, estimator: object) -> None:
    """Raise ``TypeError`` unless `estimator` is an instance with ``fit`` and ``predict``."""
    if isinstance(estimator, type):
        raise TypeError(f"{name} must be an instance, such as {estimator.__name__}(), got the class itself")
    predicts = hasattr(estimator, "predict") or hasattr(estimator, "predict_proba") or _hides(estimator)
    if not callable(getattr(estimator, "fit", None)) or not predicts:
        raise TypeError(
            f"{name} must have fit(X, y), and predict(X) or predict_proba(X), as estimators of scikit-learn"
            f" have, got {shown(estimator)}"
        )
    try:
        copy.deepcopy(estimator)
    except Exception as error:
        raise TypeError(
            f"{name} must be copiable by copy.deepcopy, got {shown(estimator)}, whose copy raised"
            f" {type(error).__name__}: {error}; exclude the part that cannot be copied by __getstate__"
        ) from error


def is_classifier(estimator: Any) -> bool:
    """Return whether the means are the probabilities of class 1 (``predict_proba``)."""
    if hasattr(estimator, "predict_proba"):
        return True
    return _hides(estimator) and hasattr(type(estimator), "predict_proba")


def _hides(estimator: object) -> bool:
    """Return whether an estimator has its predictions only after its fit, as `StackingRegressor` has."""
    hidden = not hasattr(estimator, "predict") and hasattr(type(estimator), "predict")
    return hidden and hasattr(estimator, "estimators")


def check_labels(estimator: Any, outcomes: FloatArray) -> None:
    """Raise ``ValueError`` if the estimator is a classifier and an outcome is outside [0, 1]."""
    if is_classifier(estimator) and (wrong := outcomes[(outcomes < 0.0) | (outcomes > 1.0)]).size:
        raise ValueError(
            f"outcomes must lie between 0 and 1 for the classifier {named(estimator)}, got"
            f" {float(wrong[0]):g}; pass a regressor for other outcomes"
        )


def takes(method: Any, argument: str) -> bool:
    """Return whether a method of an estimator has an argument of this name."""
    try:
        return argument in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


def named(estimator: object) -> str:
    """Return the name of an estimator in messages."""
    return type(estimator).__name__


# Fits and predictions -----------------------------------------------------------------------------------


def fit(estimator: Any, rows: FloatArray, outcomes: FloatArray, weights: IntArray, seed: int) -> Any:
    """Return a fitted copy of `estimator`.

    Parameters
    ----------
    estimator : object
        The estimator, which is not changed.
    rows : FloatArray, shape (n, d)
        The features.
    outcomes : FloatArray, shape (n,)
        The outcomes. For a classifier, an outcome y is the label 1 with probability y.
    weights : IntArray, shape (n,)
        How often each row counts. Rows are repeated if ``fit`` has no `sample_weight`.
    seed : int
        Replaces every parameter `random_state` of the estimator. Labels between 0 and 1 are drawn from it.

    Raises
    ------
    ModelError
        If ``fit`` raises an exception, or if the model cannot predict its own rows.
    """
    used = weights > 0
    rows, outcomes, weights = rows[used], outcomes[used], weights[used]
    if not len(rows) or (outcomes == outcomes[0]).all():
        return Constant(float(outcomes[0]) if len(rows) else np.nan)
    labels: AnyArray = outcomes
    if is_classifier(estimator):
        labels = (np.random.default_rng(seed).random(len(outcomes)) < outcomes).astype(np.int64)
        if (labels == labels[0]).all():
            return Constant(float(np.average(outcomes, weights=weights)))
    try:
        model = seeded(copy.deepcopy(estimator), seed)
        if (weights == 1).all():
            model.fit(rows, labels)
        elif takes(model.fit, "sample_weight"):
            model.fit(rows, labels, sample_weight=weights.astype(np.float64))
        else:
            model.fit(np.repeat(rows, weights, axis=0), np.repeat(labels, weights))
    except Exception as error:
        raise ModelError(
            f"{named(estimator)}.fit must accept {len(rows)} rows of {rows.shape[1]} features, but raised"
            f" {type(error).__name__}: {error}"
        ) from error
    predict(model, rows[:2])
    return model


def seeded(estimator: Any, seed: int) -> Any:
    """Return `estimator` after setting all its parameters named `random_state` to `seed`."""
    if isinstance(estimator, PositionBased):
        seeded(estimator.estimator, seed)
    elif hasattr(estimator, "get_params") and hasattr(estimator, "set_params"):
        names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        if names:
            estimator.set_params(**dict.fromkeys(names, seed))
    return estimator


def predict(model: Any, rows: FloatArray) -> FloatArray:
    """Return the predicted mean of each row; nan from a model without any outcome.

    Raises
    ------
    ModelError
        If the model raises an exception, or its predictions have a wrong shape or are not finite.
    """
    if isinstance(model, Constant):
        return np.full(len(rows), model.value)
    if not is_classifier(model):
        return _checked(model, "predict", _predicted(model, "predict", rows), len(rows))
    table = _as_array(_predicted(model, "predict_proba", rows))
    classes = np.ravel(getattr(model, "classes_", np.arange(2)))
    is_one = np.array([label == 1 for label in classes.tolist()], bool)
    if table.ndim != 2 or table.shape[1] != len(classes) or not is_one.any():
        raise ModelError(
            f"{named(model)}.predict_proba must return a column for each of the classes 0 and 1, got shape"
            f" {table.shape} for the classes {shown(classes.tolist())}"
        )
    return _checked(model, "predict_proba", table[:, is_one].sum(axis=1), len(rows))


def _predicted(model: Any, method: str, rows: FloatArray) -> Any:
    rows = rows.view()
    rows.flags.writeable = False  # a model that changes its rows would change those of the state
    try:
        return getattr(model, method)(rows)
    except Exception as error:
        raise ModelError(
            f"{named(model)}.{method} must accept {len(rows)} rows of {rows.shape[1]} features, but raised"
            f" {type(error).__name__}: {error}"
        ) from error


def _checked(model: Any, method: str, values: Any, n: int) -> FloatArray:
    array = _as_array(values)
    array = array[:, 0] if array.shape == (n, 1) else array
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ModelError(
            f"{named(model)}.{method} must return one finite number for each of {n} rows, got {shown(values)}"
        )
    return array


def _as_array(values: Any) -> FloatArray:
    """Return numbers as an array; an empty one of no dimension if they are no numbers, such as strings."""
    try:
        return real_array("predictions", values)
    except Exception:  # also of the object's own conversion
        return np.empty(())


# Artificial rows ----------------------------------------------------------------------------------------


def with_artificial_rows(
    rows: FloatArray,
    outcomes: FloatArray,
    weights: IntArray,
    *,
    size: int,
    ends: tuple[float, float] | None,
    together: int,
    seed: int,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return rows, outcomes and weights with artificial rows, which differ for each seed.

    Each feature of an artificial row is drawn from the observed values of this feature. Its outcome is one of
    two values, with equal probability. Members of an ensemble therefore differ where little was observed.

    Parameters
    ----------
    rows, outcomes, weights
        As in `fit`.
    size : int
        The number of artificial rows.
    ends : tuple of float or None
        The two outcomes; None for the smallest and the largest observed outcome.
    together : int
        The number of last columns that are copied together from one row, such as indicators of positions.
    seed : int
        The seed.

    References
    ----------
    I. Osband, B. Van Roy: Bootstrapped Thompson Sampling and Deep Exploration, arXiv:1507.00300 (2015),
    section 4 (from memory); the features are our own choice.
    """
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    sources = rng.integers(n, size=(size, d))
    if together:
        sources[:, -together:] = sources[:, -1:]
    low, high = ends or (float(outcomes.min()), float(outcomes.max()))
    drawn = np.where(rng.random(size) < 0.5, low, high)
    return (
        np.concatenate([rows, rows[sources, np.arange(d)]]),
        np.concatenate([outcomes, drawn]),
        np.concatenate([weights, np.ones(size, np.int64)]),
    )


# Blends with ridge regression ---------------------------------------------------------------------------

#: The arguments of `fit` for each member of an ensemble.
Task = tuple[Any, FloatArray, FloatArray, IntArray, int]
#: Ridge regression is left out beyond this number of features and rows, because its time grows with the cube.
_MOST = 2000


class Line(NamedTuple):
    """A linear function of the features."""

    slope: FloatArray
    constant: float

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the value of each row."""
        values: FloatArray = X @ self.slope + self.constant
        return values


class Blend(NamedTuple):
    """The mean of a model and a line, weighted by `share` and ``1 - share``."""

    model: Any
    line: Line
    share: float

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the prediction of each row."""
        if self.share == 0.0:
            return self.line.predict(X)
        return self.share * predict(self.model, X) + (1.0 - self.share) * self.line.predict(X)


def blended(tasks: list[Task], models: list[Any]) -> list[Any]:
    """Return the models, each blended with the ridge regression on its own rows.

    Parameters
    ----------
    tasks : list of tuple
        The arguments of the fits. A row of weight 0 was not used by a fit.
    models : list
        The fitted models.

    Notes
    -----
    For each pair of a model and an unused row, let y be the outcome, f the prediction of the model and g that
    of the line. All blends have the same share, which is the minimiser over [0, 1] of the sum of
    ``(y - share f - (1 - share) g)^2``.

    References
    ----------
    L. Breiman: Stacked regressions, Machine Learning 24 (1996); the use of rows left out by the bootstrap is
    from L. Breiman: Out-of-bag estimation (1996).
    """
    if min(tasks[0][1].shape) > _MOST:
        return models
    lines = [ridge(rows, outcomes, weights) for _, rows, outcomes, weights, _ in tasks]
    gains, squares = 0.0, 0.0
    for (_, rows, outcomes, weights, _), model, line in zip(tasks, models, lines, strict=True):
        unused = weights == 0
        if not unused.any():
            continue
        g = line.predict(rows[unused])
        apart = predict(model, rows[unused]) - g
        gains += float(apart @ (outcomes[unused] - g))
        squares += float(apart @ apart)
    best = gains / squares if squares > 0.0 else 1.0
    share = min(1.0, max(0.0, best)) if np.isfinite(best) else 1.0
    if share == 1.0:
        return models
    return [Blend(model, line, share) for model, line in zip(models, lines, strict=True)]


def ridge(rows: FloatArray, outcomes: FloatArray, weights: IntArray) -> Line:
    """Return ridge regression on standardised features, with the penalty 1.

    Parameters
    ----------
    rows : FloatArray, shape (n, d)
        The features.
    outcomes : FloatArray, shape (n,)
        The outcomes.
    weights : IntArray, shape (n,)
        How often each row counts.
    """
    if not weights.any():
        return Line(np.zeros(rows.shape[1]), float(outcomes.mean()) if len(outcomes) else 0.0)
    centre = np.average(rows, axis=0, weights=weights)
    spread = np.sqrt(np.average((rows - centre) ** 2, axis=0, weights=weights))
    # A constant feature has rounding errors of this size, which a division would enlarge.
    spread[spread <= 1e-9 * np.abs(rows).max(axis=0, initial=0.0)] = np.inf
    root = np.sqrt(weights.astype(np.float64))
    scaled, mean = (rows - centre) / spread * root[:, None], float(np.average(outcomes, weights=weights))
    rest, (n, d) = (outcomes - mean) * root, rows.shape
    if d <= n:
        slope = np.linalg.solve(scaled.T @ scaled + np.eye(d), scaled.T @ rest)
    else:
        slope = scaled.T @ np.linalg.solve(scaled @ scaled.T + np.eye(n), rest)
    slope = slope / spread
    return Line(slope, mean - float(centre @ slope))


# Positions ----------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class PositionBased(declared.Declared):
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

    Notes
    -----
    The squared error is ``(y - e r)^2 = e^2 (y / e - r)^2`` for an effect e and a relevance r. The relevance
    is therefore fitted to y / e with weights e^2, and the effects are least squares for given relevance.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.policies import PositionBased
    >>> class Means:                                          # the mean outcome of each item
    ...     def fit(self, X, y, sample_weight):
    ...         self.of = [np.average(y, weights=sample_weight * (X[:, 0] == item)) for item in (0, 1)]
    ...     def predict(self, X):
    ...         return np.where(X[:, 0] == 1, self.of[1], self.of[0])
    >>> places = np.tile(np.eye(2), (50, 1))
    >>> X = np.hstack([np.repeat([[0.0], [1.0]], 50, axis=0), places])
    >>> y = (0.2 + 0.6 * X[:, 0]) * np.where(places[:, 1] == 1, 0.5, 1.0)
    >>> model = PositionBased(Means(), positions=2).fit(X, y)
    >>> model.effects.round(2).tolist()
    [1.0, 0.5]

    References
    ----------
    M. Richardson, E. Dominowska, R. Ragno: Predicting Clicks, WWW 2007, for the model. The alternating least
    squares are ours.
    """

    estimator: Any
    positions: int = field(metadata=declared.integer(1))
    _: KW_ONLY
    examination: ArrayLike | None = None
    repeats: int = field(default=5, metadata=declared.integer(1))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_estimator("estimator", self.estimator)
        if is_classifier(self.estimator) or not takes(self.estimator.fit, "sample_weight"):
            raise TypeError(
                "estimator must be a regressor with fit(X, y, sample_weight) and predict(X), got"
                f" {named(self.estimator)}; use a regressor, such as HistGradientBoostingRegressor()"
            )
        if self.examination is not None:
            known = vector("examination", self.examination, self.positions, 0.0)
            if not (known > 0.0).all():
                raise ValueError(f"examination must be above 0, got {known.min():g}")
            self.examination = known

    def __repr__(self) -> str:
        return declared.described(self)

    @property
    def joint_columns(self) -> int:
        """The number of last columns that artificial rows copy together: the indicators of positions."""
        return self.positions

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
        """Return the effect of the position times the relevance of the item in each row.

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
            return np.asarray(self.examination)
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
