"""Published experiments on regret, and on what is lost by a choice from a log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cmab import (
    CTS,
    CUCB,
    ESCB,
    KLCUCB,
    ArmStatistics,
    Environment,
    GaussianCTS,
    LogRadius,
    clcb,
    simulate,
)
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.policy import AnyPolicy
from instances.arms import Arms, BernoulliArms, GaussianArms, SemiBandit
from instances.contexts import SleepingSemiBandit
from instances.lists import CascadeModel
from instances.reproduce.experiment import Experiment, Found, Row
from instances.reproduce.identification import family_of
from oracles import BruteForce, RankedTopK, TopK

Rng = np.random.Generator


def regrets(learners: Mapping[str, AnyPolicy], place: Environment, horizon: int, seed: int) -> Found:
    """Return the regret of each learner at the horizon; all learners use the same random numbers."""
    settings: Any = {"checkpoints": [horizon], "rng": seed}
    return {
        name: {"regret": float(simulate(policy, place, horizon, **settings).regret[0, -1])}
        for name, policy in learners.items()
    }


# CL-SG (Hu et al., 2026): two levels of means. The instances with small variances are ours.
_LEVELS = {"two levels": (0.9, 0.8), "rare successes": (0.03, 0.01), "narrow outcomes": (0.5, 0.45)}


def thompson_learners(oracle: TopK) -> dict[str, AnyPolicy]:
    """Return the learners of the comparison of CL-SG, by their names in the paper or in this library."""
    return {
        "CTS-B": CTS(oracle),
        # The variance is factor * sigma^2 ln t / (N + 1), with sigma = 1/2 and gamma = 0.1.
        "CL-SG": GaussianCTS(oracle, "shared", variance_factor=0.4),
        "CombUCB": CUCB(oracle),
        "KL-CUCB": KLCUCB(oracle),
    }


def semi_bandit_cells(quick: bool) -> list[Row]:
    """Return the instances with their sizes."""
    sizes = [("two levels", 10, 3), ("two levels", 20, 6), ("two levels", 50, 15)]
    sizes += [("rare successes", 20, 5), ("narrow outcomes", 20, 5)]
    horizon = 10_000 if quick else 100_000
    return [{"instance": name, "arms": m, "k": k, "horizon": horizon} for name, m, k in sizes]


def semi_bandit_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return the regret of each learner on the k best arms."""
    good, bad = _LEVELS[cell["instance"]]
    # Shuffled, because capped indices break ties by the lowest index.
    means = rng.permutation(np.where(np.arange(cell["arms"]) < cell["k"], good, bad))
    is_narrow = cell["instance"] == "narrow outcomes"
    arms: Arms = GaussianArms(means, 0.01) if is_narrow else BernoulliArms(means)
    oracle = TopK(cell["arms"], cell["k"])
    return regrets(thompson_learners(oracle), SemiBandit(arms, oracle), cell["horizon"], seed)


class AtMost(TopK):
    """The k best available arms, or all available arms if there are fewer."""

    def solve_within(self, means: FloatArray, available: BoolArray, rng: Rng) -> IntArray:
        """Return the k best available arms, or all of them."""
        free = np.flatnonzero(available)
        return free if len(free) <= self.k else super().solve_within(means, available, rng)

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether there are at most k arms."""
        return len(super_arm) <= self.k


def sleeping_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return the regret of each learner; each arm is available with probability 1/2."""
    means = rng.permutation(np.where(np.arange(cell["arms"]) < cell["k"], 0.9, 0.8))
    oracle = AtMost(cell["arms"], cell["k"])
    place = SleepingSemiBandit(BernoulliArms(means), oracle, availability=0.5)
    learners = {name: thompson_learners(oracle)[name] for name in ("CTS-B", "CL-SG", "CombUCB")}
    return regrets(learners, place, cell["horizon"], seed)


