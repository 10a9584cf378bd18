"""Estimators of the scikit-learn convention: their checks, fits and predictions.

scikit-learn is not imported. An estimator is any object with ``fit(X, y)`` and ``predict(X)`` or
``predict_proba(X)``.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.validation import real_array, shown


class ModelError(ValueError):
    """An estimator raised an error, or its predictions are unusable. The message names the estimator."""


class Constant:
    """The model of outcomes that are all equal, which many estimators reject."""

    def __init__(self, value: float) -> None:
        self.value = value


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


def _as_labels(estimator: Any, outcomes: FloatArray, seed: int) -> FloatArray:
    """Return labels 0 and 1 for a classifier: an outcome y is the label 1 with probability y."""
    if not is_classifier(estimator) or ((outcomes == 0.0) | (outcomes == 1.0)).all():
        return outcomes
    return (np.random.default_rng(seed).random(len(outcomes)) < outcomes).astype(np.float64)


def fit(estimator: Any, rows: FloatArray, outcomes: FloatArray, weights: IntArray, seed: int) -> Any:
    """Return a fitted copy of `estimator`.

    Parameters
    ----------
    estimator : object
        The estimator, which is not changed.
    rows : FloatArray, shape (n, d)
        The features.
    outcomes : FloatArray, shape (n,)
        The outcomes.
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
    mean, outcomes = float(np.average(outcomes, weights=weights)), _as_labels(estimator, outcomes, seed)
    if (outcomes == outcomes[0]).all():
        return Constant(mean)
    try:
        model = seeded(copy.deepcopy(estimator), seed)
    except Exception as error:
        raise ModelError(
            f"{named(estimator)} must be copiable, with get_params and set_params as in scikit-learn, but"
            f" raised {type(error).__name__}: {error}"
        ) from error
    _call(model, "fit", rows, outcomes, weights)
    predict(model, rows[:2])
    return model


def fit_more(model: Any, rows: FloatArray, outcomes: FloatArray, weights: IntArray, seed: int) -> Any:
    """Return a copy of `model` that was also fitted to new rows by ``partial_fit``; see `fit`.

    Raises
    ------
    ModelError
        If ``partial_fit`` raises an exception, or if the model cannot predict the rows.
    """
    used = weights > 0
    if isinstance(model, Constant) or not used.any():
        return model
    model = copy.deepcopy(model)
    _call(model, "partial_fit", rows[used], _as_labels(model, outcomes, seed)[used], weights[used])
    predict(model, rows[:2])
    return model


def can_fit_more(estimator: Any) -> bool:
    """Return whether the estimator has ``partial_fit`` and can use it."""
    return hasattr(estimator, "partial_fit") and not getattr(estimator, "early_stopping", False)


def seeded(estimator: Any, seed: int) -> Any:
    """Return `estimator` after setting all its parameters named `random_state` to `seed`."""
    if hasattr(estimator, "get_params") and hasattr(estimator, "set_params"):
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
    classes = getattr(model, "classes_", np.arange(2))
    is_one = np.array([label == 1 for label in np.ravel(classes).tolist()], bool)
    if not is_one.any():
        raise ModelError(
            f"{named(model)}.classes_ must contain 1, because fit gets the labels 0 and 1, got"
            f" {shown(classes)}"
        )
    if table.ndim != 2 or table.shape[1] != len(classes):
        raise ModelError(
            f"{named(model)}.predict_proba must return an array of shape ({len(rows)}, {len(classes)}), got"
            f" {table.shape}"
        )
    return _checked(model, "predict_proba", table[:, is_one].sum(axis=1), len(rows))


def predict_with_deviation(model: Any, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of each row, by ``predict(X, return_std=True)``."""
    if isinstance(model, Constant):
        return np.full(len(rows), model.value), np.zeros(len(rows))
    pair = _predicted(model, "predict", rows, return_std=True)
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ModelError(
            f"{named(model)}.predict(X, return_std=True) must return two arrays, got {shown(pair)}"
        )
    means, deviations = (_checked(model, "predict", part, len(rows)) for part in pair)
    return means, np.abs(deviations)


def sample(model: Any, rows: FloatArray, seed: int) -> FloatArray:
    """Return one draw of all means together, by ``sample_y(X, random_state=seed)``."""
    if isinstance(model, Constant):
        return np.full(len(rows), model.value)
    return _checked(model, "sample_y", _predicted(model, "sample_y", rows, random_state=seed), len(rows))


def takes(method: Any, argument: str) -> bool:
    """Return whether a method has an argument of this name."""
    try:
        return argument in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


def _call(model: Any, verb: str, rows: FloatArray, outcomes: FloatArray, weights: IntArray) -> None:
    labels: AnyArray = outcomes.astype(np.int64) if is_classifier(model) else outcomes
    method = getattr(model, verb)
    filters: Any = warnings.filters
    before = filters[:]
    try:
        if (weights == 1).all():
            method(rows, labels)
        elif takes(method, "sample_weight"):
            method(rows, labels, sample_weight=weights.astype(np.float64))
        else:
            method(np.repeat(rows, weights, axis=0), np.repeat(labels, weights))
    except Exception as error:
        raise ModelError(
            f"{named(model)}.{verb} must accept {len(rows)} rows of {rows.shape[1]} features, but raised"
            f" {type(error).__name__}: {error}"
        ) from error
    finally:
        # Threads of scikit-learn may leave filters of their own behind. `catch_warnings` would drop them as
        # well, but after it Python repeats all warnings that it shows once.
        if warnings.filters is not filters or filters != before:
            filters[:] = before
            warnings.filters = filters


def _predicted(model: Any, verb: str, rows: FloatArray, **options: Any) -> Any:
    rows = rows.view()
    rows.flags.writeable = False  # a model that changes its rows would change those of the state
    try:
        return getattr(model, verb)(rows, **options)
    except Exception as error:
        raise ModelError(
            f"{named(model)}.{verb} must accept {len(rows)} rows of {rows.shape[1]} features, but raised"
            f" {type(error).__name__}: {error}"
        ) from error


def _checked(model: Any, verb: str, values: Any, n: int) -> FloatArray:
    array = _as_array(values)
    if array.shape == (n, 1):
        array = array[:, 0]
    if array.shape != (n,):
        raise ModelError(
            f"{named(model)}.{verb} must return one number for each of {n} rows, got {shown(values)}"
        )
    if not np.isfinite(array).all():
        raise ModelError(
            f"{named(model)}.{verb} must return finite numbers, got {float(array[~np.isfinite(array)][0])}"
        )
    return array


def _as_array(values: Any) -> FloatArray:
    """Return numbers as an array; an empty one of no dimension if they are no numbers, such as strings."""
    try:
        return real_array("predictions", values)
    except Exception:  # also of the object's own conversion
        return np.empty(())


def named(estimator: object) -> str:
    """Return the name of an estimator in messages."""
    return str(getattr(estimator, "shown_as", type(estimator).__name__))
