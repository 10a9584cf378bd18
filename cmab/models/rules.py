"""The explorations of model policies: which models they need, and the numbers that they derive from them."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from cmab.arrays import FloatArray
from cmab.models import estimators
from cmab.validation import shown

Exploration = Literal[
    "mixture", "history", "bootstrap", "priors", "deviation", "joint", "optimism", "gap", "epsilon", "none"
]
EXPLORATIONS = (
    "mixture", "history", "bootstrap", "priors", "deviation", "joint", "optimism", "gap", "epsilon", "none"
)  # fmt: skip
ENSEMBLES = ("mixture", "history", "bootstrap", "priors")
#: Explorations whose members leave out rows, by which the weight of ridge regression is chosen.
BLENDED = ("mixture", "history", "bootstrap")
ARTIFICIAL = ("mixture", "history")
#: Explorations whose numbers are random although the model is given.
DRAWN = ("deviation", "joint")
#: Explorations whose numbers may lie outside the support.
UNCUT = ("deviation", "joint", "optimism")
#: The method, and its argument, that an exploration needs of the estimator.
_NEEDS = {
    "deviation": ("predict", "return_std", "predict(X, return_std=True)"),
    "optimism": ("predict", "return_std", "predict(X, return_std=True)"),
    "joint": ("sample_y", "random_state", "sample_y(X, random_state=seed)"),
}


def check_exploration(exploration: str, estimator: Any, oracle: Any) -> None:
    """Raise ``TypeError`` or ``ValueError`` if the estimator or the oracle does not allow an exploration."""
    method, argument, words = _NEEDS.get(exploration, ("fit", "", ""))
    if words and not estimators.takes(getattr(estimator, method, None), argument):
        raise TypeError(
            f"estimator must have {words} for exploration={exploration!r}, got {shown(estimator)}; use"
            " exploration='mixture'"
        )
    if exploration == "priors" and estimators.is_classifier(estimator):
        raise TypeError(
            "estimator must be a regressor for exploration='priors', which adds numbers to outcomes, got"
            f" {shown(estimator)}; use a regressor or exploration='mixture'"
        )
    if exploration == "gap" and getattr(oracle, "uniform_size", None) != 1:
        raise ValueError(
            "oracle must choose any single arm, as TopK(n_arms, k=1), for exploration='gap', got"
            f" {shown(oracle)}; use exploration='mixture'"
        )


def drawn_values(
    exploration: str, model: Any, rows: FloatArray, rng: np.random.Generator, factor: float, draws: int
) -> FloatArray:
    """Return the numbers of the rows for one round.

    Parameters
    ----------
    exploration : str
        The exploration.
    model : object
        A fitted model.
    rows : FloatArray, shape (n, d)
        The features.
    rng : numpy.random.Generator
        The random stream.
    factor : float
        The factor of standard deviations, negative if small means are best.
    draws : int
        The number of normal draws for each row, of which the best is used.
    """
    if exploration == "joint":
        return estimators.sample(model, rows, int(rng.integers(2**31 - 1)))
    if exploration not in ("deviation", "optimism"):
        return estimators.predict(model, rows)
    means, deviations = estimators.predict_with_deviation(model, rows)
    if exploration == "optimism":
        return np.asarray(means + factor * deviations)
    highest = rng.standard_normal((draws, len(means))).max(axis=0)
    return np.asarray(means + factor * deviations * highest)


def gap_chances(values: FloatArray, n_rows: int) -> FloatArray:
    """Return the probabilities of inverse-gap weighting for predictions scaled to [0, 1], best largest.

    Parameters
    ----------
    values : FloatArray, shape (n_arms,)
        The predictions.
    n_rows : int
        The number of outcomes that the model has seen.

    Notes
    -----
    An arm of gap g has the probability ``1 / (n_arms + gamma g)``, and the best arm has the rest. ``gamma``
    is ``sqrt(n_arms n_rows)``, which is the order of the published rate for models of bounded squared regret.

    References
    ----------
    D. Foster, A. Rakhlin: Beyond UCB: Optimal and efficient contextual bandits with regression oracles, ICML
    2020, algorithm 1. N. Abe, P. Long: Associative reinforcement learning using linear probabilistic
    concepts, ICML 1999. From memory.
    """
    n, best = len(values), int(np.argmax(values))
    chances: FloatArray = 1.0 / (n + math.sqrt(n * n_rows) * (values[best] - values))
    chances[best] = 0.0
    chances[best] = max(0.0, 1.0 - float(chances.sum()))
    return chances