def two_sets_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return the regret on two disjoint super arms of k arms with means 0.9 and 0.8, in random order."""
    k = cell["k"]
    means = np.repeat([0.9, 0.8] if rng.random() < 0.5 else [0.8, 0.9], k)
    oracle = BruteForce(2 * k, [range(k), range(k, 2 * k)])
    learners: dict[str, AnyPolicy] = {
        "CTS": CTS(oracle),
        "CTS shared": CTS(oracle, coupling="shared"),
        "CL-SG": GaussianCTS(oracle, support=None, sigma=0.5),
        "CUCB": CUCB(oracle),
    }
    return regrets(learners, SemiBandit(BernoulliArms(means), oracle), 3000, seed)


def joint_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return the regret of rules with bounds for arms and for super arms; one super arm has mean 0.7."""
    family = family_of(cell["family"])
    means = np.full(family.n_arms, 0.5)
    means[family.solve(rng.random(family.n_arms), rng)] = 0.7
    learners: dict[str, AnyPolicy] = {
        "CUCB": CUCB(family),
        "ESCB": ESCB(family),
        # In the authors' code, CUCB has the radius sqrt(ln t / 2T), and ESCB the root of the sum of its
        # squares.
        "CUCB, ln t": CUCB(family, LogRadius(coefficient=0.5)),
        "ESCB, ln t": ESCB(family, loglog=0.0),
        "CTS": CTS(family),
    }
    return regrets(learners, SemiBandit(BernoulliArms(means), family), cell["horizon"], seed)


# Cascading bandits (Kveton et al., 2015), Table 1: regret of CascadeUCB1 and CascadeKL-UCB.
_CASCADES = {
    (16, 2, 0.15): (1290.1, 357.9),
    (16, 4, 0.15): (986.8, 275.1),
    (16, 8, 0.15): (574.8, 149.1),
    (32, 2, 0.15): (2695.9, 761.2),
    (32, 4, 0.15): (2256.8, 633.2),
    (32, 8, 0.15): (1581.0, 435.4),
    (16, 2, 0.075): (2077.0, 766.0),
    (16, 4, 0.075): (1520.4, 538.5),
    (16, 8, 0.075): (725.4, 321.0),
}


def cascade_cells(quick: bool) -> list[Row]:
    """Return the rows of the table, or three of them if `quick`."""
    return [{"arms": m, "k": k, "gap": gap} for m, k, gap in [*_CASCADES][: 3 if quick else None]]


