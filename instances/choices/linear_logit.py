"""Customers by multinomial logit with utilities that are linear in features, which are new in each round."""

from __future__ import annotations

import math

import numpy as np

from cmab import Context
from cmab.arrays import ArrayLike
from cmab.description import described
from cmab.validation import frozen, shown, vector
from instances.choices.multinomial_logit import MultinomialLogit
from oracles import Assortment


class LinearMultinomialLogit(MultinomialLogit):
    """Customers by multinomial logit, with new attractions ``exp(features @ coefficients)`` in each round.

    There is one customer per round. Features are random unit vectors: standard normal numbers divided by
    their norm. The attributes of the instance itself, outside any round, are those of features 0: each item
    has attraction 1, the same as buying nothing.

    Parameters
    ----------
    coefficients : array_like, shape (d,)
        Coefficients of the utilities. The largest possible attraction, ``exp(norm of coefficients)``, must be
        at most ``oracle.max_attraction``.
    oracle : Assortment
        The revenues of the items and the largest number of offered items.

    Examples
    --------
    >>> from cmab import ContextualMNLUCB, simulate
    >>> from instances import LinearMultinomialLogit
    >>> from oracles import Assortment
    >>> shop = Assortment([1.0] * 20, k=3, max_attraction=8.0)
    >>> customers = LinearMultinomialLogit([1.0, -1.5], shop)
    >>> run = simulate(ContextualMNLUCB(shop, dimension=2, radius_factor=0.1), customers, 300, rng=0)
    >>> bool(run.regret[0, -1] < 10)
    True
    """

    def __init__(self, coefficients: ArrayLike, oracle: Assortment) -> None:
        if not isinstance(oracle, Assortment):
            raise ValueError(f"oracle must be an Assortment, got {shown(oracle)}")
        self.coefficients = frozen(vector("coefficients", coefficients))
        if not len(self.coefficients):
            raise ValueError("coefficients must have at least one entry, got none")
        size, most = math.hypot(*self.coefficients.tolist()), math.log(oracle.max_attraction)
        if not size <= most + 1e-12:
            raise ValueError(
                f"coefficients must have norm at most ln(max_attraction) = {most:.6g}, got {size:.6g}"
            )
        super().__init__(np.ones(oracle.n_arms), oracle)

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, coefficients=self.coefficients)

    def in_round(self, t: int, rng: np.random.Generator) -> MultinomialLogit:  # noqa: ARG002
        features = rng.standard_normal((self.n_arms, len(self.coefficients)))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        attraction = np.minimum(np.exp(features @ self.coefficients), self.oracle.max_attraction)
        today = MultinomialLogit(attraction, self.oracle)
        today.context = Context(features=features)
        return today
