"""Problems of the arena with rounds that differ: batches, delays, absent arms, changes and features."""

from __future__ import annotations

from functools import partial

import numpy as np

from cmab import Environment, LinearOracle
from cmab.arena import Instance, Problem
from instances.arena._draws import Rng, levels, uniform
from instances.arena._linear import grid_path, grid_tree, matching, top_k
from instances.arena._lists import cascade
from instances.arena._spreading import coverage, scale_free
from instances.arms import BernoulliArms, SemiBandit
from instances.changing import PiecewiseStationary
from instances.contexts import LinearSemiBandit, SleepingSemiBandit
from instances.moving import MovingMeans
from oracles import Knapsack, TopK


def geometric(t: int, rng: Rng, *, mean: float) -> int:
    """Return a delay with a geometric distribution."""
    return int(rng.geometric(1.0 / (1.0 + mean))) - 1


def sleeping(
    rng: Rng, *, n: int, k: int, low: float, high: float, two: bool = False
) -> tuple[LinearOracle, Environment]:
    """Draw the k best of the arms that are available in a round, with means of two levels if `two`."""
    oracle = Knapsack([1] * n, k)
    arms = BernoulliArms(levels(rng, n, (0.3, 0.5)) if two else uniform(rng, n))
    return oracle, SleepingSemiBandit(arms, oracle, availability=uniform(rng, n, low, high))


def arriving(rng: Rng, *, n: int, k: int, change: int) -> tuple[LinearOracle, Environment]:
    """Draw arms of which half arrive after some rounds: until then, their outcomes are 0."""
    oracle, means = TopK(n, k), uniform(rng, n, 0.1, 0.9)
    late = rng.permutation(n) < n // 2
    parts = [np.where(late, 0.0, means), means]
    return oracle, PiecewiseStationary([SemiBandit(BernoulliArms(p), oracle) for p in parts], [change])


def jumping(rng: Rng, *, n: int, k: int, changes: tuple[int, ...]) -> tuple[LinearOracle, Environment]:
    """Draw means that jump after given rounds."""
    oracle = TopK(n, k)
    parts = [SemiBandit(BernoulliArms(uniform(rng, n)), oracle) for _ in range(len(changes) + 1)]
    return oracle, PiecewiseStationary(parts, changes)


def drifting(rng: Rng, *, n: int, k: int, rounds: int) -> tuple[LinearOracle, Environment]:
    """Draw means that drift from one random point to another."""
    oracle = TopK(n, k)
    return oracle, MovingMeans(rng.random((2, n)), oracle, rounds=[1, rounds])


def featured(rng: Rng, *, n: int, k: int, d: int) -> Instance:
    """Draw arms with new features in each round."""
    weights = np.abs(rng.standard_normal(d))
    oracle = TopK(n, k)
    environment = LinearSemiBandit(weights / np.linalg.norm(weights), oracle)
    return Instance(oracle, environment, {"dimension": d})


_BATCHES = "Perchet et al. (Annals of Statistics 2016): batched bandits"
_DELAYS = "Joulani, Gyorgy, Szepesvari (ICML 2013): delayed feedback"
_SLEEPING = "Kleinberg, Niculescu-Mizil, Sharma (2010): sleeping arms"
_CHANGES = "Garivier and Moulines (ALT 2011): means that change"
_FEATURES = "Qin, Chen, Zhu (SDM 2014): contextual combinatorial bandits"

ROUNDS = [
    Problem("batches, top 10 of 60", "batch", partial(top_k, n=60, k=10), 3_000, _BATCHES, batch=50),
    Problem(
        "batches, matching 8 x 8", "batch", partial(matching, left=8, right=8), 2_000, _BATCHES, batch=20
    ),
    Problem("batches, tree of a 4 x 4 grid", "batch", partial(grid_tree, size=4), 2_000, _BATCHES, batch=100),
    Problem(
        "batches, influence on 60 people",
        "batch",
        partial(scale_free, n=60, k=3, feedback="edge", high=0.3),
        300,
        "campaigns are planned some at a time",
        batch=10,
    ),
    Problem(
        "delays, top 5 of 40",
        "delay",
        partial(top_k, n=40, k=5),
        3_000,
        _DELAYS,
        delay=partial(geometric, mean=40.0),
    ),
    Problem("delays, path in a 5 x 5 grid", "delay", partial(grid_path, size=5), 2_000, _DELAYS, delay=100),
    Problem(
        "delays, list 4 of 30",
        "delay",
        partial(cascade, n=30, k=4, reward="disjunctive", a=1.0, b=4.0),
        3_000,
        _DELAYS,
        delay=partial(geometric, mean=20.0),
    ),
    Problem(
        "delays, coverage 4 of 30",
        "delay",
        partial(coverage, left=30, right=40, k=4, chance=0.2, a=1.0, b=3.0),
        2_000,
        _DELAYS,
        delay=partial(geometric, mean=30.0),
    ),
    Problem(
        "absent arms, 4 of 30", "available", partial(sleeping, n=30, k=4, low=0.2, high=0.9), 2_000, _SLEEPING
    ),
    Problem(
        "absent arms, 8 of 80, rare",
        "available",
        partial(sleeping, n=80, k=8, low=0.02, high=0.3),
        2_000,
        _SLEEPING,
    ),
    Problem(
        "absent arms, two levels",
        "available",
        partial(sleeping, n=40, k=6, low=0.5, high=0.5, two=True),
        2_000,
        _SLEEPING,
    ),
    Problem(
        "late arms, 5 of 30",
        "change",
        partial(arriving, n=30, k=5, change=600),
        3_000,
        "products are added to a shop",
    ),
    Problem("one jump, 4 of 20", "change", partial(jumping, n=20, k=4, changes=(1_000,)), 3_000, _CHANGES),
    Problem(
        "three jumps, 5 of 30",
        "change",
        partial(jumping, n=30, k=5, changes=(500, 1_200, 2_200)),
        3_000,
        _CHANGES,
    ),
    Problem("drift, 4 of 20", "change", partial(drifting, n=20, k=4, rounds=3_000), 3_000, _CHANGES),
]

#: Problems that only policies with features can play.
FEATURES = [
    Problem("features, 4 of 20", "features", partial(featured, n=20, k=4, d=5), 2_000, _FEATURES),
]