def cascade_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return the regret on lists of k items with attraction 0.2, the others 0.2 minus the gap."""
    m, k = cell["arms"], cell["k"]
    oracle = RankedTopK(m, k)
    means = rng.permutation(np.where(np.arange(m) < k, 0.2, 0.2 - cell["gap"]))
    learners: dict[str, AnyPolicy] = {
        # The paper does not cap its bound at 1. This one is capped at 100, with the same radius.
        "CascadeUCB1": CUCB(oracle, support=(0.0, 100.0), radius_factor=0.01),
        "CascadeKL-UCB": KLCUCB(oracle, loglog=3.0),
        "CTS": CTS(oracle),
    }
    return regrets(learners, CascadeModel(means, oracle), 100_000, seed)


def cascade_published(cell: Row, learner: str) -> float | None:
    """Return the regret of the paper."""
    values = _CASCADES[cell["arms"], cell["k"], cell["gap"]]
    return dict(zip(("CascadeUCB1", "CascadeKL-UCB"), values, strict=True)).get(learner)


# Offline learning (Liu et al., 2025): lists of 5 of 100 items from a log (Figures 1a and 2), and caches of 40
# of 100 queries (Figure 3a). The published values are read from the plots.
_LOGS = ("random lists", "largest UCB", "largest LCB", "largest mean")
_CACHES = ("queries, costs 0 or 1", "queries, costs are coins")
_OFFLINE = {
    (_LOGS[0], 16): {"CUCB-Offline": 0.16, "EMP": 0.11, "CLCB": 0.08},
    (_LOGS[0], 64): {"CUCB-Offline": 0.15, "EMP": 0.12, "CLCB": 0.08},
    (_LOGS[0], 100): {"CUCB-Offline": 0.20, "EMP": 0.14, "CLCB": 0.13},
    (_LOGS[0], 256): {"CUCB-Offline": 0.13, "EMP": 0.09, "CLCB": 0.07},
    (_LOGS[0], 1024): {"CUCB-Offline": 0.04, "EMP": 0.05, "CLCB": 0.04},
    (_LOGS[1], 100): {"CUCB-Offline": 0.26, "EMP": 0.16, "CLCB": 0.10},
    (_LOGS[2], 100): {"CUCB-Offline": 0.09, "EMP": 0.03, "CLCB": 0.02},
    (_LOGS[3], 100): {"CUCB-Offline": 0.17, "EMP": 0.06, "CLCB": 0.04},
    (_CACHES[0], 16): {"LFU": 0.68, "LEC": 0.56, "CLCB": 0.51},
    (_CACHES[0], 64): {"LFU": 0.65, "LEC": 0.54, "CLCB": 0.50},
    (_CACHES[0], 256): {"LFU": 0.60, "LEC": 0.52, "CLCB": 0.48},
    (_CACHES[0], 1024): {"LFU": 0.50, "LEC": 0.38, "CLCB": 0.30},
}


def offline_cells(quick: bool) -> list[Row]:
    """Return the logs: the rule that made them, and their numbers of rounds."""
    sizes = (16, 256) if quick else (4, 16, 64, 256, 1024)
    rows = [(_LOGS[0], n) for n in sizes] + [(log, 100) for log in _LOGS]
    return [{"log": log, "rounds": n} for log, n in rows + [(log, n) for log in _CACHES for n in sizes]]


def offline_play(cell: Row, rng: Rng, seed: int) -> Found:
    """Return the loss of each learner; all learners use the same log."""
    losses = (cache_losses if cell["log"] in _CACHES else list_losses)(cell["log"], cell["rounds"], 0.05, rng)
    return {name: {"loss": loss} for name, loss in losses.items()}


def next_list(seen: ArmStatistics, log: str, delta: float, rng: Rng) -> FloatArray:
    """Return values; their largest entries form the next list of a log, not clipped, with random ties.

    An arm without observations comes first by UCB. By LCB it counts as an arm with one observation, a
    failure.
    """
    often, t, ties = np.maximum(seen.counts, 1), max(seen.rounds, 1), 1e-9 * rng.random(seen.n_arms)
    if log == "random lists":
        return ties
    if log == "largest mean":
        return seen.means + ties
    if log == "largest UCB":
        return np.where(seen.counts > 0, seen.means + np.sqrt(1.5 * math.log(t) / often), 1e3) + ties
    # Liu et al. (2025), Algorithm 1.
    lower: FloatArray = seen.means - np.sqrt(math.log(4.0 * seen.n_arms * t / delta) / (2.0 * often))
    return lower + ties


def list_losses(log: str, n: int, delta: float, rng: Rng) -> dict[str, float]:
    """Return the value of the best list minus the value of each learner's list."""
    oracle, seen = RankedTopK(100, 5), ArmStatistics.empty(100)
    place = CascadeModel(rng.random(100), oracle)
    for _ in range(n):
        seen.update(place.play(oracle.solve(next_list(seen, log, delta, rng), rng), rng))
    certain = clcb(oracle, seen, delta=delta)
    lists = {
        # Arms without observations have the value 1 here, and 0 in EMP.
        "CUCB-Offline": oracle.solve(CUCB(oracle).indices(seen, rng), rng),
        "EMP": oracle.solve(seen.means, rng),
        "CLCB": certain.super_arm,
        "random list": oracle.solve(rng.random(100), rng),
    }
    return {name: place.optimum - place.expected_reward(chosen) for name, chosen in lists.items()}


