"""Published experiments on regret."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any

import numpy as np

from cmab import (
    CTS,
    CUCB,
    ESCB,
    KLCUCB,
    Environment,
    GaussianCTS,
    LogRadius,
    simulate,
)
from cmab.policy import AnyPolicy
from instances.arms import Arms, BernoulliArms, GaussianArms, SemiBandit
from instances.lists import CascadeModel
from instances.reproduce.experiment import Experiment, Found, Row
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


def family_of(name: str) -> BruteForce:
    """Return paths through 4 x 4 crossings, matchings of K_4,4, or spanning trees of K_5."""
    import networkx as nx

    if name == "matchings":
        return BruteForce(16, [[4 * i + j for i, j in enumerate(order)] for order in permutations(range(4))])
    if name == "trees":
        edges = list(nx.complete_graph(5).edges)
        parts: list[Any] = [
            (arms, nx.Graph([edges[arm] for arm in arms])) for arms in combinations(range(10), 4)
        ]
        return BruteForce(10, [arms for arms, part in parts if len(part) == 5 and nx.is_connected(part)])
    streets: Any = nx.DiGraph()
    for i, j in nx.grid_2d_graph(4, 4):
        streets.add_edges_from(((i, j), end) for end in ((i + 1, j), (i, j + 1)) if max(end) < 4)
    number = {edge: arm for arm, edge in enumerate(streets.edges)}
    ways = nx.all_simple_edge_paths(streets, (0, 0), (3, 3))
    return BruteForce(len(number), [[number[edge] for edge in way] for way in ways])


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
}
