"""Tables: a row enrols a class in every common check.

Every ``make`` is called afresh by each test. Small instances: the checks enumerate and play thousands of
rounds.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cmab import CUCB, Environment, Oracle
from cmab.confidence import LogRadius
from cmab.policy import AnyPolicy
from instances import BernoulliArms, GaussianArms, IndependentCascade, SemiBandit
from oracles import DirectedGraph, InfluenceMaximization, TopK


@dataclass(frozen=True)
class OracleCase:
    """An oracle on a small problem, with all its super arms (None: too many) and the range of its means."""

    name: str
    make: Callable[[], Oracle]
    super_arms: Callable[[], Iterable[Any]] | None = None
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class PolicyCase:
    """A policy, made for any oracle."""

    name: str
    make: Callable[[Oracle], AnyPolicy]


@dataclass(frozen=True)
class EnvironmentCase:
    """An environment and some of its super arms."""

    name: str
    make: Callable[[], Environment]
    super_arms: tuple[tuple[int, ...], ...]


MEANS = np.array([0.9, 0.75, 0.6, 0.3, 0.1])
# Two cycles that share a node, a parallel arc, a path into the cycle, a node without arcs.
NETWORK = DirectedGraph.from_edges([0, 1, 2, 2, 3, 4, 0, 5], [1, 2, 0, 3, 4, 2, 1, 0], n=7)

ORACLES = [
    OracleCase(
        "influence",
        lambda: InfluenceMaximization(NETWORK, k=2, epsilon=0.3),
        lambda: combinations(range(7), 2),
    ),
    OracleCase("top_k", lambda: TopK(6, k=2), lambda: combinations(range(6), 2)),
    OracleCase("top_all", lambda: TopK(4, k=4), lambda: [range(4)]),
    OracleCase("bottom_k", lambda: TopK(6, k=3, sense="min"), lambda: combinations(range(6), 3), -2.0, 2.0),
]

POLICIES = [
    PolicyCase("cucb", CUCB),
    PolicyCase("cucb_tight", lambda oracle: CUCB(oracle, radius=LogRadius.tight())),
    PolicyCase("cucb_prior", lambda oracle: CUCB(oracle, scale=0.1, prior_mean=0.1, prior_weight=10.0)),
]

ENVIRONMENTS = [
    EnvironmentCase(
        "cascade",
        lambda: IndependentCascade(NETWORK, [0.5, 0.3, 0.2, 0.7, 0.0, 1.0, 0.1, 0.4], k=2),
        ((5, 3), (2, 6), (0, 1)),
    ),
    EnvironmentCase("bernoulli", lambda: SemiBandit(BernoulliArms(MEANS), TopK(5, k=2)), ((0, 1), (2, 4))),
    EnvironmentCase("gaussian", lambda: SemiBandit(GaussianArms(MEANS, 0.5), TopK(5, k=2)), ((0, 1), (2, 4))),
    EnvironmentCase("arms_alone", lambda: BernoulliArms(MEANS), ((0, 3), (1,))),
]
