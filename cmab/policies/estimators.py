"""Estimators of the scikit-learn convention as models of means: fits, predictions and blends.

scikit-learn is not imported. An estimator is any object with ``fit(X, y)`` and ``predict(X)`` or
``predict_proba(X)``.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.validation import real_array, shown


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
            f"outcomes must lie between 0 and 1 for the classifier {type(estimator).__name__}, got"
            f" {float(wrong[0]):g}; pass a regressor for other outcomes"
        )


def takes(method: Any, argument: str) -> bool:
    """Return whether a method of an estimator has an argument of this name."""
    try:
        return argument in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


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
        model = copy.deepcopy(estimator)
        if hasattr(model, "get_params") and hasattr(model, "set_params"):
            names = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
            model.set_params(**dict.fromkeys(names, seed))
        if (weights == 1).all():
            model.fit(rows, labels)
        elif takes(model.fit, "sample_weight"):
            model.fit(rows, labels, sample_weight=weights.astype(np.float64))
        else:
            model.fit(np.repeat(rows, weights, axis=0), np.repeat(labels, weights))
    except Exception as error:
        raise ModelError(
            f"{type(estimator).__name__}.fit must accept {len(rows)} rows of {rows.shape[1]} features,"
            f" but raised {type(error).__name__}: {error}"
        ) from error
    predict(model, rows[:2])
    return model


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
            f"{type(model).__name__}.predict_proba must return a column for each of the classes 0 and 1,"
            f" got shape {table.shape} for the classes {shown(classes.tolist())}"
        )
    return _checked(model, "predict_proba", table[:, is_one].sum(axis=1), len(rows))


def _predicted(model: Any, method: str, rows: FloatArray) -> Any:
    rows = rows.view()
    rows.flags.writeable = False  # a model that changes its rows would change those of the state
    try:
        return getattr(model, method)(rows)
    except Exception as error:
        raise ModelError(
            f"{type(model).__name__}.{method} must accept {len(rows)} rows of {rows.shape[1]} features,"
            f" but raised {type(error).__name__}: {error}"
        ) from error


def _checked(model: Any, method: str, values: Any, n: int) -> FloatArray:
    array = _as_array(values)
    array = array[:, 0] if array.shape == (n, 1) else array
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ModelError(
            f"{type(model).__name__}.{method} must return one finite number for each of {n} rows,"
            f" got {shown(values)}"
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
    seed : int
        The seed.

    References
    ----------
    I. Osband, B. Van Roy: Bootstrapped Thompson Sampling and Deep Exploration, arXiv:1507.00300 (2015),
    section 4 (from memory); the features are our own choice.
    """
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    sources = rng.integers(n, size=(size, d))
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