def cache_losses(kind: str, n: int, delta: float, rng: Rng) -> dict[str, float]:
    """Return the expected cost of a query with the cache of each rule, relative to the cost without one."""
    shares = rng.permutation(np.arange(1.0, 101.0) ** -0.9)
    shares /= shares.sum()
    costs = (rng.random(100) < 0.5).astype(np.float64)
    costs = costs if kind == _CACHES[0] else np.full(100, 0.5)
    arrivals = rng.multinomial(n, shares)
    spent = rng.binomial(arrivals, costs).astype(np.float64)
    often = np.maximum(arrivals, 1)
    # Algorithm 2: means for shares, but upper bounds for costs, because queries that are not kept must be
    # paid.
    upper = spent / often + np.sqrt(2.0 * math.log(4.0 * len(arrivals) * n / delta) / often)
    worths, oracle = shares * costs, TopK(100, 40)
    scores = {"LFU": arrivals / n, "LEC": arrivals / n * spent / often, "CLCB": arrivals / n * upper}
    kept = {name: oracle.solve(values, rng) for name, values in (scores | {"best cache": worths}).items()}
    return {name: float(1.0 - worths[chosen].sum() / worths.sum()) for name, chosen in kept.items()}


def _horizons(short: int, long: int, settings: list[Row]) -> Any:
    return lambda quick: [cell | {"horizon": short if quick else long} for cell in settings]


REGRET = {
    "semi-bandits": Experiment(
        "CL-SG (Hu et al., 2026) and other Thompson rules on the k best of m arms",
        "regret",
        semi_bandit_cells,
        semi_bandit_play,
        (5, 50),
        (0.2, 6),
        [("CTS-B", "CL-SG"), ("CL-SG", "CombUCB"), ("KL-CUCB", "CombUCB")],
    ),
    "sleeping-arms": Experiment(
        "the comparison of CL-SG with each arm available in half of the rounds",
        "regret",
        _horizons(2_000, 10_000, [{"arms": m, "k": k} for m, k in ((10, 3), (20, 6), (50, 15))]),
        sleeping_play,
        (3, 20),
        (0.5, 8),
        [("CL-SG", "CTS-B"), ("CL-SG", "CombUCB")],
    ),
    "two-sets": Experiment(
        "two disjoint super arms: Thompson sampling with independent draws, or one draw per round",
        "regret",
        lambda quick: [{"k": k} for k in ((4, 12, 24) if quick else (2, 4, 8, 12, 16, 20, 24, 32))],
        two_sets_play,
        (10, 40),
        (0.5, 5),
        [("CTS shared", "CTS"), ("CL-SG", "CTS")],
        x="k",
    ),
    "joint-optima": Experiment(
        "ESCB (Combes et al., 2015) and CUCB on paths, matchings and spanning trees",
        "regret",
        _horizons(500, 10_000, [{"family": name} for name in ("paths", "matchings", "trees")]),
        joint_play,
        (2, 8),
        (0.5, 6),
        [("ESCB", "CUCB"), ("ESCB, ln t", "CUCB, ln t")],
    ),
    "cascading-bandits": Experiment(
        "Cascading Bandits (Kveton et al., 2015), Table 1: lists of which a user clicks the first good item",
        "regret",
        cascade_cells,
        cascade_play,
        (5, 20),
        (0.5, 3),
        [("CascadeKL-UCB", "CascadeUCB1")],
        cascade_published,
    ),
    "offline-learning": Experiment(
        "Liu et al. (2025), Figures 1a, 2 and 3a: lists and caches chosen from a log",
        "loss",
        offline_cells,
        offline_play,
        (20, 400),
        (0.2, 5),
        [("CLCB", "CUCB-Offline"), ("CLCB", "EMP"), ("CLCB", "LFU"), ("CLCB", "LEC")],
        lambda cell, learner: _OFFLINE.get((cell["log"], cell["rounds"]), {}).get(learner),
    ),
}
