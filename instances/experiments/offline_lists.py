"""Lists chosen from a log of cascades: Figures 1a and 2 of Liu et al. (2025)."""

from __future__ import annotations

import math

import numpy as np

from cmab import CUCB, ArmStatistics, clcb
from cmab.arrays import FloatArray
from instances.lists import CascadeModel
from oracles import RankedTopK

_ITEMS, _LENGTH, _FIRST = 100, 5, 1e3
#: The rules that choose the lists of a log.
LOGS = ("random lists", "largest UCB", "largest LCB", "largest mean")


def index(seen: ArmStatistics, log: str, delta: float, rng: np.random.Generator) -> FloatArray:
    """Return values; their largest entries form the next list of a log, not clipped, with random ties.

    An arm without observations comes first by UCB. By LCB it counts as an arm with one observation, a
    failure.
    """
    often, t, ties = np.maximum(seen.counts, 1), max(seen.rounds, 1), 1e-9 * rng.random(seen.n_arms)
    if log == LOGS[0]:
        return ties
    if log == LOGS[3]:
        return seen.means + ties
    if log == LOGS[1]:
        upper = seen.means + np.sqrt(1.5 * math.log(t) / often)
        return np.where(seen.counts > 0, upper, _FIRST) + ties
    # Liu et al. (2025), Algorithm 1.
    lower: FloatArray = seen.means - np.sqrt(math.log(4.0 * seen.n_arms * t / delta) / (2.0 * often))
    return lower + ties


def logged(place: CascadeModel, log: str, n: int, delta: float, rng: np.random.Generator) -> ArmStatistics:
    """Return the statistics of `n` rounds of a log."""
    seen, oracle = ArmStatistics.empty(place.n_arms), place.oracle
    for _ in range(n):
        seen.update(place.play(oracle.solve(index(seen, log, delta, rng), rng), rng))
    return seen


def list_losses(log: str, n: int, delta: float, rng: np.random.Generator) -> dict[str, float]:
    """Return the value of the best list minus the value of each learner's list."""
    oracle = RankedTopK(_ITEMS, _LENGTH)
    place = CascadeModel(rng.random(_ITEMS), oracle)
    seen = logged(place, log, n, delta, rng)
    certain = clcb(oracle, seen, delta=delta)
    lists = {
        # Arms without observations have the value 1 here, and 0 in EMP.
        "CUCB-Offline": oracle.solve(CUCB(oracle).indices(seen, rng), rng),
        "EMP": oracle.solve(seen.means, rng),
        "CLCB": certain.super_arm,
        "CLCB, cut": oracle.solve(certain.bounds, rng),
        "random list": oracle.solve(rng.random(_ITEMS), rng),
    }
    return {name: place.optimum - place.expected_reward(chosen) for name, chosen in lists.items()}
