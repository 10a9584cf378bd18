"""Problems of the arena with lists of items, click models and assortments."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from cmab import Environment
from cmab.arena import Instance, Problem
from instances.arena._draws import Rng, leading, skewed, uniform
from instances.choices import MultinomialLogit
from instances.lists import CascadeModel, DependentClickModel, position_based_model
from oracles import Assortment, DependentClickLists, RankedTopK


def cascade(
    rng: Rng, *, n: int, k: int, reward: Literal["disjunctive", "conjunctive"], a: float, b: float
) -> tuple[RankedTopK, CascadeModel]:
    """Draw a list in the cascade model."""
    oracle = RankedTopK(n, k, reward=reward)
    return oracle, CascadeModel(skewed(rng, n, a, b), oracle)


def kveton(rng: Rng, *, n: int, k: int, high: float, gap: float) -> tuple[RankedTopK, CascadeModel]:
    """Draw the two-level instance of Kveton et al."""
    oracle = RankedTopK(n, k)
    return oracle, CascadeModel(leading(rng, n, k, high, high - gap), oracle)


def dependent(
    rng: Rng, *, n: int, termination: tuple[float, ...]
) -> tuple[DependentClickLists, DependentClickModel]:
    """Draw a list in the dependent-click model."""
    oracle = DependentClickLists(n, termination)
    return oracle, DependentClickModel(skewed(rng, n, 1.0, 3.0), oracle)


def positions(rng: Rng, *, n: int, k: int) -> Instance:
    """Draw a list in the position-based model with known probabilities of examination."""
    examination = rng.permutation(1.0 / np.arange(1, k + 1) ** 0.7)
    environment = position_based_model(skewed(rng, n, 1.0, 3.0), examination)
    return Instance(environment.oracle, environment, {"examination": examination})


def shop(
    rng: Rng, *, n: int, k: int, low: float, high: float, prices: tuple[float, float]
) -> tuple[Assortment, Environment]:
    """Draw an assortment of a shop."""
    oracle = Assortment(uniform(rng, n, *prices), k)
    return oracle, MultinomialLogit(uniform(rng, n, low, high), oracle)


def agrawal(rng: Rng, *, n: int, k: int, gap: float) -> tuple[Assortment, Environment]:
    """Draw the instance of Agrawal et al. with equal revenues."""
    oracle = Assortment(np.ones(n), k)
    return oracle, MultinomialLogit(leading(rng, n, k, 0.25 + gap, 0.25), oracle)


def dear(rng: Rng, *, n: int, k: int) -> tuple[Assortment, Environment]:
    """Draw an assortment in which dear items are less attractive."""
    prices = uniform(rng, n, 1.0, 10.0)
    attraction = np.clip(1.5 / prices * uniform(rng, n, 0.3, 1.0), 0.0, 1.0)
    oracle = Assortment(prices, k)
    return oracle, MultinomialLogit(attraction, oracle)


_CASCADES = "Kveton et al. (ICML 2015): cascading bandits"
_MNL = "Agrawal et al. (Operations Research 2019): MNL bandits"

LISTS = [
    Problem(
        "list, 4 of 16, two levels",
        "list",
        partial(kveton, n=16, k=4, high=0.2, gap=0.15),
        10_000,
        _CASCADES,
    ),
    Problem(
        "list, 5 of 50",
        "list",
        partial(cascade, n=50, k=5, reward="disjunctive", a=1.0, b=5.0),
        10_000,
        _CASCADES,
    ),
    Problem(
        "list, 10 of 200, rare clicks",
        "list",
        partial(cascade, n=200, k=10, reward="disjunctive", a=1.0, b=60.0),
        10_000,
        "Bendada et al. (RecSys 2020): playlists with few streams",
    ),
    Problem(
        "list that must not fail, 4 of 20",
        "list",
        partial(cascade, n=20, k=4, reward="conjunctive", a=8.0, b=1.0),
        10_000,
        "Kveton et al. (NIPS 2015): combinatorial cascading bandits",
    ),
    Problem(
        "list of dependent clicks, 4 of 30",
        "clicks",
        partial(dependent, n=30, termination=(0.8, 0.6, 0.4, 0.2)),
        3_000,
        "Katariya et al. (ICML 2016): dependent clicks",
    ),
    Problem(
        "positions, 4 of 12", "positions", partial(positions, n=12, k=4), 3_000, "Lagree et al. (NIPS 2016)"
    ),
    Problem(
        "positions, 3 of 40", "positions", partial(positions, n=40, k=3), 3_000, "Lagree et al. (NIPS 2016)"
    ),
    Problem(
        "assortment 4 of 10, gap 0.1",
        "assortment",
        partial(agrawal, n=10, k=4, gap=0.1),
        10_000,
        _MNL,
    ),
    Problem(
        "assortment 4 of 20",
        "assortment",
        partial(shop, n=20, k=4, low=0.0, high=1.0, prices=(0.5, 1.0)),
        10_000,
        _MNL,
    ),
    Problem(
        "assortment 5 of 50, dear items",
        "assortment",
        partial(dear, n=50, k=5),
        10_000,
        "prices reduce demand",
    ),
]
